//! Takes connections, and makes room for them.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::connection::{self, Arrived, Serves};
use crate::listener::Shared;
use crate::load::Pulse;
use crate::socket::{Socket, Stream};

/// How long to wait when the system has no more sockets to give.
const EXHAUSTED_PAUSE: Duration = Duration::from_millis(100);
/// How long a connection may take to make room before the next one is asked.
const ROOM_PAUSE: Duration = Duration::from_millis(20);

/// Accepts for ever, at most as many connections at a time as the settings allow.
pub(crate) async fn accept<F: Serves>(socket: &Socket, shared: &Arc<Shared>, service: &Arc<F>) {
    loop {
        match socket.accept().await {
            Ok((stream, ip)) => {
                // One connection above the limit waits here, and shows that room is needed.
                make_room(shared).await;
                begin(stream, ip, shared, service);
            }
            Err(error) if is_about_one_connection(&error) => {}
            Err(error) => {
                let port = shared.name;
                tracing::warn!(port, %error, "no connection can be accepted for the moment");
                tokio::time::sleep(EXHAUSTED_PAUSE).await;
            }
        }
    }
}

/// Waits until there are fewer connections than the limit. Connections that have no request in flight are closed for that, the one
/// that has been silent longest first: silent connections keep no client away.
async fn make_room(shared: &Shared) {
    while shared.counters.load().connections >= shared.ready().settings.connections_max {
        let asked = shared.crowd.make_room();
        tracing::debug!(
            port = shared.name,
            asked,
            "the limit of connections is reached"
        );
        let _ = timeout(ROOM_PAUSE, shared.counters.ended()).await;
    }
}

fn begin<F: Serves>(stream: Stream, ip: Option<IpAddr>, shared: &Arc<Shared>, service: &Arc<F>) {
    let pulse = Pulse::new(shared.counters.clone());
    let arrived = Arrived {
        shared: shared.clone(),
        service: service.clone(),
        pulse,
        ip,
    };
    match stream {
        Stream::Tcp(stream) => drop(tokio::spawn(connection::serve(arrived, stream))),
        #[cfg(unix)]
        Stream::Unix(stream) => drop(tokio::spawn(connection::serve_plain(arrived, stream))),
    }
}

fn is_about_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}
