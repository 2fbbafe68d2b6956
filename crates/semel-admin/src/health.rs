//! Whether the process can do its work: the store's word, and the word of every door. `beside` is what operators should know and what leaves the
//! process ready unless its settings say otherwise: the sweep, the sources of messages and the services behind the gateway.
//!
//! The store is asked on a timer, and readiness is answered from memory: it is asked for without a token, and asking the store takes
//! its way of a write.

mod beside;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use semel_core::record::Claim;
use semel_core::store::{RenewRequest, StoreExt};
use semel_core::{Fence, Identity, LeaseTerm, Store};
use serde::Serialize;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use utoipa::ToSchema;

pub use beside::{Beside, Upstream};

use crate::metered::Metered;
use crate::metrics::Metrics;

/// How long the store may take to show that it reads and writes.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

/// What the parts said last.
#[derive(Debug, Default)]
struct Parts {
    doors: Mutex<BTreeMap<&'static str, Said>>,
    beside: beside::Looks,
}

/// What a part says about itself.
#[derive(Debug, Clone)]
enum Said {
    Ready,
    ReadyBut(Cow<'static, str>),
    NotReady(Cow<'static, str>),
}

/// What the parts of a process say about themselves. Clones share it.
///
/// ```
/// let health = semel_admin::Health::default();
/// let gateway = health.part("gateway");
/// gateway.not_ready("draining");
/// gateway.ready();
/// ```
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<Parts>);

/// One part of a process, by name.
#[derive(Debug, Clone)]
pub struct Part {
    name: &'static str,
    parts: Arc<Parts>,
}

impl Health {
    /// Adds a part, which is ready until it says otherwise. Its name is told to everybody.
    pub fn part(&self, name: &'static str) -> Part {
        let part = Part {
            name,
            parts: self.0.clone(),
        };
        part.ready();
        part
    }

    /// What the store said last, and what every part says. Before the store was asked for the first time, waits for that.
    pub(crate) async fn readiness(&self, probed: &Probed, names: Names) -> Readiness {
        let mut parts = vec![probed.store().await];
        let doors = self.0.doors.lock();
        let doors = doors.unwrap_or_else(PoisonError::into_inner);
        parts.extend(
            doors
                .iter()
                .map(|(name, said)| PartReadiness::of(*name, said.clone())),
        );
        drop(doors);
        let (beside, upstreams) = self.0.beside.look(Instant::now(), names);
        parts.extend(beside);
        let ready = |part: &PartReadiness| part.ready || !part.counts;
        Readiness {
            ready: parts.iter().chain(&upstreams).all(ready),
            parts,
            upstreams,
        }
    }
}

impl Part {
    /// It can do its work.
    pub fn ready(&self) {
        self.set(Said::Ready);
    }

    /// It can do its work, but there is something to know; a few words without secrets, as of [`Part::not_ready`].
    pub fn ready_but(&self, what: impl Into<Cow<'static, str>>) {
        self.set(Said::ReadyBut(what.into()));
    }

    /// It cannot, and this is why; a few words without secrets, because everybody may read them.
    pub fn not_ready(&self, why: impl Into<Cow<'static, str>>) {
        self.set(Said::NotReady(why.into()));
    }

    fn set(&self, said: Said) {
        let mut parts = self
            .parts
            .doors
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        parts.insert(self.name, said);
    }
}

/// Asks the store, again and again.
pub(crate) struct Probe {
    store: Arc<dyn Store>,
    metrics: Arc<Metrics>,
    every: Duration,
    tell: watch::Sender<Option<(Said, Instant)>>,
}

/// Whether sources and services are called by their names, which tell consumers and internal hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// To those who may look at everything.
    Shown,
    /// They are numbered.
    Hidden,
}

/// What the store said last, and when.
#[derive(Debug, Clone)]
pub(crate) struct Probed {
    last: watch::Receiver<Option<(Said, Instant)>>,
    /// An answer that is older than this is none: the store can no longer be asked.
    stale: Duration,
}

