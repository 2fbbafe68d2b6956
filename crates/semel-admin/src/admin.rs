//! The server: binds, serves by means of `semel-listen`, and asks the store whether it is well.

use std::sync::Arc;

use hyper_util::service::TowerToHyperService;
use semel_core::{Clock, Error, Kind, Result, SystemClock};
use semel_http::{Memory, Quotas};
use semel_listen::{Address, Listener, counted};
use tokio::sync::watch;

use crate::alerts::{self, Board};
use crate::config::Config;
use crate::configuration::Configuration;
use crate::current::Current;
use crate::dashboard::Dashboard;
use crate::gate::Gate;
use crate::health::{Health, Probe};
use crate::inbox::InboxPart;
use crate::metered::Metered;
use crate::metrics::Metrics;
use crate::reconcile::Reconciling;
use crate::router::{self, App, Shared};
use crate::tokens::Tokens;
use crate::view;

/// What is observed by doors that only watch.
pub type Observations = Arc<dyn Fn() -> view::Observed + Send + Sync>;

/// What the admin side speaks about.
#[derive(Clone)]
pub struct Parts {
    /// The store, measured.
    pub store: Metered,
    /// What the doors of the process say about themselves.
    pub health: Health,
    /// The clock that the store judges by; ages are counted from it.
    pub clock: Arc<dyn Clock>,
    /// What doors in observe mode have seen; `None` if there is no such door.
    pub observations: Option<Observations>,
    /// The store's inbox; `None` if it has none.
    pub inbox: Option<InboxPart>,
    /// What the process runs with, in words; a reload replaces it.
    pub configuration: Current<Configuration>,
    /// Which alerts are judged, how they stand, and who hears of them.
    pub alerts: Board,
    /// Whom to ask about unknown outcomes on demand.
    pub reconciling: Reconciling,
    /// The budget of bytes that bodies hold, which other doors of the process share.
    pub memory: Memory,
    /// What each tenant may bring, which other doors of the process share.
    pub quotas: Quotas,
}

impl Parts {
    /// A store on the machine's clock, no doors and no inbox.
    pub fn new(store: Metered) -> Self {
        Self {
            store,
            health: Health::default(),
            clock: Arc::new(SystemClock::new()),
            observations: None,
            inbox: None,
            configuration: Current::default(),
            alerts: Board::default(),
            reconciling: Reconciling::default(),
            memory: Memory::default(),
            quotas: Quotas::default(),
        }
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts")
            .field("store", &self.store)
            .field("health", &self.health)
            .finish_non_exhaustive()
    }
}

/// The admin side, bound to its address.
///
/// ```
/// use std::sync::Arc;
/// use semel_admin::{Admin, Config, Metered, Metrics, Parts};
/// use semel_core::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store = Metered::new(Arc::new(MemoryStore::new()), Arc::new(Metrics::new()));
/// let config = Config { listen: "127.0.0.1:0".parse()?, ..Config::default() };
/// let admin = Admin::bind(&config, Parts::new(store)).await?;
/// assert!(admin.address().is_local());
/// admin.serve(std::future::ready(())).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Admin {
    listener: Listener,
    app: Shared,
    probe: Probe,
    /// Says that the process stops, to those who would not end by themselves.
    stop: watch::Sender<bool>,
    handle: Handle,
}

/// Looks at the admin side and changes it while it serves.
#[derive(Debug, Clone)]
pub struct Handle {
    listen: Address,
    tokens: Current<Tokens>,
    metrics: Arc<Metrics>,
    listener: semel_listen::Handle,
}

impl Handle {
    /// Takes other tokens, from the next request on; refuses what [`Handle::check_tokens`] refuses.
    pub fn set_tokens(&self, tokens: Tokens) -> Result<()> {
        self.check_tokens(&tokens)?;
        self.metrics.set_tokens(&tokens);
        self.tokens.set(tokens);
        Ok(())
    }

    /// Refuses to be reachable from other machines without a token.
    pub fn check_tokens(&self, tokens: &Tokens) -> Result<()> {
        let config = Config {
            listen: self.listen.clone(),
            tokens: tokens.clone(),
            ..Config::default()
        };
        config.check()
    }

    /// The listener, for its certificate and its load.
    pub const fn listener(&self) -> &semel_listen::Handle {
        &self.listener
    }
}

impl Admin {
    /// Binds the address; refuses one that other machines can reach if there is no token.
    pub async fn bind(config: &Config, parts: Parts) -> Result<Self> {
        config.check()?;
        let listener =
            Listener::bind("admin", &config.listen, config.settings()).map_err(|error| {
                let kind = match error.is_retryable() {
                    true => Kind::Unavailable,
                    false => Kind::Invalid,
                };
                let message = format!("the admin side cannot listen on {}", config.listen);
                Error::new(kind, message).caused_by(error)
            })?;
        let tokens = Current::new(config.tokens.clone());
        let (probe, probed) = Probe::new(&parts.store, config.probe_every);
        let handle = Handle {
            listen: config.listen.clone(),
            tokens: tokens.clone(),
            metrics: parts.store.metrics().clone(),
            listener: listener.handle(),
        };
        let gate = Gate::new(tokens, parts.clock.clone());
        parts.store.metrics().set_tokens(&config.tokens);
        let (stop, stopping) = watch::channel(false);
        let dashboard =
            Dashboard::new(gate.clone(), config.dashboard(listener.address()), stopping)?;
        let app = Arc::new(App::new(parts, probed, gate, dashboard));
        Ok(Self {
            app,
            listener,
            probe,
            stop,
            handle,
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> &Address {
        self.listener.address()
    }

    /// What others hold to look at it and to change it while it serves.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Serves until `shutdown` is done; then lets requests that have begun finish, for a while.
    pub async fn serve(self, shutdown: impl Future<Output = ()> + Send) {
        let Self {
            listener,
            app,
            probe,
            stop,
            ..
        } = self;
        let shutdown = async move {
            shutdown.await;
            stop.send_replace(true);
        };
        let router = router::router(app.clone());
        let service = move |peer: Arc<semel_listen::Peer>| {
            counted(&peer, TowerToHyperService::new(router.clone()))
        };
        let drained = tokio::select! {
            drained = listener.serve(service, shutdown) => drained,
            never = probe.run() => match never {},
            never = app.dashboard.keep_history(&app.parts) => match never {},
            never = alerts::task::run(app.parts.clone()) => match never {},
        };
        if drained.connections > 0 {
            let left = drained.connections;
            tracing::warn!(target: "semel::admin", left, "cut connections off");
        }
    }
}
