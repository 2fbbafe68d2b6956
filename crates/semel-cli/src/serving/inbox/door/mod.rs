//! The door for messages that are posted: listens, serves, and ends gracefully.
//!
//! - `connection` serves one connection; `pulse` knows whether it idles.
//! - `gate` bounds what is in flight.

mod connection;
mod gate;
mod pulse;

use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use semel_admin::Current;
use semel_policy::file::InboxListen;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::error::{Error, Result};
use crate::exit::Exit;
use connection::Limits;

/// How long to wait before accepting again after the system refused to.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Takes the address.
pub(super) async fn bind(listen: SocketAddr) -> Result<TcpListener> {
    TcpListener::bind(listen).await.map_err(|error| {
        let message = format!("the inbox cannot listen on {listen}: {error}");
        Error::new(Exit::Unavailable, message).hint("choose another address in inbox.listen")
    })
}

/// The routes of an engine.
pub(super) fn routed(router: Router) -> Router {
    router.fallback(gate::nothing)
}

/// No routes: the file no longer names a consumer.
pub(super) fn closed() -> Router {
    routed(Router::new())
}

/// A bound door.
pub(super) struct Door {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    limits: Limits,
    connections_max: usize,
    drain: Duration,
}

impl Door {
    /// A door in front of whatever routes there are at the moment.
    pub(super) fn new(
        listener: TcpListener,
        router: Current<Router>,
        settings: &InboxListen,
    ) -> Result<Self> {
        let address = listener.local_addr().map_err(|error| {
            let message = format!("the inbox cannot tell where it listens: {error}");
            Error::new(Exit::Unavailable, message)
        })?;
        let (limits, timeouts) = (&settings.limits, &settings.timeouts);
        Ok(Self {
            listener,
            address,
            router: gate::around(router, limits.in_flight.0.0),
            limits: Limits {
                head_bytes_max: limits.header_bytes.0.0,
                header: timeouts.header.0,
                idle: timeouts.idle.0,
            },
            connections_max: limits.connections.0.0,
            drain: timeouts.drain.0,
        })
    }

    /// Where it listens.
    pub(super) const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` is done; then lets requests that have begun finish, for a while.
    pub(super) async fn serve(self, shutdown: impl Future<Output = ()>) {
        let (stop, stopping) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = self.listener.accept(), if connections.len() < self.connections_max => {
                    match accepted {
                        Ok((stream, _)) => {
                            let router = self.router.clone();
                            connections.spawn(connection::serve(stream, router, self.limits, stopping.clone()));
                        }
                        Err(error) => {
                            tracing::warn!(%error, "the inbox cannot accept a connection");
                            sleep(ACCEPT_PAUSE).await;
                        }
                    }
                }
            }
        }
        drop(self.listener);
        stop.send_replace(true);
        let drained = timeout(self.drain, async {
            while connections.join_next().await.is_some() {}
        });
        if drained.await.is_err() {
            tracing::warn!(
                connections = connections.len(),
                "the drain timeout ended, posted messages were cut off"
            );
        }
    }
}
