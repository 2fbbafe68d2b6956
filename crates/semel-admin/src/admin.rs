//! The server: binds, accepts, and ends gracefully.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use semel_core::{Clock, Error, Kind, Result, SystemClock};
use semel_http::Memory;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::config::Config;
use crate::current::Current;
use crate::gate::Gate;
use crate::health::Health;
use crate::inbox::InboxPart;
use crate::metered::Metered;
use crate::router;
use crate::secret::Secret;

/// The most connections at once; the next ones wait to be accepted.
pub const CONNECTIONS_MAX: usize = 256;
/// How long a request's head may take, and how long a connection may idle between requests.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a connection may live: nobody holds one for ever by reading slowly.
const CONNECTION_LIFE: Duration = Duration::from_secs(600);
/// How long requests may go on once the end has come.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of a request's head.
const HEAD_BYTES_MAX: usize = 32 * 1024;
/// How long to wait before accepting again after the system refused to.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What is observed by doors that only watch, as JSON.
pub type Observations = Arc<dyn Fn() -> serde_json::Value + Send + Sync>;

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
    /// The budget of bytes that bodies hold, which other doors of the process share.
    pub memory: Memory,
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
            memory: Memory::default(),
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
/// # async fn main() -> semel_core::Result<()> {
/// let store = Metered::new(Arc::new(MemoryStore::new()), Arc::new(Metrics::new()));
/// let config = Config { listen: ([127, 0, 0, 1], 0).into(), token: None };
/// let admin = Admin::bind(&config, Parts::new(store)).await?;
/// assert!(admin.local_addr().ip().is_loopback());
/// admin.serve(std::future::ready(())).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Admin {
    listener: TcpListener,
    address: SocketAddr,
    router: Router,
    handle: Handle,
}

/// Changes the admin side while it serves.
#[derive(Debug, Clone)]
pub struct Handle {
    listen: SocketAddr,
    token: Current<Option<Secret>>,
}

impl Handle {
    /// Takes another token, from the next request on; refuses what [`Handle::check_token`] refuses.
    pub fn set_token(&self, token: Option<Secret>) -> Result<()> {
        self.check_token(token.as_ref())?;
        self.token.set(token);
        Ok(())
    }

    /// Refuses to be reachable from other machines without a token.
    pub fn check_token(&self, token: Option<&Secret>) -> Result<()> {
        let config = Config {
            listen: self.listen,
            token: token.cloned(),
        };
        config.check()
    }
}

impl Admin {
    /// Binds the address; refuses one that other machines can reach if there is no token.
    pub async fn bind(config: &Config, parts: Parts) -> Result<Self> {
        config.check()?;
        let failed = |error| {
            let message = format!("the admin side cannot listen on {}", config.listen);
            Error::new(Kind::Unavailable, message).caused_by(error)
        };
        let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let token = Current::new(config.token.clone());
        let router = router::router(parts, Gate::new(token.clone()));
        let listen = config.listen;
        Ok(Self {
            listener,
            address,
            router,
            handle: Handle { listen, token },
        })
    }

    /// Where it listens.
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Changes it while it serves.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Serves until `shutdown` is done; then lets requests that have begun finish, for a while.
    pub async fn serve(self, shutdown: impl Future<Output = ()> + Send) {
        let (stop, stopping) = watch::channel(false);
        let mut connections = JoinSet::new();
        let mut shutdown = pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = self.listener.accept(), if connections.len() < CONNECTIONS_MAX => {
                    match accepted {
                        Ok((stream, _)) => {
                            let served = serve_connection(stream, self.router.clone(), stopping.clone());
                            connections.spawn(served);
                        }
                        Err(error) => {
                            tracing::warn!(target: "semel::admin", %error, "cannot accept a connection");
                            sleep(ACCEPT_PAUSE).await;
                        }
                    }
                }
            }
        }
        drop(self.listener);
        // Nobody listens only if no connection is left.
        let _ = stop.send(true);
        let drained = timeout(DRAIN_TIMEOUT, async {
            while connections.join_next().await.is_some() {}
        });
        if drained.await.is_err() {
            tracing::warn!(target: "semel::admin", left = connections.len(), "cut connections off");
        }
    }
}

/// Serves one connection until it ends, is too old, or the server stops.
async fn serve_connection(stream: TcpStream, router: Router, mut stopping: watch::Receiver<bool>) {
    // Without this, small answers wait for the client's acknowledgement of the one before.
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(router);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_header_size(HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    tokio::select! {
        // A client that breaks off is no news.
        _ = connection.as_mut() => return,
        _ = stopping.wait_for(|stop| *stop) => {}
        () = sleep(CONNECTION_LIFE) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(DRAIN_TIMEOUT, connection).await;
}
