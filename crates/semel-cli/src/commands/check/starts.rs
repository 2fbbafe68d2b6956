//! What would keep `semel serve` from starting, found without starting it.

use std::fs::File as Opened;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use semel_policy::file::Admin;
use semel_policy::value::{Listen, SourceUrl};
use semel_policy::{CompiledConsumer, File};

use super::{Found, bad};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serving;

/// Whether what the file names can start: its listeners, and the files that it reads.
pub(super) fn check(file: &File) -> Found {
    let consumers = file
        .consumers()
        .map_err(|error| Error::new(Exit::Configuration, error.to_string()))?;
    admin(&file.admin)?;
    let listeners = listeners(file, &consumers);
    apart(&listeners)?;
    serving::check_gateway(file)?;
    for (key, path) in tls_files(file) {
        readable(key, &path)?;
    }
    for consumer in &consumers {
        source(consumer)?;
    }
    let shown = listeners.iter().map(|(key, at)| format!("{key} {at}"));
    let shown: Vec<_> = shown.collect();
    Ok((
        match shown.is_empty() {
            true => "no address is listened on".to_owned(),
            false => shown.join(", "),
        },
        (),
    ))
}

/// Tokens that no header can carry, or none where other machines reach the admin side.
fn admin(admin: &Admin) -> Result<()> {
    let Admin::On { listen, .. } = admin else {
        return Ok(());
    };
    let config = semel_admin::Config {
        listen: serving::address(listen),
        tokens: serving::tokens(admin)?,
        ..semel_admin::Config::default()
    };
    config.check().map_err(|error| bad(error.to_string()))
}

/// The addresses that are listened on, by their keys in the file.
fn listeners<'a>(
    file: &'a File,
    consumers: &[CompiledConsumer],
) -> Vec<(&'static str, &'a Listen)> {
    let admin = match &file.admin {
        Admin::Off => None,
        Admin::On { listen, .. } => Some(("admin.listen", listen)),
    };
    let gateway = file.gateway.as_ref();
    let gateway = gateway.map(|gateway| ("gateway.listen", &gateway.listen.0));
    let is_posted = consumers.iter().any(CompiledConsumer::is_posted);
    let inbox = is_posted.then_some(("inbox.listen", &file.inbox.listen.0));
    [gateway, admin, inbox].into_iter().flatten().collect()
}

/// Two listeners cannot share a socket or a port, unless their addresses differ; port 0 is a free one for each.
fn apart(listeners: &[(&'static str, &Listen)]) -> Result<()> {
    for (index, (key, at)) in listeners.iter().enumerate() {
        let others = listeners[index + 1..].iter();
        let meets = |(_, other): &&(&str, &Listen)| match (at.tcp(), other.tcp()) {
            (Some(at), Some(other)) => {
                at.port() == other.port() && at.port() != 0 && overlap(at.ip(), other.ip())
            }
            _ => at == other,
        };
        if let Some((other, address)) = others.clone().find(meets) {
            return Err(bad(format!(
                "{key} is {at} and {other} is {address}: two listeners cannot have one port"
            ))
            .hint("give each of them a port of its own"));
        }
    }
    Ok(())
}

/// Whether a packet can be for both addresses. Every address of a machine belongs to `[::]`, and only those of IPv4 to `0.0.0.0`.
fn overlap(one: IpAddr, other: IpAddr) -> bool {
    let (one, other) = (one.to_canonical(), other.to_canonical());
    let holds = |any: IpAddr, other: IpAddr| match any {
        IpAddr::V4(any) => any.is_unspecified() && other.is_ipv4(),
        IpAddr::V6(any) => any.is_unspecified(),
    };
    one == other || holds(one, other) || holds(other, one)
}

/// Certificates and keys.
fn tls_files(file: &File) -> Vec<(&'static str, PathBuf)> {
    let Some(gateway) = &file.gateway else {
        return Vec::new();
    };
    let own = gateway.tls.iter().flat_map(|tls| {
        let ca = tls.client_ca.as_ref();
        let files = [
            ("gateway.tls.certificate", tls.certificate.0.clone()),
            ("gateway.tls.key", tls.key.0.clone()),
        ];
        let ca = ca.map(|ca| ("gateway.tls.client_ca", ca.0.clone()));
        files.into_iter().chain(ca)
    });
    let ca = gateway.upstream_tls.iter();
    let ca = ca.map(|tls| ("gateway.upstream_tls.ca", tls.ca.0.clone()));
    own.chain(ca).collect()
}

fn readable(key: &str, path: &Path) -> Result<()> {
    let opened = Opened::open(path);
    opened.map(drop).map_err(|error| {
        let shown = path.display();
        bad(format!("{key}: {shown} cannot be read: {error}"))
    })
}

/// A file that messages are read from must be there, and beside it there must be room for the lines that are none.
fn source(consumer: &CompiledConsumer) -> Result<()> {
    let Some(SourceUrl::File { path, .. }) = &consumer.source else {
        return Ok(());
    };
    if path == Path::new("-") {
        return Ok(());
    }
    let key = format!("consumer {}: source", consumer.name());
    if path.is_dir() {
        let shown = path.display();
        return Err(bad(format!("{key}: {shown} is a directory, not a file")));
    }
    readable(&key, path)
}

#[cfg(test)]
mod tests {
    use semel_policy::value::Text;

    use super::*;

    #[test]
    fn listeners_that_would_meet_are_refused() {
        let check = |one: &str, other: &str| {
            let (one, other) = (Listen::parse(one).unwrap(), Listen::parse(other).unwrap());
            apart(&[("gateway.listen", &one), ("admin.listen", &other)]).is_ok()
        };
        assert!(!check("127.0.0.1:7070", "127.0.0.1:7070"));
        assert!(!check("0.0.0.0:7070", "127.0.0.1:7070"));
        assert!(!check("[::]:7070", "127.0.0.1:7070"));
        assert!(!check("[::]:7070", "0.0.0.0:7070"));
        assert!(!check("[::ffff:127.0.0.1]:7070", "127.0.0.1:7070"));
        assert!(check("0.0.0.0:7070", "[::1]:7070"));
        assert!(check("127.0.0.2:7070", "127.0.0.1:7070"));
        assert!(check("127.0.0.1:0", "127.0.0.1:0"));
        assert!(check("127.0.0.1:7070", "127.0.0.1:7071"));
        assert!(check("unix:/a", "unix:/b"));
        assert!(!check("unix:/a", "unix:/a"));
    }
}
