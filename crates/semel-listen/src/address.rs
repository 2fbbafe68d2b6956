//! Where a listener listens: an address and a port, or a file.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use crate::error::{Error, Kind};

/// What stands before the path of a unix socket.
const UNIX: &str = "unix:";

/// Where a listener listens.
///
/// ```
/// use semel_listen::Address;
///
/// let port: Address = "127.0.0.1:7070".parse()?;
/// assert!(port.is_local());
/// let file: Address = "unix:/run/semel.sock".parse()?;
/// assert_eq!(file.to_string(), "unix:/run/semel.sock");
/// # Ok::<(), semel_listen::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// An address and a port; port 0 takes a free one.
    Tcp(SocketAddr),
    /// A unix socket at this path.
    Unix(PathBuf),
}

impl Address {
    /// The address and port, unless it is a file.
    pub const fn tcp(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(address) => Some(*address),
            Self::Unix(_) => None,
        }
    }

    /// Whether other machines cannot reach it.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(address) => address.ip().to_canonical().is_loopback(),
            Self::Unix(_) => true,
        }
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.strip_prefix(UNIX) {
            Some(path) if !path.is_empty() => Ok(Self::Unix(path.into())),
            _ => text.parse().map(Self::Tcp).map_err(|_| {
                let message = format!(
                    "expected an address such as 127.0.0.1:7070 or unix:/run/semel.sock, found {text:?}"
                );
                Error::new(Kind::Invalid, message)
            }),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}
