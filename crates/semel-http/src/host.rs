//! Names of hosts that a route is for: `api.example.com`, `*.example.com`.

use std::fmt;
use std::str::FromStr;

use http::header::HOST;
use http::{HeaderMap, Uri};
use semel_core::{Error, Result};

/// The longest name (RFC 1035).
const BYTES_MAX: usize = 253;

/// One name, or with `*.` in front all names below it, at any depth and without itself. Neither case, nor the port,
/// nor a dot at the end counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPattern {
    name: String,
    is_wildcard: bool,
}

impl HostPattern {
    /// The name; of a wildcard what follows `*.`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it stands for all names below [`HostPattern::name`].
    pub const fn is_wildcard(&self) -> bool {
        self.is_wildcard
    }

    /// Whether `host`, as [`meant`] finds it, is one of these.
    pub fn matches(&self, host: &str) -> bool {
        match self.is_wildcard {
            false => self.name == host,
            true => {
                let labels = host.strip_suffix(&self.name);
                labels.is_some_and(|labels| labels.len() > 1 && labels.ends_with('.'))
            }
        }
    }
}

impl FromStr for HostPattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let lower = text.to_ascii_lowercase();
        let (is_wildcard, name) = match lower.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, lower.as_str()),
        };
        let is_address = !is_wildcard && name.starts_with('[') && name.ends_with(']');
        let is_label = |label: &str| {
            let is_byte = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
            (1..=63).contains(&label.len()) && label.bytes().all(is_byte)
        };
        let is_name = name.len() <= BYTES_MAX && name.split('.').all(is_label);
        if !is_address && !is_name {
            return Err(Error::invalid(format!(
                "expected a host such as api.example.com or *.example.com, without a port, found {text:?}"
            )));
        }
        let name = name.to_owned();
        Ok(Self { name, is_wildcard })
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.is_wildcard { "*." } else { "" };
        write!(f, "{star}{}", self.name)
    }
}

/// The host that a request is for, in small letters, without its port and without a dot at its end.
pub fn meant(uri: &Uri, headers: &HeaderMap) -> Option<String> {
    let authority = match uri.authority() {
        Some(authority) => authority.as_str(),
        None => headers.get(HOST)?.to_str().ok()?,
    };
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|b| b.is_ascii_digit()) => host,
        _ => authority,
    };
    Some(host.trim_end_matches('.').to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(value: &str) -> Option<String> {
        let headers = [(HOST, value.parse().unwrap())].into_iter().collect();
        meant(&Uri::from_static("/"), &headers)
    }

    #[test]
    fn neither_case_nor_port_nor_a_last_dot_counts() {
        for (written, expected) in [
            ("API.Example.com", "api.example.com"),
            ("api.example.com:8443", "api.example.com"),
            ("api.example.com.", "api.example.com"),
            ("api.example.com.:80", "api.example.com"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
        ] {
            assert_eq!(host(written).as_deref(), Some(expected), "{written}");
        }
        let uri = Uri::from_static("https://In.Target:1/x");
        assert_eq!(meant(&uri, &HeaderMap::new()).as_deref(), Some("in.target"));
        assert_eq!(meant(&Uri::from_static("/"), &HeaderMap::new()), None);
    }

    #[test]
    fn a_star_stands_for_one_label_or_more() {
        let wildcard: HostPattern = "*.Example.com".parse().unwrap();
        assert_eq!(wildcard.to_string(), "*.example.com");
        for (host, expected) in [
            ("a.example.com", true),
            ("a.b.example.com", true),
            ("example.com", false),
            (".example.com", false),
            ("badexample.com", false),
            ("a.example.com.evil", false),
        ] {
            assert_eq!(wildcard.matches(host), expected, "{host}");
        }
        let one: HostPattern = "example.com".parse().unwrap();
        assert!(one.matches("example.com") && !one.matches("a.example.com"));
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in [
            "", "*", "*.", "a:80", "a b", "a..b", "a.*.b", "http://a", "a/b", "*a.b",
        ] {
            assert!(text.parse::<HostPattern>().is_err(), "{text}");
        }
        assert!("[::1]".parse::<HostPattern>().is_ok());
    }
}
