//! Where the demo listens, and its configuration file: one consumer for each thing that happens to messages.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::exit::Exit;

/// The token of the admin side where the environment sets one; it is needed beyond loopback.
pub(super) const TOKEN: &str = "SEMEL_ADMIN_TOKEN";

/// The ports of the demo, all on loopback but for the admin side where the command line says so.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ports {
    pub(super) gateway: SocketAddr,
    pub(super) admin: SocketAddr,
    pub(super) inbox: SocketAddr,
    /// The pretend payment service behind the gateway, which is killed and comes back at the same port.
    pub(super) service: SocketAddr,
    /// The pretend handlers of messages and the pretend provider.
    pub(super) handlers: SocketAddr,
}

impl Ports {
    /// The usual ports where they are free, and any others where they are not.
    pub(super) fn choose(admin: Option<SocketAddr>) -> Result<Self> {
        // All are held until the last one is chosen, so that no port is chosen twice.
        let mut held = Vec::new();
        let mut choose = |preferred: u16| {
            let usual = TcpListener::bind((Ipv4Addr::LOCALHOST, preferred));
            let listener = usual
                .or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
                .map_err(|error| no_port(&error))?;
            let address = listener.local_addr().map_err(|error| no_port(&error))?;
            held.push(listener);
            Ok::<_, Error>(address)
        };
        Ok(Self {
            gateway: choose(7070)?,
            admin: match admin {
                Some(admin) if admin.port() != 0 => admin,
                Some(admin) => SocketAddr::new(admin.ip(), choose(0)?.port()),
                None => choose(7071)?,
            },
            inbox: choose(7072)?,
            service: choose(0)?,
            handlers: choose(0)?,
        })
    }
}

fn no_port(error: &std::io::Error) -> Error {
    let message = format!("the demo finds no free port on loopback: {error}");
    Error::new(Exit::Unavailable, message)
}

/// Writes the file of the demo into its directory.
pub(super) fn write(dir: &Path, ports: &Ports) -> Result<PathBuf> {
    let path = dir.join("semel.yaml");
    std::fs::write(&path, text(dir, ports)).map_err(|error| {
        let message = format!("the demo cannot write {}: {error}", path.display());
        Error::new(Exit::Io, message)
    })?;
    Ok(path)
}

/// The file with places for addresses. Retention is short and the paused consumer takes few messages, so that the store stays small however long the
/// demo runs.
const TEMPLATE: &str = include_str!("semel.yaml");

fn text(dir: &Path, ports: &Ports) -> String {
    let token = match std::env::var(TOKEN) {
        Ok(token) if !token.is_empty() => format!(", token: '${{{TOKEN}}}'"),
        _ => String::new(),
    };
    let places = [
        ("@store@", dir.join("semel.db").display().to_string()),
        ("@token@", token),
        ("@gateway@", ports.gateway.to_string()),
        ("@admin@", ports.admin.to_string()),
        ("@inbox@", ports.inbox.to_string()),
        ("@service@", ports.service.to_string()),
        ("@handlers@", ports.handlers.to_string()),
    ];
    let fill = |text: String, (place, value): (&str, String)| text.replace(place, &value);
    places.into_iter().fold(TEMPLATE.to_owned(), fill)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_the_demo_is_one_that_semel_serves() {
        let ports = Ports::choose(None).unwrap();
        let text = text(Path::new("/tmp/demo"), &ports);
        let file = semel_policy::File::parse("semel.yaml", &text, []).unwrap();
        assert_eq!(file.consumers().unwrap().len(), 7);
        crate::serving::check_gateway(&file).unwrap();
    }

    #[test]
    fn a_port_that_is_taken_is_not_chosen() {
        let (first, second) = (Ports::choose(None).unwrap(), Ports::choose(None).unwrap());
        let taken = TcpListener::bind(first.gateway);
        let other = Ports::choose(Some("127.0.0.1:9".parse().unwrap())).unwrap();
        assert_eq!(other.admin.port(), 9);
        if taken.is_ok() {
            assert_ne!(other.gateway, first.gateway);
        }
        assert_ne!(second.gateway, second.inbox);
    }
}
