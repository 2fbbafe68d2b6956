//! A request or a response as it was on the wire.

use serde_json::Value;

/// A message that was read to its end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Message {
    /// The request line or the status line.
    pub(crate) start: String,
    /// Names as they were written, in order.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) trailers: Vec<(String, String)>,
}

impl Message {
    pub(crate) fn parse_head(text: &str) -> Self {
        let mut lines = text.split("\r\n");
        let start = lines.next().unwrap().to_owned();
        let field = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_owned(), value.trim().to_owned())
        };
        let headers = lines.filter(|line| !line.is_empty()).map(field).collect();
        Self {
            start,
            headers,
            ..Self::default()
        }
    }

    /// The status of a response.
    pub(crate) fn status(&self) -> u16 {
        self.start.split(' ').nth(1).unwrap().parse().unwrap()
    }

    /// Method and target of a request.
    pub(crate) fn target(&self) -> &str {
        self.start.strip_suffix(" HTTP/1.1").unwrap_or(&self.start)
    }

    /// All values of a header, in order.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let named = self
            .headers
            .iter()
            .filter(|(found, _)| found.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str()).collect()
    }

    /// The only value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        match self.all(name)[..] {
            [] => None,
            [value] => Some(value),
            [..] => panic!("{name} is there more than once in {self:?}"),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// The name of the problem that a response is, with its status.
    pub(crate) fn problem(&self) -> (u16, String) {
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{self:?}"
        );
        let document: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(document["status"], self.status());
        let kind = document["type"].as_str().unwrap();
        let name = kind.strip_prefix("urn:semel:problem:").unwrap();
        // What every problem of every port has.
        let page = format!("/docs/problems/{name}.md>; rel=\"describedby\"");
        assert!(self.header("link").unwrap().ends_with(&page), "{self:?}");
        assert!(document["ran"].is_string(), "{self:?}");
        let challenged = self.header("www-authenticate").is_some();
        assert_eq!(challenged, self.status() == 401, "{self:?}");
        (self.status(), name.to_owned())
    }

    /// Whether a guard says that the response comes from the record.
    pub(crate) fn is_replay(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }
}
