//! A client of a few lines: one request per connection, byte by byte as it goes over the wire.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The name of the problem.
    pub(crate) fn problem(&self) -> String {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json")
        );
        let json = self.json();
        let urn = json["type"].as_str().unwrap();
        let name = urn.strip_prefix("urn:semel:problem:").unwrap();
        // What every problem of every port has.
        let page = format!("/docs/problems/{name}.md>; rel=\"describedby\"");
        assert!(self.header("link").unwrap().ends_with(&page), "{self:?}");
        assert!(json["ran"].is_string(), "{self:?}");
        let challenged = self.header("www-authenticate").is_some();
        assert_eq!(challenged, self.status == 401, "{self:?}");
        name.to_owned()
    }

    /// Status and body, for snapshots.
    pub(crate) fn shown(&self) -> String {
        let body = serde_json::to_string_pretty(&self.json()).unwrap();
        format!("{}\n{body}", self.status)
    }
}

/// Sends bytes as they are, and reads to the end.
pub(crate) async fn raw(address: SocketAddr, request: &[u8]) -> Response {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A server that refuses early may close before all is sent.
    let _ = stream.write_all(request).await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no response: {answer:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Response {
        status,
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// A GET with more header lines.
pub(crate) async fn get_with(address: SocketAddr, path: &str, headers: &str) -> Response {
    let request = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
    raw(address, request.as_bytes()).await
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> Response {
    get_with(address, path, "Host: localhost\r\n").await
}

/// The bytes of a POST of JSON text.
pub(crate) fn post_bytes(path: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:7071\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

pub(crate) async fn post_text(address: SocketAddr, path: &str, body: &str) -> Response {
    raw(address, &post_bytes(path, body)).await
}

pub(crate) async fn post(address: SocketAddr, path: &str, body: Value) -> Response {
    post_text(address, path, &body.to_string()).await
}
