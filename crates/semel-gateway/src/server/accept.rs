//! Takes connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::connection::serve;
use super::load::Pulse;
use super::{Load, Shared};
use crate::error::{Error, Kind, Result};

/// How many connections wait to be accepted before clients are made to wait themselves.
const BACKLOG: u32 = 4_096;
/// How long to wait when the system has no more sockets to give.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);

/// A socket that listens on `address`.
pub(super) fn listen(address: SocketAddr) -> Result<TcpListener> {
    let failed = |error: io::Error| {
        let why = match error.kind() {
            io::ErrorKind::AddrInUse => "somebody else listens there",
            io::ErrorKind::AddrNotAvailable => "this machine has no such address",
            io::ErrorKind::PermissionDenied => "that is not permitted",
            _ => "that failed",
        };
        Error::new(Kind::Listen, format!("cannot listen on {address}, {why}")).caused_by(error)
    };
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4(),
        SocketAddr::V6(_) => TcpSocket::new_v6(),
    };
    let socket = socket.map_err(failed)?;
    // A restarted gateway must not wait for the connections of its predecessor to be forgotten.
    #[cfg(unix)]
    socket.set_reuseaddr(true).map_err(failed)?;
    socket.bind(address).map_err(failed)?;
    socket.listen(BACKLOG).map_err(failed)
}

/// Accepts for ever, at most as many connections at a time as the limits allow.
pub(super) async fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let has_room = |load: Load| load.connections < shared.snapshot().limits.connections_max;
        shared.counters.wait_until(has_room).await;
        match listener.accept().await {
            Ok((stream, peer)) => begin(stream, peer, shared),
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "no connection can be accepted for the moment");
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
            }
        }
    }
}

fn begin(stream: TcpStream, peer: SocketAddr, shared: &Arc<Shared>) {
    // A socket that cannot be set up like this still works.
    let _ = stream.set_nodelay(true);
    let pulse = Pulse::new(shared.counters.clone());
    tokio::spawn(serve(shared.clone(), stream, peer, pulse));
}

fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}
