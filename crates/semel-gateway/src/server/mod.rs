//! The gateway itself: serves what the listener brings, drains, takes new configurations.
//!
//! `snapshot` is a configuration made ready; every request uses one from its beginning to its end. Connections are the business of
//! `semel-listen`.

mod snapshot;

pub(crate) use semel_listen::{InFlight, Phase};
pub(crate) use snapshot::Snapshot;

use std::sync::{Arc, PoisonError, RwLock};

use hyper::service::service_fn;
use semel_core::{Once, Record};
use semel_http::RequestObserver;
use semel_listen::{Address, Listener, Load, Peer, Pulse};
use tokio::sync::watch;

use crate::budget::Budgets;
use crate::config::Config;
use crate::error::{Error, Kind, Result};
use crate::forward;
use crate::hygiene::Origin;
use crate::pool;
use crate::reconcilers::{NoReconciler, RouteReconciler};

/// What all parts of a gateway share.
#[derive(Debug)]
pub(crate) struct Shared {
    // A plain lock: it is held for the clone of one pointer, and never across an await.
    snapshot: RwLock<Arc<Snapshot>>,
    listener: semel_listen::Handle,
    pub(crate) budgets: Budgets,
    once: Once,
    watch: Arc<dyn RequestObserver>,
}

impl Shared {
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        let snapshot = self.snapshot.read().unwrap_or_else(PoisonError::into_inner);
        snapshot.clone()
    }

    pub(crate) fn phase(&self) -> watch::Receiver<Phase> {
        self.listener.phase()
    }
}

/// A client's connection, as its requests see it.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) shared: Arc<Shared>,
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) origin: Origin,
}

impl Client {
    fn new(shared: &Arc<Shared>, peer: &Peer) -> Arc<Self> {
        Arc::new(Self {
            shared: shared.clone(),
            pulse: peer.pulse.clone(),
            origin: Origin::new(peer.ip, peer.is_tls),
        })
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
/// println!("listening on {}", gateway.address());
/// let stop = async { /* a signal, for example */ };
/// gateway.serve(stop).await;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Gateway {
    listener: Listener,
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
        let budgets = Budgets::new(&config.limits, config.memory.clone(), config.quotas.clone());
        let snapshot = Snapshot::new(&config, &once, &watch, &budgets)?;
        let listener = Listener::bind("gateway", &config.listen, config.settings())?;
        let shared = Shared {
            snapshot: RwLock::new(Arc::new(snapshot)),
            listener: listener.handle(),
            budgets,
            once,
            watch,
        };
        Ok(Self {
            listener,
            shared: Arc::new(shared),
        })
    }

    /// Where it listens; the real port where the configuration says 0.
    pub const fn address(&self) -> &Address {
        self.listener.address()
    }

    /// What others hold to look at the gateway and to change it while it serves.
    pub fn handle(&self) -> Handle {
        Handle {
            shared: self.shared.clone(),
        }
    }

    /// Serves until `shutdown` is done; then takes connections for the pause of the drain, finishes requests in flight
    /// for at most the drain timeout, and cuts off the rest.
    ///
    /// Runs that are cut off do not lie: their leases end, and their outcomes become unknown.
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> Drained {
        tracing::info!(listen = %self.address(), "the gateway serves");
        let Self { listener, shared } = self;
        let serving = shared.clone();
        let service = move |peer: Arc<Peer>| {
            let client = Client::new(&serving, &peer);
            service_fn(move |request| forward::answer(&client, request))
        };
        let snapshots = shared.clone();
        let drained = tokio::select! {
            drained = listener.serve(service, shutdown) => drained,
            never = pool::watch(move || snapshots.snapshot().upstreams.clone()) => match never {},
        };
        // Every client has its answer, but an outcome may still be on its way to a store that was away.
        let not_recorded = shared.once.drain(drained.left).await;
        let cut_off = drained.cut_off;
        if cut_off == 0 && drained.connections == 0 && not_recorded == 0 {
            tracing::info!("the gateway has drained");
        } else {
            tracing::warn!(
                cut_off,
                not_recorded,
                connections = drained.connections,
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
    /// Takes another configuration. Requests in flight keep the old one; on an error everything does.
    /// Certificates are read again. Connections that are open keep the certificate, the limits of heads
    /// and streams and the idle timeouts that they began with. The address cannot change.
    pub fn reload(&self, config: &Config) -> Result<()> {
        let current = self.shared.snapshot();
        if config.listen != current.listen {
            let (old, new) = (&current.listen, &config.listen);
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
        self.shared.listener.reload(config.settings())?;
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

    /// The services behind the gateway by host and port, and how many connections to each have failed since it was reached
    /// last. As long as some have, the gateway looks every two seconds whether it is back.
    pub fn upstreams(&self) -> Vec<(String, u32)> {
        let snapshot = self.shared.snapshot();
        let upstreams = snapshot.upstreams.iter();
        upstreams
            .map(|pool| (pool.target().authority().to_string(), pool.unreached()))
            .collect()
    }

    /// The reconcile URL that is asked about a record on demand: that of the routes with its scope, as they are now.
    pub fn reconciler(
        &self,
        record: &Record,
    ) -> std::result::Result<RouteReconciler, NoReconciler> {
        self.shared.snapshot().reconcilers.find(record)
    }

    /// What is going on.
    pub fn load(&self) -> Load {
        self.shared.listener.load()
    }

    /// The listener, for its certificate and its load.
    pub fn listener(&self) -> &semel_listen::Handle {
        &self.shared.listener
    }
}
