//! The data keys of tenants: found, made, cached, forgotten.
//!
//! A data key is a settled record of the reserved scope [`SCOPE`] in the store itself, so that it is as durable and as shared as what it seals, on every
//! store, and so that of two processes that make one at the same moment one wins: making it is a claim. The record `1` holds the key wrapped by
//! the key-encryption key of the process that made it; when that is replaced, a record `1:ID` beside it holds the same key wrapped by another one.
//! No record is ever changed, so there is no moment without a key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use bytes::Bytes;
use semel_core::store::{Batch, ClaimAnswer, ClaimRequest, SettleAnswer, SettleRequest, Takeover};
use semel_core::{
    Error, Fingerprint, Identity, Key, Kind, Outcome, Record, Result, Retention, Scope, State,
    Store, StoreExt, Tenant,
};
use tokio::time::{Instant, sleep};

use crate::cipher::{DataKey, KeyId};
use crate::kek::{KEKS_MAX, Kek, random};

/// How long a process believes what it knows of a tenant's key: so long after an erasure it may still read.
pub const KEY_AGE_MAX: Duration = Duration::from_secs(60);
/// The most tenants whose keys are in memory; the oldest look goes first.
pub const TENANTS_MAX: usize = 10_000;
/// The scope of data keys, which only the keyring uses.
pub(crate) const SCOPE: &str = "semel:data-key";
/// The record that says which data key a tenant has.
pub(crate) const PRIMARY: &str = "1";
/// How often a key that another process is making is asked for.
const LOOKS_MAX: usize = 200;
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Finds data keys, and makes them. Cheap to clone; clones share what they know.
#[derive(Debug, Clone)]
pub struct Keyring(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    // Plain locks, held for a look and the clone of a pointer, and never across an await.
    keks: RwLock<Arc<[Kek]>>,
    known: Mutex<HashMap<Tenant, (Found, Instant)>>,
}

/// What is known of a tenant's data key.
#[derive(Debug, Clone)]
pub(crate) enum Found {
    /// It is there.
    Key(Arc<DataKey>),
    /// It is there, wrapped by this key-encryption key, which this process does not have.
    Locked(Arc<str>),
    /// There is none, or no longer.
    Absent,
}

/// A data key as a record holds it.
pub(crate) struct Wrapped {
    pub(crate) id: KeyId,
    pub(crate) kek: String,
    bytes: Bytes,
}

impl Keyring {
    /// The keys in `store`. The first of `keks` wraps, all of them unwrap; with none nothing is sealed, and what is sealed stays closed.
    pub fn new(store: Arc<dyn Store>, keks: Vec<Kek>) -> Result<Self> {
        let ring = Self(Arc::new(Inner {
            store,
            keks: RwLock::new([].into()),
            known: Mutex::default(),
        }));
        ring.set(keks)?;
        Ok(ring)
    }

    /// Takes other key-encryption keys, from the next look on.
    pub fn set(&self, keks: Vec<Kek>) -> Result<()> {
        let twice = (1..keks.len()).find(|at| keks[..*at].iter().any(|k| k.id() == keks[*at].id()));
        if keks.len() > KEKS_MAX || twice.is_some() {
            return Err(Error::invalid(format!(
                "at most {KEKS_MAX} keys, each with an id of its own"
            )));
        }
        *self.0.keks.write().unwrap_or_else(PoisonError::into_inner) = keks.into();
        self.known().clear();
        Ok(())
    }

