//! A server that answers as it is told, and may also break off.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it came over the wire.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) line: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    /// The one value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} is there twice");
        value
    }
}

/// What to answer.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Answer(u16, Vec<(&'static str, String)>, String),
    /// Closes the connection without a word.
    Silence,
    /// Never answers.
    Never,
}

pub(crate) fn status(status: u16) -> Reply {
    Reply::Answer(status, Vec::new(), String::new())
}

pub(crate) fn with(status: u16, headers: &[(&'static str, &str)], body: &str) -> Reply {
    let headers = headers.iter();
    let headers = headers.map(|(name, value)| (*name, (*value).to_owned()));
    Reply::Answer(status, headers.collect(), body.to_owned())
}

/// A server whose answers a function gives.
pub(crate) struct Server {
    addr: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    pub(crate) async fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::on(listener, answer)
    }

    /// The same on an address of its own.
    pub(crate) fn on(
        listener: TcpListener,
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let addr = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (answer, seen) = (Arc::new(answer), requests.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, seen) = (answer.clone(), seen.clone());
                tokio::spawn(async move {
                    let _ = serve(stream, &*answer, &seen).await;
                });
            }
        });
        Self { addr, requests }
    }

    /// A server that gives these answers one after another, and the last one for ever.
    pub(crate) async fn scripted(replies: Vec<Reply>) -> Self {
        let replies = Mutex::new(replies);
        Self::start(move |_| {
            let mut replies = replies.lock().unwrap();
            match replies.len() {
                1 => replies[0].clone(),
                _ => replies.remove(0),
            }
        })
        .await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(
    mut stream: TcpStream,
    answer: &(impl Fn(&Request) -> Reply + Send + Sync),
    seen: &Mutex<Vec<Request>>,
) -> std::io::Result<()> {
    let Some(request) = read(&mut stream).await? else {
        return Ok(());
    };
    let reply = answer(&request);
    seen.lock().unwrap().push(request);
    match reply {
        Reply::Silence => {}
        Reply::Never => std::future::pending().await,
        Reply::Answer(status, headers, body) => {
            let mut head = format!("HTTP/1.1 {status} Said\r\nconnection: close\r\n");
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            if status != 204 {
                head.push_str(&format!("content-length: {}\r\n", body.len()));
            }
            stream
                .write_all(format!("{head}\r\n{body}").as_bytes())
                .await?;
        }
    }
    Ok(())
}

async fn read(stream: &mut TcpStream) -> std::io::Result<Option<Request>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let line = lines.next().unwrap_or_default().to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length.map_or(0, |(_, value)| value.parse().unwrap_or(0));
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if stream.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Some(Request {
        line,
        headers,
        body,
    }))
}
