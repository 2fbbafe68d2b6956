//! Where requests go, worked out once: what every request would otherwise parse again.

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Uri};

use crate::error::{Error, Result};

/// An upstream's address in the forms that connecting and forwarding need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    scheme: Scheme,
    authority: Authority,
    port: u16,
    /// In front of every path; empty, or `/…` without a slash at its end.
    base: String,
    host_header: HeaderValue,
}

impl Target {
    /// Reads an upstream's URL.
    pub(crate) fn parse(url: &Uri) -> Result<Self> {
        let bad = |found: &str| {
            Error::invalid(format!(
                "an upstream is http://HOST[:PORT][/PATH] or https://…, found {found} in {url}"
            ))
        };
        let scheme = url.scheme().ok_or_else(|| bad("no scheme"))?;
        let default_port = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return Err(bad("another scheme")),
        };
        let authority = url.authority().ok_or_else(|| bad("no host"))?;
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(bad("a user name, or an empty host"));
        }
        if url.query().is_some() {
            return Err(bad("a query"));
        }
        let host_header = HeaderValue::from_str(authority.as_str());
        Ok(Self {
            scheme: scheme.clone(),
            authority: authority.clone(),
            port: authority.port_u16().unwrap_or(default_port),
            base: url.path().trim_end_matches('/').to_owned(),
            host_header: host_header.map_err(|_| bad("a host that is no header value"))?,
        })
    }

    pub(crate) fn is_tls(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// The host without the brackets of an IPv6 address.
    pub(crate) fn host(&self) -> &str {
        let host = self.authority.host();
        host.strip_prefix('[')
            .and_then(|host| host.strip_suffix(']'))
            .unwrap_or(host)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) const fn scheme(&self) -> &Scheme {
        &self.scheme
    }

    pub(crate) const fn authority(&self) -> &Authority {
        &self.authority
    }

    /// The value of `Host` that means this target.
    pub(crate) const fn host_header(&self) -> &HeaderValue {
        &self.host_header
    }

    /// What to ask the upstream for when a client asks for `uri`. Without a base path nothing is copied.
    pub(crate) fn path(&self, uri: &Uri) -> Result<PathAndQuery, http::uri::InvalidUri> {
        match uri.path_and_query() {
            Some(path) if self.base.is_empty() => Ok(path.clone()),
            Some(path) => PathAndQuery::try_from(format!("{}{path}", self.base)),
            None => PathAndQuery::try_from(format!("{}/", self.base)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Result<Target> {
        Target::parse(&url.parse().unwrap())
    }

    #[test]
    fn an_upstream_is_a_scheme_a_host_and_maybe_a_base_path() {
        for (url, host, port, path) in [
            ("http://a", "a", 80, "/x?q=1"),
            ("https://a/", "a", 443, "/x?q=1"),
            ("http://a:8080/api/", "a", 8080, "/api/x?q=1"),
            ("http://[::1]:9/v1/api", "::1", 9, "/v1/api/x?q=1"),
        ] {
            let target = parse(url).unwrap();
            assert_eq!((target.host(), target.port()), (host, port), "{url}");
            let found = target
                .path(&"http://client/x?q=1".parse().unwrap())
                .unwrap();
            assert_eq!(found.as_str(), path, "{url}");
        }
    }

    #[test]
    fn what_cannot_be_connected_to_is_refused() {
        for url in ["/a", "ftp://a", "http://u:p@a", "http://a/?q=1", "a:80"] {
            assert!(parse(url).is_err(), "{url}");
        }
    }
}
