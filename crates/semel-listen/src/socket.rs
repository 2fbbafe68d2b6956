//! The socket that a listener listens on.

use std::io;
use std::net::{IpAddr, SocketAddr};

use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::address::Address;
use crate::error::{Error, Kind, Result};

/// How many connections wait to be accepted before clients are made to wait themselves.
const BACKLOG: u32 = 4_096;

/// A socket that listens.
#[derive(Debug)]
pub(crate) enum Socket {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(unix::Listener),
}

/// A connection that was accepted.
pub(crate) enum Stream {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(tokio::net::UnixStream),
}

impl Socket {
    pub(crate) fn bind(address: &Address, mode: u32) -> Result<Self> {
        let failed = |error: io::Error| {
            let why = match error.kind() {
                io::ErrorKind::AddrInUse => "another process listens there",
                io::ErrorKind::AddrNotAvailable => "this machine has no such address",
                io::ErrorKind::PermissionDenied => "that is not permitted",
                _ => "that failed",
            };
            Error::new(Kind::Listen, format!("cannot listen on {address}, {why}")).caused_by(error)
        };
        match address {
            Address::Tcp(address) => tcp(*address).map(Self::Tcp).map_err(failed),
            #[cfg(unix)]
            Address::Unix(path) => unix::Listener::bind(path, mode)
                .map(Self::Unix)
                .map_err(failed),
            #[cfg(not(unix))]
            Address::Unix(_) => {
                let _ = mode;
                Err(failed(io::ErrorKind::Unsupported.into()))
            }
        }
    }

    /// Where it listens; the real port where the address says 0.
    pub(crate) fn address(&self, asked: &Address) -> Result<Address> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Address::Tcp).map_err(|error| {
                Error::new(Kind::Listen, "the listening socket has no address").caused_by(error)
            }),
            #[cfg(unix)]
            Self::Unix(_) => Ok(asked.clone()),
        }
    }

    pub(crate) async fn accept(&self) -> io::Result<(Stream, Option<IpAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Without this, small answers wait for the client's acknowledgement of the one before. A socket that
                // cannot be set up like this still works.
                let _ = stream.set_nodelay(true);
                Ok((Stream::Tcp(stream), Some(peer.ip())))
            }
            #[cfg(unix)]
            Self::Unix(listener) => Ok((Stream::Unix(listener.accept().await?), None)),
        }
    }
}

fn tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // A process that was restarted must not wait for the connections of its predecessor to be forgotten.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, Permissions};
    use std::io;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
    use std::path::{Path, PathBuf};

    use tokio::net::{UnixListener, UnixStream};

    /// A unix socket, whose file is removed at its end.
    #[derive(Debug)]
    pub(crate) struct Listener {
        socket: UnixListener,
        path: PathBuf,
        /// Which file it is: another process may have put its own in the place.
        inode: u64,
    }

    impl Listener {
        pub(super) fn bind(path: &Path, mode: u32) -> io::Result<Self> {
            remove_stale(path)?;
            let socket = UnixListener::bind(path)?;
            fs::set_permissions(path, Permissions::from_mode(mode))?;
            Ok(Self {
                socket,
                path: path.to_owned(),
                inode: fs::metadata(path)?.ino(),
            })
        }

        pub(super) async fn accept(&self) -> io::Result<UnixStream> {
            self.socket.accept().await.map(|(stream, _)| stream)
        }
    }

    impl Drop for Listener {
        fn drop(&mut self) {
            let is_ours = |file: fs::Metadata| file.ino() == self.inode;
            if fs::symlink_metadata(&self.path).is_ok_and(is_ours) {
                let _ = fs::remove_file(&self.path);
            }
        }
    }

    /// Removes the socket of a process that has died; one that answers, or another kind of file, stays and is an error.
    fn remove_stale(path: &Path) -> io::Result<()> {
        match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
            Ok(file) if !file.file_type().is_socket() => {
                return Err(io::Error::other("a file that is no socket lies there"));
            }
            Ok(_) => {}
        }
        match std::os::unix::net::UnixStream::connect(path) {
            Ok(_) => Err(io::ErrorKind::AddrInUse.into()),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
            Err(error) => Err(error),
        }
    }
}
