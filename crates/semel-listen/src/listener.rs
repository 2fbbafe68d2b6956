//! The listener itself: binds, serves, drains, takes new settings.

use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};

use crate::access::{AccessLog, Log};
use crate::address::Address;
use crate::connection::Serves;
use crate::crowd::Crowd;
use crate::error::{Error, Kind, Result};
use crate::load::{Counters, Load};
use crate::settings::{Ready, Settings};
use crate::socket::Socket;
use crate::{accept, tls};

/// Where a listener is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// It serves.
    Open,
    /// It takes nothing new and finishes what it has.
    Draining,
    /// What is left is cut off.
    Closed,
}

/// What all parts of a listener share.
pub(crate) struct Shared {
    pub(crate) name: &'static str,
    // A plain lock: it is held for the clone of one pointer, once for each connection, and never across an await.
    ready: RwLock<Arc<Ready>>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) crowd: Crowd,
    pub(crate) phase: watch::Sender<Phase>,
    /// Why the newest certificate is not used.
    refused: watch::Sender<Option<String>>,
    /// Requests that were counted for the sample of the access log.
    sampled: Arc<AtomicU64>,
}

impl Shared {
    pub(crate) fn ready(&self) -> Arc<Ready> {
        let ready = self.ready.read().unwrap_or_else(PoisonError::into_inner);
        ready.clone()
    }

    fn take(&self, ready: Ready) {
        let mut place = self.ready.write().unwrap_or_else(PoisonError::into_inner);
        *place = Arc::new(ready);
    }

    /// The newest files of the certificate are used; said only if that was not so before.
    fn certificate_is_used(&self) {
        self.refused
            .send_if_modified(|refused| refused.take().is_some());
    }

    /// The access log of a connection, if there is one.
    pub(crate) fn access(&self, which: AccessLog, ip: Option<IpAddr>) -> Option<Log> {
        Log::new(which, self.name, ip, &self.sampled)
    }
}

/// A socket that listens for HTTP.
pub struct Listener {
    socket: Socket,
    address: Address,
    shared: Arc<Shared>,
}

/// How a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// How many requests had not finished when the drain timeout ended, and were cut off.
    pub cut_off: usize,
    /// How many connections were open then.
    pub connections: usize,
    /// What is left of the drain timeout.
    pub left: Duration,
}

impl Listener {
    /// Checks `settings` and listens. `name` is that of the port, in logs. Must be called inside a Tokio runtime.
    pub fn bind(name: &'static str, address: &Address, settings: Settings) -> Result<Self> {
        if matches!((address, &settings.tls), (Address::Unix(_), Some(_))) {
            let message = format!("expected no TLS on {address}, because it stays on this machine");
            return Err(Error::new(Kind::Invalid, message));
        }
        let mode = settings.socket_mode;
        let ready = Ready::new(settings)?;
        let socket = Socket::bind(address, mode)?;
        let shared = Shared {
            name,
            ready: RwLock::new(Arc::new(ready)),
            counters: Arc::default(),
            crowd: Crowd::default(),
            phase: watch::Sender::new(Phase::Open),
            refused: watch::Sender::new(None),
            sampled: Arc::default(),
        };
        Ok(Self {
            address: socket.address(address)?,
            socket,
            shared: Arc::new(shared),
        })
    }

    /// Where it listens; the real port where 0 was asked for.
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// What others hold to look at the listener and to change it while it serves.
    pub fn handle(&self) -> Handle {
        Handle {
            shared: self.shared.clone(),
        }
    }

    /// Serves each connection with a service of its own until `shutdown` is done; then takes connections for the pause, closes the
    /// socket, finishes requests in flight for at most the drain timeout, and cuts off the rest.
    pub async fn serve<F: Serves>(self, service: F, shutdown: impl Future<Output = ()>) -> Drained {
        let Self { socket, shared, .. } = self;
        let service = Arc::new(service);
        let leaving = async {
            shutdown.await;
            sleep(shared.ready().settings.pause).await;
        };
        tokio::select! {
            () = leaving => {}
            () = accept::accept(&socket, &shared, &service) => {}
            () = renew_certificate(&shared) => {}
        }
        drop(socket);
        shared.phase.send_replace(Phase::Draining);
        let ends = Instant::now() + shared.ready().settings.drain;
        let _ = timeout_at(ends, shared.counters.empty()).await;
        let Load {
            connections,
            in_flight,
        } = shared.counters.load();
        shared.phase.send_replace(Phase::Closed);
        Drained {
            cut_off: in_flight,
            connections,
            left: ends.saturating_duration_since(Instant::now()),
        }
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener")
            .field("name", &self.shared.name)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// Reads the certificate again whenever its files have changed. One that cannot be used changes nothing.
async fn renew_certificate(shared: &Shared) {
    let mut refused = None;
    loop {
        let ready = shared.ready();
        sleep(ready.settings.certificate_poll).await;
        // The settings may have changed meanwhile.
        let ready = shared.ready();
        let (Some(files), Some(used)) = (&ready.settings.tls, &ready.tls) else {
            continue;
        };
        let found = files.stamp();
        if found == used.stamp || refused.as_ref() == Some(&found) {
            continue;
        }
        let port = shared.name;
        match tls::secure(files, ready.settings.http2) {
            Ok(certificate) => {
                shared.take(ready.with_certificate(certificate));
                shared.certificate_is_used();
                tracing::info!(port, "the certificate was read again");
            }
            Err(error) => {
                tracing::error!(port, %error, "the new certificate is not used, the old one stays");
                shared.refused.send_replace(Some(error.to_string()));
                refused = Some(found);
            }
        }
    }
}

/// Looks at a listener and changes it while it serves.
#[derive(Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Handle {
    /// What is going on.
    pub fn load(&self) -> Load {
        self.shared.counters.load()
    }

    /// Takes other settings, for connections that come from now on. Certificates are read again.
    pub fn reload(&self, settings: Settings) -> Result<()> {
        self.shared.take(Ready::new(settings)?);
        self.shared.certificate_is_used();
        Ok(())
    }

    /// Where the listener is in its life.
    pub fn phase(&self) -> watch::Receiver<Phase> {
        self.shared.phase.subscribe()
    }

    /// When the certificate in use ends, in Unix time; `None` without one, or if it does not say so.
    pub fn certificate_expiry(&self) -> Option<i64> {
        self.shared.ready().tls.as_ref()?.expires
    }

    /// Why the newest files of the certificate are not used; `None` if they are.
    pub fn refused_certificate(&self) -> watch::Receiver<Option<String>> {
        self.shared.refused.subscribe()
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle")
            .field("name", &self.shared.name)
            .field("load", &self.load())
            .finish_non_exhaustive()
    }
}
