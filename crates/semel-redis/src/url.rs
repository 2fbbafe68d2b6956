//! Store URLs: `redis://[[user]:password@]host[:port][/db]`, `rediss://…` for TLS,
//! `redis-cluster://[[user]:password@]host[:port],host[:port]…`, `rediss-cluster://…`; then `?name=value&…`.

use percent_encoding::percent_decode_str;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisConnectionInfo};
use semel_core::{Error, Result};

/// The schemes, with whether they mean a cluster and TLS.
const SCHEMES: [(&str, bool, bool); 4] = [
    ("redis://", false, false),
    ("rediss://", false, true),
    ("redis-cluster://", true, false),
    ("rediss-cluster://", true, true),
];
const PORT: u16 = 6379;

/// Where the servers are and who we are to them.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) cluster: bool,
    pub(crate) tls: bool,
    pub(crate) hosts: Vec<(String, u16)>,
    user: Option<String>,
    password: Option<String>,
    db: i64,
}

impl std::fmt::Debug for Address {
    /// Hosts only: the password never reaches a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(&self.hosts).finish()
    }
}

/// The parameters of a URL, in their order.
pub(crate) type Parameters = Vec<(String, String)>;

/// Reads a URL. Errors never repeat what may be a password.
pub(crate) fn parse(url: &str) -> Result<(Address, Parameters)> {
    let scheme = SCHEMES.iter().find(|(scheme, ..)| url.starts_with(scheme));
    let Some((scheme, cluster, tls)) = scheme else {
        let names = SCHEMES.map(|(scheme, ..)| scheme).join(", ");
        return Err(Error::invalid(format!(
            "a Redis store's URL begins with one of {names}"
        )));
    };
    let rest = &url[scheme.len()..];
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (credentials, rest) = match rest.rsplit_once('@') {
        Some((credentials, rest)) => (Some(credentials), rest),
        None => (None, rest),
    };
    let (hosts, db) = rest.split_once('/').unwrap_or((rest, ""));
    let (user, password) = credentials.map_or(Ok((None, None)), parse_credentials)?;
    let hosts: Vec<_> = hosts.split(',').map(parse_host).collect::<Result<_>>()?;
    if !cluster && hosts.len() > 1 {
        return Err(Error::invalid(format!(
            "{scheme} names one server, found {}; several are written redis-cluster://",
            hosts.len()
        )));
    }
    let address = Address {
        cluster: *cluster,
        tls: *tls,
        hosts,
        user,
        password,
        db: parse_db(db, *cluster)?,
    };
    Ok((address, parse_query(query)?))
}

fn parse_credentials(text: &str) -> Result<(Option<String>, Option<String>)> {
    let (user, password) = match text.split_once(':') {
        Some((user, password)) => (user, Some(password)),
        None => (text, None),
    };
    let user = Some(decoded(user)?).filter(|user| !user.is_empty());
    Ok((user, password.map(decoded).transpose()?))
}

fn decoded(text: &str) -> Result<String> {
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| Error::invalid("a part of the Redis URL is not UTF-8 text"));
    decoded.map(|text| text.into_owned())
}

fn parse_host(text: &str) -> Result<(String, u16)> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) => (host, port.strip_prefix(':')),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() {
        return Err(Error::invalid(
            "a Redis URL names a host, such as redis://127.0.0.1:6379/0",
        ));
    }
    let port = port.map_or(Ok(PORT), str::parse);
    let port =
        port.map_err(|_| Error::invalid("the port in a Redis URL is a number up to 65535"))?;
    Ok((host.to_owned(), port))
}

fn parse_db(text: &str, cluster: bool) -> Result<i64> {
    let db: u32 = match text {
        "" => 0,
        text => text.parse().map_err(|_| {
            Error::invalid(format!(
                "a Redis URL's path is the number of a database, found {text:?}"
            ))
        })?,
    };
    if cluster && db != 0 {
        return Err(Error::invalid(format!(
            "a Redis Cluster has only database 0, found {db}"
        )));
    }
    Ok(i64::from(db))
}

fn parse_query(query: &str) -> Result<Parameters> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let parse = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decoded(name)?, decoded(value)?))
    };
    pairs.map(parse).collect()
}

impl Address {
    /// What the driver connects to, server by server.
    pub(crate) fn infos(&self) -> Result<Vec<ConnectionInfo>> {
        let mut who = RedisConnectionInfo::default().set_db(self.db);
        if let Some(user) = &self.user {
            who = who.set_username(user);
        }
        if let Some(password) = &self.password {
            who = who.set_password(password);
        }
        let info = |(host, port): &(String, u16)| {
            let (host, port) = (host.clone(), *port);
            let addr = match self.tls {
                false => ConnectionAddr::Tcp(host, port),
                true => ConnectionAddr::TcpTls {
                    host,
                    port,
                    insecure: false,
                    tls_params: None,
                },
            };
            let info = addr.into_connection_info();
            let info =
                info.map_err(|e| Error::invalid("the Redis URL names no server").caused_by(e))?;
            Ok(info.set_redis_settings(who.clone()))
        };
        self.hosts.iter().map(info).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_servers_users_and_databases() {
        for (url, cluster, tls, hosts, user, password, db) in [
            ("redis://h", false, false, vec![("h", 6379)], None, None, 0),
            ("redis://h:1/2", false, false, vec![("h", 1)], None, None, 2),
            (
                "rediss://:p%40s@h:1",
                false,
                true,
                vec![("h", 1)],
                None,
                Some("p@s"),
                0,
            ),
            (
                "redis://u:p@[::1]:9",
                false,
                false,
                vec![("::1", 9)],
                Some("u"),
                Some("p"),
                0,
            ),
            (
                "redis-cluster://:p@a:1,b",
                true,
                false,
                vec![("a", 1), ("b", 6379)],
                None,
                Some("p"),
                0,
            ),
        ] {
            let (address, _) = parse(url).unwrap();
            assert_eq!(
                (address.cluster, address.tls, address.db),
                (cluster, tls, db),
                "{url}"
            );
            let found: Vec<_> = address
                .hosts
                .iter()
                .map(|(h, p)| (h.as_str(), *p))
                .collect();
            assert_eq!(found, hosts, "{url}");
            assert_eq!(
                (address.user.as_deref(), address.password.as_deref()),
                (user, password),
                "{url}"
            );
        }
    }

    #[test]
    fn bad_urls_are_refused_without_repeating_the_password() {
        for url in [
            "http://u:secret@h",
            "redis://:secret@",
            "redis://:secret@h:port",
            "redis://:secret@h/x",
            "redis://:secret@a,b",
            "redis-cluster://:secret@a/1",
        ] {
            let error = parse(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
        }
        let (address, _) = parse("redis://:secret@h").unwrap();
        assert!(!format!("{address:?}").contains("secret"));
    }
}
