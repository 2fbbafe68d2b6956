//! Host and port of a URL, for asking whether a server answers there.
//!
//! This is not a URL parser: it reads `scheme://[user[:password]@]host[:port][/…]`,
//! which is what test servers are named by, and refuses the rest. The servers of a
//! cluster are a list of `host[:port]` with commas between them.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::error::{Error, Result};

const CONNECT_WAIT: Duration = Duration::from_secs(5);

/// Where a server listens.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub(super) host: String,
    pub(super) port: u16,
}

impl Endpoint {
    /// Reads the endpoint of a URL with one of these schemes.
    pub(super) fn parse(url: &str, schemes: &[&str], default_port: u16) -> Result<Self> {
        let found = split(url).filter(|parts| schemes.contains(&parts.scheme));
        let endpoint = found.and_then(|parts| Self::of_authority(parts.host, default_port));
        endpoint.ok_or_else(|| {
            let scheme = schemes.first().unwrap_or(&"scheme");
            Error::failed(format!("expected {scheme}://user:password@host:port/…"))
        })
    }

    /// Reads every endpoint of a URL that names the servers of a cluster.
    pub(super) fn parse_all(url: &str, scheme: &str, default_port: u16) -> Result<Vec<Self>> {
        let found = split(url).filter(|parts| parts.scheme == scheme);
        let endpoints = found.and_then(|parts| {
            let hosts = parts.host.split(',');
            hosts
                .map(|host| Self::of_authority(host, default_port))
                .collect()
        });
        endpoints.ok_or_else(|| {
            Error::failed(format!(
                "expected {scheme}://user:password@host:port,host:port"
            ))
        })
    }

    /// Connects within a few seconds, with the same bound on each read and write.
    pub(super) fn connect(&self) -> Result<TcpStream> {
        let stream = self.try_connect().map_err(|error| {
            Error::failed(format!(
                "connecting to {}:{}: {error}",
                self.host, self.port
            ))
        })?;
        Ok(stream)
    }

    fn try_connect(&self) -> std::io::Result<TcpStream> {
        let mut last = std::io::Error::other("the host has no address");
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_WAIT) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(CONNECT_WAIT))?;
                    stream.set_write_timeout(Some(CONNECT_WAIT))?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn of_authority(authority: &str, default_port: u16) -> Option<Self> {
        let after_host = match authority.strip_prefix('[') {
            Some(rest) => rest.find(']')? + 2,
            None => authority.find(':').unwrap_or(authority.len()),
        };
        let (host, port) = authority.split_at_checked(after_host)?;
        let host = host.trim_matches(['[', ']']).to_owned();
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().ok()?,
            None if port.is_empty() => default_port,
            None => return None,
        };
        (!host.is_empty()).then_some(Self { host, port })
    }
}

/// The URL without anything secret, for messages.
pub(super) fn redacted(url: &str) -> String {
    let Some(parts) = split(url) else {
        // Other forms may hold a password anywhere.
        return "something that is not a URL".to_owned();
    };
    let Parts {
        scheme, user, host, ..
    } = parts;
    let (hidden, at) = match (parts.password, user) {
        (Some(_), _) => (":…", "@"),
        (None, "") => ("", ""),
        (None, _) => ("", "@"),
    };
    format!("{scheme}://{user}{hidden}{at}{host}{}", parts.path)
}

/// The password in a URL.
pub(super) fn password(url: &str) -> Option<&str> {
    split(url)?.password
}

/// The user in a URL, which is empty if there is none.
pub(super) fn user(url: &str) -> &str {
    split(url).map_or("", |parts| parts.user)
}

struct Parts<'a> {
    scheme: &'a str,
    user: &'a str,
    password: Option<&'a str>,
    host: &'a str,
    /// Without the query, which may hold a password too.
    path: &'a str,
}

fn split(url: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = url.split_once("://")?;
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    Some(Parts {
        scheme,
        user,
        password,
        host,
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_read_from_a_url_or_refused() {
        let table = [
            ("pg://u:p@127.0.0.1:99/db?x=1", Some(("127.0.0.1", 99))),
            ("pg://localhost", Some(("localhost", 5))),
            ("pg://u:p@w@[::1]:7/db", Some(("::1", 7))),
            ("pg://[::1]/db", Some(("::1", 5))),
            ("pg://host:port/db", None),
            ("pg:///db", None),
            ("pg://[::1", None),
            ("other://host/db", None),
            ("host=localhost port=99", None),
        ];
        for (url, expected) in table {
            let found = Endpoint::parse(url, &["pg"], 5).ok();
            let found = found.as_ref().map(|end| (end.host.as_str(), end.port));
            assert_eq!(found, expected, "{url}");
        }
    }

    #[test]
    fn a_cluster_is_a_list_of_hosts() {
        let table = [
            ("c://:p@a:1,b:2", Some(vec![("a", 1), ("b", 2)])),
            ("c://a,[::1]:2", Some(vec![("a", 5), ("::1", 2)])),
            ("c://:p@a:1,", None),
            ("pg://a:1,b:2", None),
        ];
        for (url, expected) in table {
            let found = Endpoint::parse_all(url, "c", 5).ok();
            let found = found.as_ref().map(|all| {
                let pairs = all.iter().map(|end| (end.host.as_str(), end.port));
                pairs.collect::<Vec<_>>()
            });
            assert_eq!(found, expected, "{url}");
            assert!(Endpoint::parse(url, &["c"], 5).is_err());
        }
        assert_eq!(redacted("c://:p@a:1,b:2"), "c://:…@a:1,b:2");
    }

    #[test]
    fn a_password_is_never_shown() {
        let table = [
            ("pg://u:secret@h:1/db", "pg://u:…@h:1/db"),
            ("pg://h/db?password=secret", "pg://h/db"),
            ("pg://u@h/db", "pg://u@h/db"),
            ("password=secret", "something that is not a URL"),
        ];
        for (url, expected) in table {
            assert_eq!(redacted(url), expected);
        }
        assert_eq!(password("pg://u:secret@h:1/db"), Some("secret"));
        assert_eq!(user("pg://u:secret@h:1/db"), "u");
        assert_eq!(user("pg://:secret@h:1/db"), "");
    }
}
