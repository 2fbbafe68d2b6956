//! Everything that a gateway is told. Files and flags are read elsewhere.

mod limits;
mod route;
mod upstream;

pub use limits::{Limits, Timeouts};
pub use route::Route;
pub use upstream::{Host, Upstream};

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use semel_listen::{AccessLog, Address, Settings, Tls};

use semel_core::Tracer;
use semel_http::outcomes::Place;
use semel_http::{Memory, Quotas, policy};

/// Where a gateway listens unless it is told otherwise.
pub const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7070);

/// What a gateway does.
///
/// ```
/// use semel_gateway::{Config, Upstream};
///
/// let mut config = Config::new(Upstream::new("http://127.0.0.1:8080".parse()?));
/// config.listen = "127.0.0.1:0".parse()?;
/// config.limits.in_flight_max = 1_000;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Config {
    /// Where it listens. Cannot change while it runs.
    pub listen: Address,
    /// With which certificate; without one it speaks plain HTTP.
    pub tls: Option<Tls>,
    /// Which requests are logged.
    pub access_log: AccessLog,
    /// Where requests go.
    pub upstream: Upstream,
    /// What is guarded. Without any route, every POST and PATCH that carries a key: see [`Route::catch_all`].
    pub routes: Vec<Route>,
    /// How much is accepted.
    pub limits: Limits,
    /// The budget of bytes that bodies hold, which other doors of the process share. Cannot change while it runs.
    pub memory: Memory,
    /// What begins the spans of requests; off by default.
    pub tracer: Tracer,
    /// What each tenant may bring, which other doors of the process share. Cannot change while it runs; its terms can.
    pub quotas: Quotas,
    /// How long each phase may take.
    pub timeouts: Timeouts,
    /// Where callers fetch outcomes by key, which a 202 says in `Location`; `None`: nowhere.
    pub outcomes: Option<Place>,
    /// Whether `X-Forwarded-*` and `Forwarded` of the client are believed and added to. Only for a
    /// gateway that nobody but another proxy can reach; otherwise they are replaced.
    pub trust_forwarded: bool,
    /// Where the gateway itself answers with its idempotency policy; `None`: nowhere. A route that has the path wins.
    pub policy_page: Option<String>,
}

impl Config {
    /// The default configuration in front of `upstream`: plain HTTP on [`LISTEN`].
    pub fn new(upstream: Upstream) -> Self {
        Self {
            listen: LISTEN.into(),
            tls: None,
            access_log: AccessLog::Off,
            upstream,
            routes: Vec::new(),
            limits: Limits::default(),
            memory: Memory::default(),
            tracer: Tracer::off(),
            quotas: Quotas::default(),
            timeouts: Timeouts::default(),
            outcomes: Some(Place::default()),
            trust_forwarded: false,
            policy_page: Some(policy::PAGE.to_owned()),
        }
    }

    /// The listener's settings.
    pub(crate) fn settings(&self) -> Settings {
        let Self {
            limits, timeouts, ..
        } = self;
        Settings {
            connections_max: limits.connections_max,
            streams_max: limits.streams_max,
            header_bytes_max: limits.header_bytes_max,
            headers_max: limits.headers_max,
            header: timeouts.header,
            idle: timeouts.idle,
            stall: timeouts.body_idle,
            pause: timeouts.drain_pause,
            drain: timeouts.drain,
            tls: self.tls.clone(),
            access_log: self.access_log,
            ..Settings::default()
        }
    }
}
