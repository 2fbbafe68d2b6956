//! URLs that requests are sent to.

use std::fmt;

use http::Uri;
use schemars::{Schema, json_schema};

use super::word::{Refusal, Text};
use crate::limits::URL_BYTES_MAX;

/// What a reconcile URL may name between braces.
pub const RECONCILE_FIELDS: [&str; 4] = ["key", "fence", "scope", "tenant"];

/// Where a service is: scheme, host, port, and maybe a path that is put in front of every path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service(String);

impl Service {
    /// The address as text, without a slash at its end.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Text for Service {
    const EXPECTED: &'static str = "an address such as http://127.0.0.1:8080";

    fn parse(text: &str) -> Result<Self, Refusal> {
        let uri = web(text).ok_or_else(|| unlike(text))?;
        let service = || Self(text.trim_end_matches('/').to_owned());
        let is_service = uri.query().is_none();
        is_service.then(service).ok_or_else(|| unlike(text))
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^https?://[^?#]+$" })
    }
}

/// Where requests are sent: a whole URL. Its query may hold a token, so it is shown without.
#[derive(Clone, PartialEq, Eq)]
pub struct Endpoint(String);

impl Endpoint {
    /// The URL, for whoever sends to it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.split_once('?') {
            Some((shown, _)) => write!(f, "{shown}?…"),
            None => f.write_str(&self.0),
        }
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

impl Text for Endpoint {
    const EXPECTED: &'static str = "a URL such as http://127.0.0.1:9000/orders";

    fn parse(text: &str) -> Result<Self, Refusal> {
        match web(text) {
            Some(_) => Ok(Self(text.to_owned())),
            None if text.contains('?') => {
                Err(Refusal::Said(format!("expected {}", Self::EXPECTED)))
            }
            None => Err(unlike(text)),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^https?://[^#]+$" })
    }
}

/// Whom to ask whether something happened: a URL with `{key}` in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reconcile(String);

impl Reconcile {
    /// The URL with its fields between braces.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Text for Reconcile {
    const EXPECTED: &'static str = "a URL such as http://127.0.0.1:8080/payments?key={key}";

    fn parse(text: &str) -> Result<Self, Refusal> {
        // Only path and query are filled in: a key must not choose whom to ask.
        let host = text.split_once("://").map_or(text, |(_, rest)| rest);
        let host = host.split(['/', '?']).next().unwrap_or_default();
        if host.contains(['{', '}']) || host.len() == text.len() {
            return Err(unlike(text));
        }
        let filled = RECONCILE_FIELDS.iter().fold(text.to_owned(), |url, field| {
            url.replace(&format!("{{{field}}}"), "x")
        });
        if filled.contains(['{', '}']) {
            let fields = RECONCILE_FIELDS.join("}, {");
            let expected = format!("only the fields {{{fields}}} between braces");
            return Err(match unlike(text) {
                Refusal::Unlike => Refusal::Expected(expected),
                other => other,
            });
        }
        let is_asking = text.contains("{key}") && web(&filled).is_some();
        is_asking
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| unlike(text))
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": r"^https?://.*\{key\}" })
    }
}

/// What may hold a password is not repeated.
fn unlike(text: &str) -> Refusal {
    match text.contains('@') {
        true => Refusal::Said("expected an address without user name and password".to_owned()),
        false => Refusal::Unlike,
    }
}

/// A URL for HTTP. Credentials in it would show in logs, so they are refused.
fn web(text: &str) -> Option<Uri> {
    let uri: Uri = text.parse().ok().filter(|_| text.len() <= URL_BYTES_MAX)?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let authority = uri.authority()?.as_str();
    let is_plain = !authority.contains('@') && !text.contains('#');
    let has_host = uri.host().is_some_and(|host| !host.is_empty());
    let has_port = !authority.contains(':') || uri.port_u16().is_some() || authority.ends_with(']');
    (is_web && is_plain && has_host && has_port).then_some(uri)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_a_host_and_no_credentials() {
        for (text, shown) in [
            ("http://a", "http://a"),
            ("https://a:1", "https://a:1"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            ("http://[::1]:80", "http://[::1]:80"),
            ("http://[::1]", "http://[::1]"),
            ("http://a/b/", "http://a/b"),
        ] {
            let service = Service::parse(text).ok();
            assert_eq!(service.as_ref().map(Service::as_str), Some(shown));
        }
        for text in [
            "",
            "a",
            "a:80",
            "ftp://a",
            "http://",
            "http:///b",
            "http://a?b",
            "http://u:p@a",
            "http://a:port",
            "http://a:99999",
            "http://a b",
            "/a",
            "http://a#b",
        ] {
            assert!(Service::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_endpoint_is_shown_without_its_query() {
        let endpoint = Endpoint::parse("https://a:1/b?token=hunter2").unwrap();
        assert_eq!(endpoint.as_str(), "https://a:1/b?token=hunter2");
        assert_eq!(
            format!("{endpoint} {endpoint:?}"),
            "https://a:1/b?… Endpoint(https://a:1/b?…)"
        );
        for text in [
            "",
            "a",
            "ftp://a",
            "http://u:p@a/b",
            "http://a#b",
            "http://",
        ] {
            assert!(Endpoint::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_reconcile_url_names_the_key_and_known_fields_only() {
        for text in [
            "http://a?k={key}",
            "https://a/{scope}/{key}?f={fence}&t={tenant}",
        ] {
            assert!(Reconcile::parse(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "{key}",
            "http://{key}",
            "http://{key}/a",
            "http://a.{tenant}/{key}",
            "http://a",
            "http://a/",
            "http://a?k={fence}",
            "http://a?k={key}&x={amount}",
            "a/{key}",
            "http://a/{key",
            "http://u:p@a/{key}",
        ] {
            assert!(Reconcile::parse(text).is_err(), "{text}");
        }
    }
}
