//! An HTTP/2 service frame by frame, for what no library would send.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// What every client begins with.
const PREFACE_LEN: usize = 24;
/// The largest frame that every peer takes.
const FRAME_MAX: usize = 16_384;

/// What the service does when the head of a request has arrived.
pub(crate) enum Act {
    /// Sends these frames.
    Send(Vec<u8>),
    /// Sends these frames and closes the connection.
    Close(Vec<u8>),
}

/// A scripted service. It stops with the value.
pub(crate) struct Frames {
    pub(crate) addr: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Frames {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Frames {
    /// `script` is asked with the number of the request, from 0, and its stream.
    pub(crate) async fn start<F>(script: F) -> Self
    where
        F: Fn(usize, u32) -> Act + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let connections = Arc::<AtomicUsize>::default();
        let (counted, script, asked) = (connections.clone(), Arc::new(script), Arc::default());
        let task = tokio::spawn(async move {
            let mut serving = tokio::task::JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                serving.spawn(serve(tcp, script.clone(), Arc::clone(&asked)));
            }
        });
        Self {
            addr,
            connections,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }
}

async fn serve<F>(mut tcp: TcpStream, script: Arc<F>, asked: Arc<AtomicUsize>) -> Option<()>
where
    F: Fn(usize, u32) -> Act + Send + Sync + 'static,
{
    tcp.read_exact(&mut [0; PREFACE_LEN]).await.ok()?;
    tcp.write_all(&frame(SETTINGS, 0, 0, &[])).await.ok()?;
    loop {
        let mut head = [0; 9];
        tcp.read_exact(&mut head).await.ok()?;
        let len = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        tcp.read_exact(&mut vec![0; len]).await.ok()?;
        let stream = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
        match head[3] {
            SETTINGS if head[4] == 0 => tcp.write_all(&frame(SETTINGS, 1, 0, &[])).await.ok()?,
            HEADERS => match script(asked.fetch_add(1, Ordering::SeqCst), stream) {
                Act::Send(frames) => tcp.write_all(&frames).await.ok()?,
                Act::Close(frames) => return tcp.write_all(&frames).await.ok(),
            },
            _ => {}
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let len = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![len[1], len[2], len[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Refuses or ends one stream.
pub(crate) fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// Ends a connection: nothing above `last` was processed.
pub(crate) fn go_away(last: u32, code: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    frame(GOAWAY, 0, 0, &payload)
}

/// The head of an answer, which ends it if the status is final.
pub(crate) fn head(stream: u32, status: &str, headers: &[(String, String)]) -> Vec<u8> {
    // Literals without indexing: the name of `:status` by its place in the static table, the others as text.
    let text = |text: &str| {
        let len = u8::try_from(text.len()).unwrap();
        assert!(len < 127, "one byte holds the length");
        [&[len], text.as_bytes()].concat()
    };
    let mut block = [&[0x08][..], &text(status)].concat();
    for (name, value) in headers {
        block.extend([&[0][..], &text(name), &text(value)].concat());
    }
    let ends = if status.starts_with('1') {
        0
    } else {
        END_STREAM
    };
    let parts: Vec<_> = block.chunks(FRAME_MAX).collect();
    let mut frames = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let kind = if at == 0 { HEADERS } else { CONTINUATION };
        let first = if at == 0 { ends } else { 0 };
        let last = if at + 1 == parts.len() {
            END_HEADERS
        } else {
            0
        };
        frames.extend(frame(kind, first | last, stream, part));
    }
    frames
}
