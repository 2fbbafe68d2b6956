//! One connection through the proxy.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::watch;

use super::Counts;
use super::rules::{Limit, Rules};

/// How much is handed on at a time.
const CHUNK_BYTES: usize = 16 * 1024;

/// A connection that obeys the rules; it is counted as open until dropped.
pub(super) struct Link {
    number: usize,
    rules: watch::Receiver<Rules>,
    counts: watch::Sender<Counts>,
}

impl Drop for Link {
    fn drop(&mut self) {
        self.counts.send_modify(|counts| counts.open -= 1);
    }
}

/// Why a direction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// One of the two sides is gone.
    Closed,
    /// A rule says so.
    Cut,
}

impl Link {
    pub(super) const fn new(
        number: usize,
        rules: watch::Receiver<Rules>,
        counts: watch::Sender<Counts>,
    ) -> Self {
        Self {
            number,
            rules,
            counts,
        }
    }

    /// Hands bytes on until either side ends or a rule cuts; then both sides are closed.
    pub(super) async fn run(self, client: TcpStream, server: TcpStream) {
        // A server's answer must not wait for the next one; without the option it is merely slower.
        let _ = client.set_nodelay(true).and(server.set_nodelay(true));
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        let end = tokio::select! {
            end = self.obeying().requests(from_client, to_server) => end,
            end = self.obeying().replies(from_server, to_client) => end,
        };
        if end == End::Cut {
            self.counts.send_modify(|counts| counts.cut += 1);
        }
    }

    fn obeying(&self) -> Obeying {
        let now = *self.rules.borrow();
        Obeying {
            number: self.number,
            rules: self.rules.clone(),
            counts: self.counts.clone(),
            now,
            known: None,
            left: None,
            swallowed: false,
        }
    }
}

/// One direction, and the rules as it knows them.
struct Obeying {
    number: usize,
    rules: watch::Receiver<Rules>,
    counts: watch::Sender<Counts>,
    now: Rules,
    /// The limit that `left` was taken from.
    known: Option<Limit>,
    /// How many bytes may pass before the cut.
    left: Option<usize>,
    /// Whether a reply was swallowed: what follows it would be misread.
    swallowed: bool,
}

impl Obeying {
    /// Hands requests on.
    async fn requests(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) -> End {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let read = match self.read(&mut from, &mut chunk).await {
                Ok(read) => read,
                Err(end) => return end,
            };
            if let Err(end) = self.write(&mut to, &chunk[..read]).await {
                return end;
            }
        }
    }

    /// Hands replies on, or swallows them, or cuts in the middle of one.
    async fn replies(mut self, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) -> End {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let read = match self.read(&mut from, &mut chunk).await {
                Ok(read) => read,
                Err(end) => return end,
            };
            let passes = if self.now.holding {
                0
            } else {
                self.left.map_or(read, |left| left.min(read))
            };
            if let Err(end) = self.write(&mut to, &chunk[..passes]).await {
                return end;
            }
            self.left = self.left.map(|left| left - passes);
            if passes < read {
                self.swallowed = true;
                self.counts
                    .send_modify(|counts| counts.swallowed += read - passes);
                if !self.now.holding {
                    return End::Cut;
                }
            }
        }
    }

    /// Reads, and returns when the rules let the bytes pass; they are as the caller finds them in
    /// `now`.
    async fn read(&mut self, from: &mut OwnedReadHalf, chunk: &mut [u8]) -> Result<usize, End> {
        loop {
            self.learn()?;
            tokio::select! {
                biased;
                changed = self.rules.changed() => changed.map_err(|_| End::Closed)?,
                read = from.read(chunk) => {
                    // The rules may have changed since; an end stands still like a byte does.
                    self.pass().await?;
                    return match read {
                        Ok(0) | Err(_) => Err(End::Closed),
                        Ok(read) => Ok(read),
                    };
                }
            }
        }
    }

    /// Waits while nothing may pass.
    async fn pass(&mut self) -> Result<(), End> {
        loop {
            self.learn()?;
            if !self.now.stalled {
                return Ok(());
            }
            self.rules.changed().await.map_err(|_| End::Closed)?;
        }
    }

    /// Writes everything, unless the connection is cut meanwhile.
    async fn write(&mut self, to: &mut OwnedWriteHalf, bytes: &[u8]) -> Result<(), End> {
        let number = self.number;
        let cut = self.rules.wait_for(|rules| number < rules.cut_before);
        tokio::select! {
            biased;
            ruled = cut => Err(if ruled.is_ok() { End::Cut } else { End::Closed }),
            written = to.write_all(bytes) => written.map_err(|_| End::Closed),
        }
    }

    /// Takes the rules as they are now.
    fn learn(&mut self) -> Result<(), End> {
        self.now = *self.rules.borrow_and_update();
        let limit = self.now.limit.filter(|limit| limit.means(self.number));
        if limit != self.known {
            self.known = limit;
            self.left = limit.map(|limit| limit.bytes);
        }
        let misread = self.swallowed && !self.now.holding;
        if misread || self.number < self.now.cut_before {
            return Err(End::Cut);
        }
        Ok(())
    }
}
