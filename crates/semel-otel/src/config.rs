//! Where spans go, and how.

use std::time::Duration;

use http::{HeaderName, HeaderValue};
use reqwest::Url;
use semel_core::{Error, Result};

/// The path of traces below an endpoint.
const PATH: &str = "/v1/traces";

/// The address of a collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Such as `http://127.0.0.1:4318`, which takes more than traces: `/v1/traces` is added unless it ends so.
    Base(String),
    /// The address for traces itself, to which nothing is added.
    Traces(String),
}

impl Endpoint {
    /// As it is written.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Base(text) | Self::Traces(text) => text,
        }
    }
}

impl From<&str> for Endpoint {
    fn from(text: &str) -> Self {
        Self::Base(text.to_owned())
    }
}

impl From<String> for Endpoint {
    fn from(text: String) -> Self {
        Self::Base(text)
    }
}

/// What an exporter is told.
#[derive(Debug, Clone)]
pub struct Config {
    /// The collector's address.
    pub endpoint: Endpoint,
    /// Headers that are sent along; values may be secrets.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What the traces call this service.
    pub service: String,
    /// How long the collector may take to answer.
    pub timeout: Duration,
    /// How long a span may wait for others to be sent with.
    pub every: Duration,
    /// How many spans may wait; what comes while so many do is dropped.
    pub queue_max: usize,
}

impl Config {
    /// To the collector at this address, with defaults.
    pub fn new(endpoint: impl Into<Endpoint>) -> Self {
        Self {
            endpoint: endpoint.into(),
            headers: Vec::new(),
            service: "semel".to_owned(),
            timeout: Duration::from_secs(10),
            every: Duration::from_secs(1),
            queue_max: 8_192,
        }
    }

    pub(crate) fn url(&self) -> Result<Url> {
        let text = match &self.endpoint {
            Endpoint::Traces(text) => text.clone(),
            Endpoint::Base(text) => {
                let base = text.trim_end_matches('/');
                let base = base.strip_suffix(PATH).unwrap_or(base);
                format!("{base}{PATH}")
            }
        };
        let url = Url::parse(&text).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
        // What it was is not repeated: it may hold a token.
        url.ok_or_else(|| {
            Error::invalid("a collector's endpoint is http(s)://HOST[:PORT], found something else")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_traces_is_added_once() {
        let url = |text: &str| Config::new(text).url().map(String::from).ok();
        let expected = Some("http://a:4318/v1/traces".to_owned());
        for text in ["http://a:4318", "http://a:4318/", "http://a:4318/v1/traces"] {
            assert_eq!(url(text), expected, "{text}");
        }
        assert_eq!(url("http://a/b").as_deref(), Some("http://a/b/v1/traces"));
        let whole = |text: &str| Config::new(Endpoint::Traces(text.to_owned())).url();
        for text in ["http://a/b", "http://a:4318/", "http://a/v1/traces/"] {
            assert_eq!(whole(text).unwrap().as_str(), text);
        }
        assert_eq!(url("grpc://a:4317"), None);
        assert_eq!(url("a"), None);
    }
}
