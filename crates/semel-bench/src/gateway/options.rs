//! What to measure, for how long, and which commands start what takes part.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use semel_core::{Error, Result};

use crate::progress::{Progress, Silent};
use crate::store::OpenStore;

/// Beyond these a run tells nothing more.
const ROUNDS_MAX: usize = 100;
/// Ports and open files are limits of the machine, not of what is measured.
const CONNECTIONS_MAX: usize = 1000;

/// A program and its arguments.
pub type CommandLine = Vec<OsString>;
/// Says which command starts a gateway.
pub type GatewayCommand = Box<dyn Fn(&Places) -> CommandLine + Send + Sync>;
/// Says which command starts one of our own processes beside it.
pub type PeerCommand = Box<dyn Fn(Peer) -> CommandLine + Send + Sync>;

/// Where a gateway finds what it needs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Places {
    /// Where it must listen.
    pub listen: SocketAddr,
    /// Where its admin side may listen.
    pub admin: SocketAddr,
    /// The service behind it.
    pub upstream: SocketAddr,
    /// An empty directory on the disk that counts, for its store.
    pub dir: PathBuf,
    /// Where it sends its spans; nowhere unless said.
    pub traces: Option<Traces>,
}

/// Which spans a gateway sends, and where to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traces {
    /// What takes them, over OTLP/HTTP.
    pub collector: SocketAddr,
    /// The share of traces that is recorded.
    pub share: f64,
}

/// A process of ours that takes part. Whoever starts them must know them all.
#[derive(Debug, Clone, Copy)]
pub enum Peer {
    /// Runs [`upstream::serve`](super::upstream::serve).
    Upstream {
        /// Where it must listen.
        listen: SocketAddr,
    },
    /// Runs [`hyper_proxy::serve`](super::hyper_proxy::serve).
    HyperProxy {
        /// Where it must listen.
        listen: SocketAddr,
        /// The service behind it.
        upstream: SocketAddr,
    },
}

/// Records that the gateway's store holds before.
pub struct Prefill {
    /// Opens a store in the directory where the gateway will open its own.
    pub open: OpenStore,
    /// How many.
    pub records: u64,
}

/// What to measure, and for how long.
#[non_exhaustive]
pub struct GatewayOptions {
    /// Starts the gateway to be measured.
    pub gateway: GatewayCommand,
    /// Starts what else takes part.
    pub peer: PeerCommand,
    /// Where files are kept, which are removed afterwards. It must be on the disk that counts.
    pub dir: PathBuf,
    /// How many connections there are at once, each with one request in flight.
    pub connections: usize,
    /// How many rounds; three at least make a range.
    pub rounds: usize,
    /// How long each turn of a round lasts.
    pub turn: Duration,
    /// What the gateway's store holds before; nothing unless said.
    pub prefill: Option<Prefill>,
    /// Who is told how far it is.
    pub progress: Box<dyn Progress>,
}

impl GatewayOptions {
    /// The usual run: 64 connections, three rounds, five seconds a turn.
    pub fn new(dir: impl Into<PathBuf>, gateway: GatewayCommand, peer: PeerCommand) -> Self {
        Self {
            gateway,
            peer,
            dir: dir.into(),
            connections: 64,
            rounds: 3,
            turn: Duration::from_secs(5),
            prefill: None,
            progress: Box::new(Silent),
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        for (what, found, max) in [
            ("rounds", self.rounds, ROUNDS_MAX),
            ("connections", self.connections, CONNECTIONS_MAX),
        ] {
            if !(1..=max).contains(&found) {
                let message = format!("{what} must be 1 to {max}, found {found}");
                return Err(Error::invalid(message));
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for Prefill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prefill")
            .field("records", &self.records)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for GatewayOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GatewayOptions")
            .field("dir", &self.dir)
            .field("connections", &self.connections)
            .field("rounds", &self.rounds)
            .field("turn", &self.turn)
            .field("prefill", &self.prefill)
            .finish_non_exhaustive()
    }
}
