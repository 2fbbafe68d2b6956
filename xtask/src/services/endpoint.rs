//! Where a URL leads, for asking whether a server answers there.
//!
//! This is not a URL parser: it reads `scheme://[user[:password]@]host[:port][,host[:port]…][/…]`,
//! which is what test servers are named by, and refuses the rest. Brokers that are named by a list of hosts have no scheme.

use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use crate::error::{Error, Result};

const CONNECT_WAIT: Duration = Duration::from_secs(5);

/// Where a server listens.
#[derive(Debug)]
pub(super) struct Endpoint {
    pub(super) host: String,
    pub(super) port: u16,
}

/// The processes of a server, and who asks.
#[derive(Debug)]
pub(super) struct Target<'a> {
    pub(super) endpoints: Vec<Endpoint>,
    /// Empty if there is none.
    pub(super) user: &'a str,
    pub(super) password: Option<&'a str>,
}

impl<'a> Target<'a> {
    /// Reads an address with one of these schemes, or a list of hosts if there is none.
    pub(super) fn parse(address: &'a str, schemes: &[&str], default_port: u16) -> Result<Self> {
        let parts = match schemes {
            [] => Some(Parts::of_hosts(address)),
            schemes => split(address).filter(|parts| schemes.contains(&parts.scheme)),
        };
        let target = parts.and_then(|parts| {
            let hosts = parts.hosts.split(',');
            let endpoints = hosts.map(|host| Endpoint::of_authority(host, default_port));
            Some(Self {
                endpoints: endpoints.collect::<Option<_>>()?,
                user: parts.user,
                password: parts.password,
            })
        });
        target.ok_or_else(|| match schemes.first() {
            Some(scheme) => Error::failed(format!("expected {scheme}://user:password@host:port/…")),
            None => Error::failed("expected host:port,host:port,…"),
        })
    }
}

impl Endpoint {
    /// Connects within a few seconds, with the same bound on each read and write.
    pub(super) fn connect(&self) -> Result<TcpStream> {
        self.try_connect().map_err(|error| {
            Error::failed(format!(
                "connecting to {}:{}: {error}",
                self.host, self.port
            ))
        })
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

/// The address without anything secret, for messages.
pub(super) fn redacted(address: &str) -> String {
    let Some(parts) = split(address) else {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-:,[]".contains(c);
        return if address.chars().all(is_plain) {
            address.to_owned()
        } else {
            // Other forms may hold a password anywhere.
            "something that is not a URL".to_owned()
        };
    };
    let Parts {
        scheme,
        user,
        hosts,
        path,
        ..
    } = parts;
    let (hidden, at) = match (parts.password, user) {
        (Some(_), _) => (":…", "@"),
        (None, "") => ("", ""),
        (None, _) => ("", "@"),
    };
    format!("{scheme}://{user}{hidden}{at}{hosts}{path}")
}

struct Parts<'a> {
    scheme: &'a str,
    user: &'a str,
    password: Option<&'a str>,
    hosts: &'a str,
    /// Without the query, which may hold a password too.
    path: &'a str,
}

impl<'a> Parts<'a> {
    const fn of_hosts(hosts: &'a str) -> Self {
        Self {
            scheme: "",
            user: "",
            password: None,
            hosts,
            path: "",
        }
    }
}

fn split(url: &str) -> Option<Parts<'_>> {
    let (scheme, rest) = url.split_once("://")?;
    let rest = &rest[..rest.find(['?', '#']).unwrap_or(rest.len())];
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = match login.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (login, None),
    };
    Some(Parts {
        scheme,
        user,
        password,
        hosts,
        path,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_read_from_an_address_or_it_is_refused() {
        type Ends = Option<&'static [(&'static str, u16)]>;
        let table: &[(&[&str], &str, Ends)] = &[
            (
                &["pg"],
                "pg://u:p@127.0.0.1:99/db?x=1",
                Some(&[("127.0.0.1", 99)]),
            ),
            (&["pg", "p"], "p://localhost", Some(&[("localhost", 5)])),
            (&["pg"], "pg://u:p@w@[::1]:7/db", Some(&[("::1", 7)])),
            (&["pg"], "pg://:p@a:1,b/db", Some(&[("a", 1), ("b", 5)])),
            (&["pg"], "pg://:p@a:1,", None),
            (&["pg"], "pg://host:port/db", None),
            (&["pg"], "pg:///db", None),
            (&["pg"], "pg://[::1", None),
            (&["pg"], "other://host/db", None),
            (&["pg"], "host=localhost port=99", None),
            (&[], "a:1,[::1]", Some(&[("a", 1), ("::1", 5)])),
            (&[], "kafka://a:1", None),
        ];
        for (schemes, address, expected) in table {
            let found = Target::parse(address, schemes, 5).ok();
            let found = found.as_ref().map(|target| {
                let pairs = target
                    .endpoints
                    .iter()
                    .map(|end| (end.host.as_str(), end.port));
                pairs.collect::<Vec<_>>()
            });
            assert_eq!(found.as_deref(), *expected, "{address}");
        }
    }

    #[test]
    fn a_password_is_never_shown() {
        let table = [
            ("pg://u:secret@h:1/db", "pg://u:…@h:1/db"),
            ("c://:p@a:1,b:2", "c://:…@a:1,b:2"),
            ("pg://h/db?password=secret", "pg://h/db"),
            ("pg://u@h/db", "pg://u@h/db"),
            ("password=secret", "something that is not a URL"),
            ("127.0.0.1:9092,b:1", "127.0.0.1:9092,b:1"),
        ];
        for (url, expected) in table {
            assert_eq!(redacted(url), expected);
        }
        let target = Target::parse("pg://u:secret@h:1/db", &["pg"], 5).unwrap();
        assert_eq!((target.user, target.password), ("u", Some("secret")));
    }
}
