//! The gateway itself: listens, serves, drains, takes new configurations.
//!
//! - `snapshot` is a configuration made ready; every request uses one from its beginning to its end.
//! - `accept` takes connections; `connection` serves one; `heads` watches its bytes; `load` counts.

mod accept;
mod connection;
mod heads;
mod load;
mod snapshot;
mod tls;

pub(crate) use connection::Client;
pub(crate) use load::InFlight;
pub use load::Load;
pub(crate) use snapshot::Snapshot;

use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use semel_core::Once;
use semel_http::RequestObserver;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::budget::Budgets;
use crate::config::Config;
use crate::error::{Error, Kind, Result};
use load::Counters;

/// Where a gateway is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// It serves.
    Open,
    /// It takes nothing new and finishes what it has.
    Draining,
    /// Whatever is left is cut off.
    Closed,
}

/// What all parts of a gateway share.
#[derive(Debug)]
pub(crate) struct Shared {
    // A plain lock: it is held for the clone of one pointer, and never across an await.
    snapshot: RwLock<Arc<Snapshot>>,
    counters: Arc<Counters>,
    pub(crate) budgets: Budgets,
    phase: watch::Sender<Phase>,
    once: Once,
    watch: Arc<dyn RequestObserver>,
}

impl Shared {
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let snapshot = self.snapshot.read().unwrap_or_else(PoisonError::into_inner);
        snapshot.clone()
    }

    pub(crate) fn phase(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }
}

/// A reverse proxy that listens.
///
/// ```no_run
/// use std::sync::Arc;
/// use semel_core::{MemoryStore, Once};
/// use semel_gateway::{Config, Gateway, Upstream};
/// use semel_http::event::Nobody;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let config = Config::new(Upstream::new("http://127.0.0.1:8080".parse()?));
/// let once = Once::new(MemoryStore::new());
/// let gateway = Gateway::bind(config, once, Arc::new(Nobody))?;
/// println!("listening on {}", gateway.local_addr());
/// let stop = async { /* a signal, for example */ };
/// gateway.serve(stop).await;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Gateway {
    listener: TcpListener,
    local: SocketAddr,
    shared: Arc<Shared>,
}

/// How a drain ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// How many requests had not finished when the drain timeout ended, and were cut off.
    pub cut_off: usize,
    /// How many runs had no outcome on record by then, those that were cut off included. They become unknown when
    /// their leases end.
    pub not_recorded: usize,
}

impl Gateway {
    /// Checks `config` and listens. Guarded requests are recorded by `once`, and `watch` sees each of
    /// them. Must be called inside a Tokio runtime.
    pub fn bind(config: Config, once: Once, watch: Arc<dyn RequestObserver>) -> Result<Self> {
        let budgets = Budgets::new(&config.limits, config.memory.clone());
        let snapshot = Snapshot::new(&config, &once, &watch, &budgets)?;
        let listener = accept::listen(config.listen)?;
        let local = listener.local_addr().map_err(|error| {
            Error::new(Kind::Listen, "the listening socket has no address").caused_by(error)
        })?;
        let shared = Shared {
            snapshot: RwLock::new(Arc::new(snapshot)),
            counters: Arc::default(),
            budgets,
            phase: watch::Sender::new(Phase::Open),
            once,
            watch,
        };
        Ok(Self {
            listener,
            local,
            shared: Arc::new(shared),
        })
    }

    /// Where it listens; the real port where the configuration says 0.
    pub const fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// What others hold to look at the gateway and to change it while it serves.
    pub fn handle(&self) -> Handle {
        Handle {
            shared: self.shared.clone(),
        }
    }

    /// Serves until `shutdown` is done; then takes no more connections, finishes requests in flight
    /// for at most the drain timeout, and cuts off the rest.
    ///
    /// Runs that are cut off do not lie: their leases end, and their outcomes become unknown.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> Drained {
        tracing::info!(listen = %self.local, "the gateway serves");
        tokio::select! {
            () = shutdown => {}
            () = accept::accept(&self.listener, &self.shared) => {}
        }
        // Closed at once, so that whoever balances load sends new connections elsewhere.
        drop(self.listener);
        let shared = self.shared;
        shared.phase.send_replace(Phase::Draining);
        let limit = shared.snapshot().timeouts.drain;
        let ends = tokio::time::Instant::now() + limit;
        let is_empty = |load: Load| load.connections == 0 && load.in_flight == 0;
        let drained = shared.counters.wait_until(is_empty);
        let in_time = tokio::time::timeout_at(ends, drained).await.is_ok();
        let cut_off = shared.counters.load().in_flight;
        shared.phase.send_replace(Phase::Closed);
        // Every client has its answer, but an outcome may still be on its way to a store that was away.
        let left = ends.saturating_duration_since(tokio::time::Instant::now());
        let not_recorded = shared.once.drain(left).await;
        if in_time && not_recorded == 0 {
            tracing::info!("the gateway has drained");
        } else {
            tracing::warn!(
                cut_off,
                not_recorded,
                ?limit,
                "the gateway was not drained in time"
            );
        }
        Drained {
            cut_off,
            not_recorded,
        }
    }
}

/// Looks at a gateway and changes it while it serves.
#[derive(Debug, Clone)]
pub struct Handle {
    shared: Arc<Shared>,
}

impl Handle {
    /// Takes another configuration. Requests in flight keep the old one; on an error everybody does.
    /// Certificates are read again. Connections that are open keep the certificate, the limits of heads
    /// and streams and the idle timeouts that they began with. The address cannot change.
    pub fn reload(&self, config: &Config) -> Result<()> {
        let current = self.shared.snapshot();
        if config.listen != current.listen {
            let (old, new) = (current.listen, config.listen);
            return Err(Error::new(
                Kind::Fixed,
                format!("the gateway listens on {old} and can move to {new} only by a restart"),
            ));
        }
        let Shared {
            once,
            watch,
            budgets,
            ..
        } = &*self.shared;
        let snapshot = Snapshot::new(config, once, watch, budgets)?;
        budgets.apply(&config.limits);
        let mut place = self
            .shared
            .snapshot
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *place = Arc::new(snapshot);
        drop(place);
        tracing::info!("the gateway has a new configuration");
        Ok(())
    }

    /// What requests of each kind use, and may use, at once.
    pub fn budgets(&self) -> &Budgets {
        &self.shared.budgets
    }

    /// What is going on.
    pub fn load(&self) -> Load {
        self.shared.counters.load()
    }
}
