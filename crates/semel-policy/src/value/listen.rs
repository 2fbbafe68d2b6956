//! Where a port listens: an address, or a unix socket.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use schemars::{Schema, json_schema};

use super::word::{Refusal, Text};

const UNIX: &str = "unix:";

/// Where a port listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Listen {
    /// An address and a port.
    Tcp(SocketAddr),
    /// A unix socket at this path.
    Unix(PathBuf),
}

impl Listen {
    /// A port of this machine.
    pub(crate) const fn loopback(port: u16) -> Self {
        Self::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
    }

    /// The address and port, unless it is a unix socket.
    pub const fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    /// Whether other machines cannot reach it.
    pub fn is_local(&self) -> bool {
        self.tcp()
            .is_none_or(|address| address.ip().to_canonical().is_loopback())
    }

    /// Paths in the file are relative to its directory.
    pub(crate) fn resolve(&mut self, directory: &Path) {
        if let Self::Unix(path) = self {
            *path = directory.join(&*path);
        }
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl Text for Listen {
    const EXPECTED: &'static str = "an address such as 127.0.0.1:7070 or unix:/run/semel.sock";

    fn parse(text: &str) -> Result<Self, Refusal> {
        match text.strip_prefix(UNIX) {
            Some(path) if !path.is_empty() => Ok(Self::Unix(path.into())),
            _ => text.parse().map(Self::Tcp).map_err(|_| Refusal::Unlike),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "examples": ["127.0.0.1:7070", "[::]:7070", "unix:/run/semel.sock"] })
    }
}
