//! Whether the process can do its work: the store's word, and the word of every door.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use semel_core::record::Claim;
use semel_core::store::{RenewRequest, StoreExt};
use semel_core::{Fence, Identity, LeaseTerm, Store};
use serde::Serialize;
use tokio::time::timeout;
use utoipa::ToSchema;

/// How long the store may take to show that it reads and writes.
const STORE_TIMEOUT: Duration = Duration::from_secs(2);

type Parts = Mutex<BTreeMap<&'static str, Said>>;

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

    /// Asks the store and every part.
    pub(crate) async fn readiness(&self, store: &dyn Store) -> Readiness {
        let said = probe(store)
            .await
            .map_or_else(Said::NotReady, |()| Said::Ready);
        let mut parts = vec![PartReadiness::of("store", said)];
        let doors = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parts.extend(
            doors
                .iter()
                .map(|(name, said)| PartReadiness::of(name, said.clone())),
        );
        Readiness {
            ready: parts.iter().all(|part| part.ready),
            parts,
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
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.insert(self.name, said);
    }
}

/// Whether the process can do its work.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Readiness {
    /// Whether all parts can.
    pub(crate) ready: bool,
    /// The store and every door.
    pub(crate) parts: Vec<PartReadiness>,
}

/// Whether one part can do its work.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PartReadiness {
    /// Its name.
    pub(crate) name: &'static str,
    /// Whether it can.
    pub(crate) ready: bool,
    /// Why not, or what there is to know although it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<Cow<'static, str>>,
}

impl PartReadiness {
    fn of(name: &'static str, said: Said) -> Self {
        let (ready, why) = match said {
            Said::Ready => (true, None),
            Said::ReadyBut(what) => (true, Some(what)),
            Said::NotReady(why) => (false, Some(why)),
        };
        Self { name, ready, why }
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
