//! A connection that carries one HTTP/1.1 message after the other, seen from either end.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::head::Head;

/// The most bytes of a head, and of what is read at once.
const BUFFER_BYTES: usize = 16 * 1024;

/// A connection and what was read from it too early.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    buffer: Box<[u8]>,
    filled: usize,
}

impl Wire {
    /// Takes a connection, which sends at once from now on.
    pub(super) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            filled: 0,
        })
    }

    /// Sends all of it.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    /// The next message, its body thrown away; `None` if the other side has ended the connection instead.
    pub(super) async fn receive(&mut self) -> io::Result<Option<Head>> {
        loop {
            if let Some(head) = Head::read(&self.buffer[..self.filled]) {
                self.skip(head).await?;
                return Ok(Some(head));
            }
            if self.filled == self.buffer.len() {
                return Err(invalid("a head of at most 16 KiB, found a longer one"));
            }
            match self.stream.read(&mut self.buffer[self.filled..]).await? {
                0 if self.filled == 0 => return Ok(None),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => self.filled += read,
            }
        }
    }

    /// Ends the connection as a crash would: what was not sent yet never is.
    pub(super) fn reset(self) -> io::Result<()> {
        self.stream.set_zero_linger()
    }

    async fn skip(&mut self, head: Head) -> io::Result<()> {
        if head.is_chunked {
            return Err(invalid("a body with its length, found one in chunks"));
        }
        let end = head.bytes + head.body_bytes.unwrap_or(0);
        if end <= self.filled {
            self.buffer.copy_within(end..self.filled, 0);
            self.filled -= end;
            return Ok(());
        }
        let mut left = end - self.filled;
        self.filled = 0;
        while left > 0 {
            let room = left.min(self.buffer.len());
            match self.stream.read(&mut self.buffer[..room]).await? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => left -= read,
            }
        }
        Ok(())
    }
}

fn invalid(expected: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("expected {expected}"))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    async fn pair() -> (TcpStream, Wire) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (near, far) = tokio::join!(TcpStream::connect(address), listener.accept());
        (near.unwrap(), Wire::new(far.unwrap().0).unwrap())
    }

    #[tokio::test]
    async fn messages_arrive_whole_however_they_are_cut() {
        let big = "x".repeat(3 * BUFFER_BYTES);
        let text = format!(
            "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 422 No\r\nContent-Length: {}\r\n\r\n{big}\
             HTTP/1.1 204 Nothing\r\n\r\n",
            big.len()
        );
        for step in [1, 7, 50, text.len()] {
            let (mut near, mut wire) = pair().await;
            let bytes = text.clone().into_bytes();
            let sender = tokio::spawn(async move {
                for piece in bytes.chunks(step) {
                    near.write_all(piece).await.unwrap();
                }
            });
            for status in [201, 422, 204] {
                let head = wire.receive().await.unwrap().unwrap();
                assert_eq!(head.status, Some(status), "in pieces of {step}");
            }
            assert_eq!(wire.receive().await.unwrap(), None);
            sender.await.unwrap();
        }
    }

    #[tokio::test]
    async fn half_a_message_chunks_and_endless_heads_are_errors() {
        let endless = format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(BUFFER_BYTES));
        for text in [
            "HTTP/1.1 201 Cre",
            "HTTP/1.1 201 Created\r\nContent-Length: 5\r\n\r\nfour",
            "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            &endless,
        ] {
            let (mut near, mut wire) = pair().await;
            near.write_all(text.as_bytes()).await.unwrap();
            drop(near);
            assert!(wire.receive().await.is_err(), "{text:.60}");
        }
    }
}
