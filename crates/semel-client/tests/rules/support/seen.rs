//! A request as the server read it.

use tokio::io::{AsyncReadExt, BufReader};
use tokio::net::TcpStream;

/// A request as the server read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) line: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// Reads one request; nothing if the client left before it was whole.
    pub(crate) async fn read(stream: &mut TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(reader.read_u8().await.ok()?);
        }
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.lines();
        let line = lines.next()?.to_owned();
        let headers = lines.filter_map(|line| line.split_once(": "));
        let mut seen = Self {
            line,
            headers: headers
                .map(|(n, v)| (n.to_lowercase(), v.to_owned()))
                .collect(),
            body: Vec::new(),
        };
        let length = seen.header("content-length");
        seen.body.resize(
            length.first().map_or(0, |length| length.parse().unwrap()),
            0,
        );
        reader.read_exact(&mut seen.body).await.ok()?;
        Some(seen)
    }

    /// Every value of a header.
    pub(crate) fn header(&self, name: &str) -> Vec<&str> {
        let values = self.headers.iter().filter(|(found, _)| found == name);
        values.map(|(_, value)| value.as_str()).collect()
    }

    /// The one key of the request.
    pub(crate) fn key(&self) -> &str {
        let keys = self.header("idempotency-key");
        assert_eq!(keys.len(), 1, "{keys:?}");
        keys[0]
    }
}
