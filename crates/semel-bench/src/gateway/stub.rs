//! A gateway in a few lines, for tests of the load: it remembers keys and bodies, and keeps nothing.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::head::Head;

type Seen = Arc<Mutex<HashMap<String, Vec<u8>>>>;

/// Starts one in this process.
pub(super) async fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let seen = Seen::default();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, seen.clone()));
        }
    });
    address
}

async fn serve(mut stream: TcpStream, seen: Seen) -> io::Result<()> {
    let mut read = Vec::new();
    loop {
        let end = match Head::read(&read) {
            Some(head) => head.bytes + head.body_bytes.unwrap_or(0),
            None => usize::MAX,
        };
        if read.len() < end {
            if stream.read_buf(&mut read).await? == 0 {
                return Ok(());
            }
            continue;
        }
        let (status, marker) = decide(&read[..end], &seen);
        let answer = format!("HTTP/1.1 {status} Said\r\nContent-Length: 2\r\n{marker}\r\n{{}}");
        stream.write_all(answer.as_bytes()).await?;
        read.drain(..end);
    }
}

fn decide(request: &[u8], seen: &Seen) -> (u16, &'static str) {
    let text = String::from_utf8_lossy(request);
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let Some((_, after)) = head.split_once("Idempotency-Key: \"") else {
        return (201, "");
    };
    let key = after.split('"').next().unwrap().to_owned();
    let body = body.as_bytes().to_vec();
    match seen.lock().unwrap().entry(key) {
        std::collections::hash_map::Entry::Vacant(entry) => {
            entry.insert(body);
            (201, "")
        }
        std::collections::hash_map::Entry::Occupied(entry) if *entry.get() == body => {
            (201, "Idempotent-Replayed: true\r\n")
        }
        std::collections::hash_map::Entry::Occupied(_) => (422, ""),
    }
}
