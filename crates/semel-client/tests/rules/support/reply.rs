//! Answers, written out as they go over the wire.

/// An answer with its headers and body.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    announced: Option<usize>,
    chunked: bool,
}

/// An answer with an empty body.
pub(crate) fn reply(status: u16) -> Reply {
    Reply {
        status,
        headers: Vec::new(),
        body: Vec::new(),
        announced: None,
        chunked: false,
    }
}

/// A problem of Semel's, by its name.
pub(crate) fn problem(status: u16, name: &str) -> Reply {
    reply(status)
        .header("Content-Type", "application/problem+json")
        .body(format!(
            r#"{{"type":"urn:semel:problem:{name}","status":{status}}}"#
        ))
}

impl Reply {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Announces more bytes than follow, so that the connection breaks within the body.
    pub(crate) fn cut_short(mut self) -> Self {
        self.announced = Some(self.body.len() + 1);
        self
    }

    /// Sends the body without saying how long it is.
    pub(crate) fn chunked(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// The bytes on the wire. Each connection serves one request, so that a step of the
    /// script is one try.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} Scripted\r\nConnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let length = self.announced.unwrap_or(self.body.len());
        let (framing, before, after) = match self.chunked {
            true => (
                "Transfer-Encoding: chunked".to_owned(),
                format!("{length:x}\r\n"),
                "\r\n0\r\n\r\n",
            ),
            false => (format!("Content-Length: {length}"), String::new(), ""),
        };
        let head = format!("{head}{framing}\r\n\r\n{before}");
        [head.as_bytes(), &self.body, after.as_bytes()].concat()
    }
}
