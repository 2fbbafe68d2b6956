//! The door for messages that are posted: a listener in front of whatever routes there are at the moment. `gate` bounds what is in flight.

mod gate;

use std::sync::Arc;

use axum::Router;
use hyper_util::service::TowerToHyperService;
use semel_admin::Current;
use semel_listen::{Handle, Listener, Peer, Settings, counted};
use semel_policy::file::InboxListen;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serving::listening;

/// Takes the address.
pub(super) fn bind(section: &InboxListen) -> Result<Listener> {
    let address = listening::address(&section.listen);
    Listener::bind("inbox", &address, settings(section)).map_err(|error| {
        let (exit, hint) = match error.is_retryable() {
            true => (Exit::Unavailable, "choose another address in inbox.listen"),
            false => (Exit::Configuration, "look at the file's inbox section"),
        };
        Error::new(exit, format!("the inbox: {error}")).hint(hint)
    })
}

/// What the file says about the door.
pub(super) fn settings(section: &InboxListen) -> Settings {
    let (limits, timeouts) = (&section.limits, &section.timeouts);
    Settings {
        connections_max: limits.connections.0.0,
        header_bytes_max: limits.header_bytes.0.0,
        header: timeouts.header.0,
        idle: timeouts.idle.0,
        stall: timeouts.body.0,
        pause: timeouts.drain_pause.0,
        drain: timeouts.drain.0,
        http2: false,
        tls: section.tls.as_ref().map(listening::tls),
        access_log: listening::access_log(section.access_log),
        ..Settings::default()
    }
}

/// The routes of an engine.
pub(super) fn routed(router: Router) -> Router {
    router.fallback(gate::nothing)
}

/// No routes: the file no longer names a consumer.
pub(super) fn closed() -> Router {
    routed(Router::new())
}

/// A door that listens.
pub(super) struct Door {
    listener: Listener,
    router: Router,
}

impl Door {
    /// A door in front of whatever routes there are at the moment.
    pub(super) fn new(listener: Listener, router: Current<Router>, section: &InboxListen) -> Self {
        let router = gate::around(router, section.limits.in_flight.0.0);
        Self { listener, router }
    }

    pub(super) fn handle(&self) -> Handle {
        self.listener.handle()
    }

    /// Serves until `shutdown` is done; then lets requests that have begun finish, for a while.
    pub(super) async fn serve(self, shutdown: impl Future<Output = ()>) {
        let Self { listener, router } = self;
        let service =
            move |peer: Arc<Peer>| counted(&peer, TowerToHyperService::new(router.clone()));
        let drained = listener.serve(service, shutdown).await;
        if drained.connections > 0 {
            tracing::warn!(
                connections = drained.connections,
                requests = drained.cut_off,
                "the drain timeout ended, posted messages were cut off"
            );
        }
    }
}