    /// The key-encryption keys, the one that wraps first.
    pub fn keks(&self) -> Arc<[Kek]> {
        let keks = self.0.keks.read().unwrap_or_else(PoisonError::into_inner);
        keks.clone()
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Tenant, (Found, Instant)>> {
        // Entries are whole after every statement, so a poisoned lock protects nothing.
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key to seal with; `None` if nothing is to be sealed.
    pub(crate) async fn to_seal(&self, tenant: &Tenant) -> Result<Option<Arc<DataKey>>> {
        let keks = self.keks();
        let Some(first) = keks.first() else {
            return Ok(None);
        };
        match self.find(tenant).await? {
            Found::Key(key) => Ok(Some(key)),
            Found::Locked(kek) => Err(locked(&kek)),
            Found::Absent => self.make(tenant, first).await.map(Some),
        }
    }

    /// What is known of a tenant's key, from memory or from the store.
    pub(crate) async fn find(&self, tenant: &Tenant) -> Result<Found> {
        let now = Instant::now();
        let known = self.known().get(tenant).cloned();
        if let Some((found, at)) = known
            && now.duration_since(at) < KEY_AGE_MAX
        {
            return Ok(found);
        }
        let found = self.load(tenant).await?;
        self.remember(tenant, &found, now);
        Ok(found)
    }

    fn remember(&self, tenant: &Tenant, found: &Found, now: Instant) {
        let mut known = self.known();
        // That there is none is not remembered: the next one makes it.
        if matches!(found, Found::Absent) {
            known.remove(tenant);
            return;
        }
        if known.len() >= TENANTS_MAX && !known.contains_key(tenant) {
            known.retain(|_, (_, at)| now.duration_since(*at) < KEY_AGE_MAX);
            let oldest = known.iter().min_by_key(|(_, (_, at))| *at);
            if known.len() >= TENANTS_MAX
                && let Some(oldest) = oldest.map(|(tenant, _)| tenant.clone())
            {
                known.remove(&oldest);
            }
        }
        known.insert(tenant.clone(), (found.clone(), now));
    }

    pub(crate) fn forget(&self, tenant: &Tenant) {
        self.known().remove(tenant);
    }

    async fn load(&self, tenant: &Tenant) -> Result<Found> {
        let keks = self.keks();
        let others = keks.iter().map(|kek| format!("{PRIMARY}:{}", kek.id()));
        let names = std::iter::once(PRIMARY.to_owned()).chain(others);
        let identities: Batch<_> = names.map(|name| identity(tenant, &name)).collect();
        let mut found = Vec::new();
        for answer in self.0.store.look_up(identities).await {
            found.push(answer?.as_deref().and_then(Wrapped::of));
        }
        let mut found = found.into_iter();
        let Some(Some(primary)) = found.next() else {
            return Ok(Found::Absent);
        };
        let (id, by) = (primary.id, primary.kek.clone());
        let all = std::iter::once(Some(primary)).chain(found).flatten();
        let mut same = all.filter(|wrapped| wrapped.id == id);
        let opened = same.find_map(|wrapped| wrapped.open(tenant, &keks));
        Ok(match opened {
            Some(secret) => Found::Key(Arc::new(DataKey::new(&secret))),
            None => Found::Locked(by.into()),
        })
    }

    /// Makes the data key of a tenant, or waits for the one that another process makes.
    async fn make(&self, tenant: &Tenant, kek: &Kek) -> Result<Arc<DataKey>> {
        for _ in 0..LOOKS_MAX {
            let secret = random()?;
            let key = DataKey::new(&secret);
            let wrapped = Wrapped::new(key.id(), kek, tenant, &secret)?;
            if self.keep(identity(tenant, PRIMARY), &wrapped).await? {
                let key = Arc::new(key);
                self.remember(tenant, &Found::Key(key.clone()), Instant::now());
                return Ok(key);
            }
            match self.find(tenant).await? {
                Found::Key(key) => return Ok(key),
                Found::Locked(kek) => return Err(locked(&kek)),
                Found::Absent => sleep(LOOK_EVERY).await,
            }
        }
        let message = "another process is making this tenant's data key, and does not end";
        Err(Error::new(Kind::Unavailable, message))
    }

    /// Puts a wrapped key on record; whether this call did it.
    pub(crate) async fn keep(&self, identity: Identity, wrapped: &Wrapped) -> Result<bool> {
        let mut request = ClaimRequest::new(identity, Fingerprint::of_bytes(SCOPE.as_bytes()));
        // A process that died while it made the key has left nothing that counts.
        request.takeover = Takeover::Allowed;
        let ClaimAnswer::Granted(lease) = self.0.store.claim_one(request).await? else {
            return Ok(false);
        };
        let request = SettleRequest {
            claim: lease.claim,
            outcome: Outcome::succeeded(wrapped.encode()),
            took: Duration::ZERO,
            retention: Retention::delete_after(Retention::MAX)?,
        };
        Ok(self.0.store.settle_one(request).await? == SettleAnswer::Settled)
    }
}

impl Wrapped {
    pub(crate) fn new(id: KeyId, kek: &Kek, tenant: &Tenant, secret: &[u8; 32]) -> Result<Self> {
        Ok(Self {
            id,
            kek: kek.id().to_owned(),
            bytes: kek.wrap(tenant, secret)?.into(),
        })
    }

    /// The wrapped key that a record holds.
    pub(crate) fn of(record: &Record) -> Option<Self> {
        let State::Settled(settled) = &record.state else {
            return None;
        };
        let mut body = settled.outcome.body.kept()?.clone();
        let id: KeyId = *body.first_chunk()?;
        let len = usize::from(*body.get(id.len())?);
        let from = id.len() + 1;
        let kek = std::str::from_utf8(body.get(from..from + len)?)
            .ok()?
            .to_owned();
        let bytes = body.split_off(from + len);
        Some(Self { id, kek, bytes })
    }

    fn encode(&self) -> Bytes {
        let len = u8::try_from(self.kek.len()).expect("the id of a key is short");
        [&self.id, [len].as_slice(), self.kek.as_bytes(), &self.bytes]
            .concat()
            .into()
    }

    pub(crate) fn open(&self, tenant: &Tenant, keks: &[Kek]) -> Option<[u8; 32]> {
        let mut keks = keks.iter().filter(|kek| kek.id() == self.kek);
        keks.find_map(|kek| kek.unwrap(tenant, &self.bytes))
    }
}

/// The name of a data key's record.
pub(crate) fn identity(tenant: &Tenant, name: &str) -> Identity {
    let key = Key::new(name).expect("an id of a key is a short text");
    Identity::new(tenant.clone(), scope(), key)
}

pub(crate) fn scope() -> Scope {
    Scope::new(SCOPE, 1).expect("the scope of data keys is a short text")
}

pub(crate) fn locked(kek: &str) -> Error {
    let message = format!(
        "the contents are sealed under the key {kek:?}, which is not among encryption.keys of this process or has another secret"
    );
    Error::new(Kind::Unavailable, message)
}