impl Probe {
    /// Asks `store` every so often, once it runs.
    pub(crate) fn new(store: &Metered, every: Duration) -> (Self, Probed) {
        let (tell, last) = watch::channel(None);
        let stale = (every + STORE_TIMEOUT) * 3;
        let probe = Self {
            store: store.inner().clone(),
            metrics: store.metrics().clone(),
            every,
            tell,
        };
        (probe, Probed { last, stale })
    }

    /// Asks for ever.
    pub(crate) async fn run(self) -> Infallible {
        loop {
            let said = probe(&*self.store)
                .await
                .map_or_else(Said::NotReady, |()| Said::Ready);
            self.metrics.store_is_up(matches!(said, Said::Ready));
            self.tell.send_replace(Some((said, Instant::now())));
            sleep(self.every).await;
        }
    }
}

impl std::fmt::Debug for Probe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probe")
            .field("every", &self.every)
            .finish_non_exhaustive()
    }
}

impl Probed {
    /// Waits until the store was asked for the first time.
    pub(crate) async fn begun(&self) {
        // It fails only if nothing asks the store any more.
        let _ = self.last.clone().wait_for(Option::is_some).await;
    }

    async fn store(&self) -> PartReadiness {
        self.begun().await;
        let last = self.last.borrow().clone();
        let Some((said, at)) = last else {
            let why = Cow::Borrowed("the store is not asked any more");
            return PartReadiness::of("store", Said::NotReady(why));
        };
        let age = at.elapsed();
        let said = match age > self.stale {
            true => Said::NotReady(Cow::Borrowed("the store was not asked for too long")),
            false => said,
        };
        let mut part = PartReadiness::of("store", said);
        part.age_ms = Some(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
        part
    }
}

/// Whether the process can do its work.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Readiness {
    /// Whether all parts can.
    pub(crate) ready: bool,
    /// The store, every door, the sweep and every source. Where there are tokens, sources are numbered for callers without one.
    pub(crate) parts: Vec<PartReadiness>,
    /// The services behind the gateway, as the last connections to them went. They are numbered as sources are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) upstreams: Vec<PartReadiness>,
}

/// Whether one part can do its work.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PartReadiness {
    /// Its name.
    #[schema(value_type = String)]
    pub(crate) name: Cow<'static, str>,
    /// Whether it can.
    pub(crate) ready: bool,
    /// Why not, or what there is to know although it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<Cow<'static, str>>,
    /// How long ago it was asked, if it is asked on a timer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) age_ms: Option<u64>,
    /// False if the process is ready without it.
    #[serde(skip_serializing_if = "is_usual")]
    pub(crate) counts: bool,
}

/// Most parts count, and then it is not said.
fn is_usual(counts: &bool) -> bool {
    *counts
}

impl PartReadiness {
    fn of(name: impl Into<Cow<'static, str>>, said: Said) -> Self {
        let (ready, why) = match said {
            Said::Ready => (true, None),
            Said::ReadyBut(what) => (true, Some(what)),
            Said::NotReady(why) => (false, Some(why)),
        };
        Self {
            name: name.into(),
            ready,
            why,
            age_ms: None,
            counts: true,
        }
    }
}

/// Whether the store reads and writes. The kind of an error is told to everybody, its text, which
/// may name files, only to the log.
async fn probe(store: &dyn Store) -> Result<(), Cow<'static, str>> {
    let away = match timeout(STORE_TIMEOUT, read_and_write(store)).await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => {
            tracing::warn!(target: "semel::admin", error = %error, "the store is not ready");
            Cow::Borrowed(error.kind().name())
        }
        Err(_) => {
            let waited = STORE_TIMEOUT.as_millis();
            Cow::Owned(format!("no answer within {waited} ms"))
        }
    };
    Err(away)
}

/// Looks a record up, and renews a lease that nobody has: that takes the way of a write and
/// changes nothing.
async fn read_and_write(store: &dyn Store) -> semel_core::Result<()> {
    let identity = Identity::parse("semel", "readyz@1", "probe")?;
    store.look_up_one(identity.clone()).await?;
    // Fences begin with 1, so this is nobody's claim.
    let fence = Fence::new(0);
    let renew = RenewRequest {
        claim: Claim { identity, fence },
        lease: LeaseTerm::default(),
    };
    store.renew_one(renew).await.map(drop)
}
