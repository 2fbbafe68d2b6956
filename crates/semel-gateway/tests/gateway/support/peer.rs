//! One side of a connection, byte by byte.

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::PATIENCE;
use super::message::Message;

/// Anything that bytes go through.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// A connection and what has been read of it but not used yet.
pub(crate) struct Peer {
    stream: Box<dyn Stream>,
    buffer: Vec<u8>,
}

impl Peer {
    pub(crate) fn new(stream: impl Stream + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            buffer: Vec::new(),
        }
    }

    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::new(TcpStream::connect(address).await.unwrap())
    }

    /// Writes; whether the other side takes it shows in what it answers.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.stream.write_all(bytes.as_ref()).await;
        let _ = self.stream.flush().await;
    }

    /// Reads more; whether there was any.
    async fn more(&mut self) -> bool {
        let read = self.stream.read_buf(&mut self.buffer);
        let read = timeout(PATIENCE, read)
            .await
            .expect("bytes, or the end of the connection");
        matches!(read, Ok(1..))
    }

    /// Reads until `end`, which is not part of the result; `None` if the connection ends first.
    pub(crate) async fn until(&mut self, end: &str) -> Option<String> {
        loop {
            let found = self
                .buffer
                .windows(end.len())
                .position(|at| at == end.as_bytes());
            if let Some(at) = found {
                let bytes: Vec<u8> = self.buffer.drain(..at + end.len()).collect();
                return Some(String::from_utf8_lossy(&bytes[..at]).into_owned());
            }
            if !self.more().await {
                return None;
            }
        }
    }

    pub(crate) async fn exactly(&mut self, len: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < len {
            if !self.more().await {
                return None;
            }
        }
        Some(self.buffer.drain(..len).collect())
    }

    /// Everything up to the end of the connection.
    pub(crate) async fn rest(&mut self) -> Vec<u8> {
        while self.more().await {}
        std::mem::take(&mut self.buffer)
    }

    /// Waits for the end of the connection; whether nothing came before it.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.rest().await.is_empty()
    }

    /// The head of a message.
    pub(crate) async fn head(&mut self) -> Option<Message> {
        let text = self.until("\r\n\r\n").await?;
        Some(Message::parse_head(text.trim_start()))
    }

    /// One chunk of a chunked body; empty at its end.
    pub(crate) async fn chunk(&mut self) -> Option<Vec<u8>> {
        let line = self.until("\r\n").await?;
        let len = usize::from_str_radix(line.split(';').next()?, 16).ok()?;
        if len == 0 {
            return Some(Vec::new());
        }
        let data = self.exactly(len).await;
        self.until("\r\n").await?;
        data
    }

    /// A request with all of its body.
    pub(crate) async fn request(&mut self) -> Option<Message> {
        let message = self.head().await?;
        self.body_of(message, false).await
    }

    /// A response with all of its body.
    pub(crate) async fn response(&mut self) -> Option<Message> {
        let mut head = self.head().await?;
        while head.status() == 100 {
            head = self.head().await?;
        }
        let has_none = matches!(head.status(), 101 | 204 | 304);
        self.body_of(head, !has_none).await
    }

    /// The response to a HEAD.
    pub(crate) async fn response_without_body(&mut self) -> Option<Message> {
        self.head().await
    }

    async fn body_of(&mut self, mut message: Message, until_close: bool) -> Option<Message> {
        if message.header("transfer-encoding") == Some("chunked") {
            loop {
                let chunk = self.chunk().await?;
                if chunk.is_empty() {
                    break;
                }
                message.body.extend(chunk);
            }
            while let Some(line) = self.until("\r\n").await.filter(|line| !line.is_empty()) {
                let (name, value) = line.split_once(':')?;
                message
                    .trailers
                    .push((name.to_owned(), value.trim().to_owned()));
            }
        } else if let Some(len) = message.header("content-length") {
            message.body = self.exactly(len.parse().ok()?).await?;
        } else if until_close {
            message.body = self.rest().await;
        }
        Some(message)
    }
}
