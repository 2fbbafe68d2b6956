//! The data keys of tenants: found, cached, forgotten.
//!
//! A data key is a settled record of a reserved scope in the store itself, so that it is as durable and as shared as what it seals, on every
//! store, and so that of two processes that make one at the same moment one wins: making it is a claim. No record is ever changed, so there is no moment
//! without a key.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use semel_core::store::{BATCH_MAX, Batch};
use semel_core::{Error, Kind, Result, Store, StoreExt, Tenant};
use tokio::time::Instant;

use crate::cipher::DataKey;
use crate::contents::{Closed, Opened};
use crate::found::{Found, Known, Sealing};
use crate::kek::{KEKS_MAX, Kek};
use crate::wrapped::{identity, mark_of_store};

/// How long a process believes what it knows of a tenant's key.
pub const KEY_AGE_MAX: Duration = Duration::from_secs(10);
/// How long a key retires before it is destroyed: no process seals under it any more when it has forgotten what it knew, and what was sealed
/// in the last moment has reached the store.
pub const RETIRES_FOR: Duration = Duration::from_secs(30);
/// The most tenants whose keys are in memory; those that are not asked for go first.
pub const TENANTS_MAX: usize = 10_000;

/// Finds data keys, and makes them. Cheap to clone; clones share what they know.
#[derive(Debug, Clone)]
pub struct Keyring(pub(crate) Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    // Plain locks, held for a look and the clone of a pointer, and never across an await.
    keks: RwLock<Arc<[Kek]>>,
    known: Mutex<Known>,
    /// Whether the store has data keys, and when it was looked at.
    pub(crate) is_sealed: Mutex<Option<(bool, Instant)>>,
}

/// The key to seal with; `None` if nothing is to be sealed.
pub(crate) type ToSeal = Result<Option<Arc<DataKey>>>;

impl Keyring {
    /// The keys in `store`. The first of `keks` wraps, all of them unwrap. With none nothing is sealed, what is sealed stays closed, and nothing is written
    /// to a store that has data keys.
    pub fn new(store: Arc<dyn Store>, keks: Vec<Kek>) -> Result<Self> {
        let ring = Self(Arc::new(Inner {
            store,
            keks: RwLock::new([].into()),
            known: Mutex::default(),
            is_sealed: Mutex::default(),
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

    fn known(&self) -> MutexGuard<'_, Known> {
        // Entries are whole after every statement, so a poisoned lock protects nothing.
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn forget(&self, tenant: &Tenant) {
        self.known().forget(tenant);
    }

    /// Whether the store has data keys, so that a process without key-encryption keys must not write to it.
    pub async fn holds_keys(&self) -> Result<bool> {
        let now = Instant::now();
        let said = || {
            self.0
                .is_sealed
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        match *said() {
            // The mark stays.
            Some((true, _)) => return Ok(true),
            Some((false, at)) if now.duration_since(at) < KEY_AGE_MAX => return Ok(false),
            _ => {}
        }
        let holds = self.0.store.look_up_one(mark_of_store()).await?.is_some();
        *said() = Some((holds, now));
        Ok(holds)
    }

    async fn must_not_be_sealed(&self) -> Result<()> {
        match self.holds_keys().await? {
            false => Ok(()),
            true => Err(keyless()),
        }
    }

    /// What is known of tenants' keys, from memory or from the store; each tenant by itself.
    pub(crate) async fn find(&self, tenants: &[&Tenant]) -> HashMap<Tenant, Result<Found>> {
        let now = Instant::now();
        let mut answers = HashMap::new();
        let mut missing = Vec::new();
        {
            let known = self.known();
            for tenant in tenants {
                match known.get(tenant, now) {
                    Some(found) => drop(answers.insert((*tenant).clone(), Ok(found))),
                    None => missing.push(*tenant),
                }
            }
        }
        for (tenant, found) in missing.iter().zip(self.load(&missing).await) {
            answers.insert((*tenant).clone(), found);
        }
        answers
    }

    /// What the store says of tenants' keys, in their order: in as few calls as it takes.
    pub(crate) async fn load(&self, tenants: &[&Tenant]) -> Vec<Result<Found>> {
        let (keks, now, epoch) = (self.keks(), Instant::now(), self.known().epoch());
        let names = Found::names(&keks);
        let mut loaded = Vec::with_capacity(tenants.len());
        for tenants in tenants.chunks(BATCH_MAX / names.len()) {
            let of_one = |tenant| names.iter().map(move |name| identity(tenant, name));
            let identities: Batch<_> = tenants.iter().copied().flat_map(of_one).collect();
            let mut answers = self.0.store.look_up(identities).await.into_iter();
            let at = self.0.store.now();
            for tenant in tenants {
                let records = answers.by_ref().take(names.len());
                let records: Result<Vec<_>> = records.collect();
                loaded.push(records.and_then(|records| Found::of(tenant, &keks, &records, at)));
            }
        }
        // What is older than it may be must not be sealed under.
        if now.elapsed() >= KEY_AGE_MAX {
            return tenants.iter().map(|_| Err(slow())).collect();
        }
        let mut known = self.known();
        for (tenant, found) in tenants.iter().zip(&loaded) {
            if let Ok(found) = found {
                known.put(tenant, found, now, epoch);
            }
        }
        loaded
    }

    /// The keys to seal with, made where there is none yet; each tenant by itself.
    pub(crate) async fn to_seal(&self, tenants: &[&Tenant]) -> PerTenant<Option<Arc<DataKey>>> {
        let keks = self.keks();
        let Some(first) = keks.first() else {
            return PerTenant::All(self.must_not_be_sealed().await.map(|()| None));
        };
        let (mut answers, mut missing) = (HashMap::new(), Vec::new());
        for (tenant, found) in self.find(tenants).await {
            match found.and_then(|found| found.sealing()) {
                Ok(Sealing::With(key)) => drop(answers.insert(tenant, Ok(Some(key)))),
                Ok(Sealing::Make(slot)) => missing.push((tenant, slot)),
                Err(error) => drop(answers.insert(tenant, Err(error))),
            }
        }
        if !missing.is_empty() {
            answers.extend(self.make(missing, first).await);
        }
        // Where the store gave one tenant's key, it is the tenant that another's is missing for.
        if answers.values().any(Result::is_ok) {
            let answers = answers.into_iter();
            let answer =
                |(tenant, key): (Tenant, ToSeal)| (tenant, key.map_err(Error::about_an_item));
            return PerTenant::Each(answers.map(answer).collect());
        }
        PerTenant::Each(answers)
    }

    /// Whether what these tenants' runs bring can be sealed. Asked before they begin: afterwards it is too late to refuse.
    pub(crate) async fn ready(&self, tenants: &[&Tenant]) -> PerTenant<()> {
        if self.keks().is_empty() {
            return PerTenant::All(self.must_not_be_sealed().await);
        }
        let found = self.find(tenants).await.into_iter();
        let ready = found.map(|(tenant, found)| {
            let sealing = found.and_then(|found| found.sealing().map(drop));
            (tenant, sealing)
        });
        PerTenant::Each(ready.collect())
    }

    /// Keys that open what one call is about; tenants are looked up at once, and each of them at most once more.
    pub(crate) async fn opener(&self, tenants: &[&Tenant]) -> Opener {
        let found = match tenants.is_empty() {
            true => HashMap::new(),
            false => self.find(tenants).await,
        };
        let found = found.into_iter();
        Opener {
            ring: self.clone(),
            found: found
                .map(|(tenant, found)| (tenant, (found, false)))
                .collect(),
        }
    }
}

/// The keys of the tenants that one call is about.
pub(crate) struct Opener {
    ring: Keyring,
    /// What is known of each, and whether it was looked for since the call began.
    found: HashMap<Tenant, (Result<Found>, bool)>,
}

impl Opener {
    /// Opens what is a tenant's. What this process knew may be older than what it reads, so that nothing is taken for destroyed without a look.
    pub(crate) async fn open<T>(
        &mut self,
        tenant: &Tenant,
        open: impl Fn(&Found) -> Opened<T>,
    ) -> Result<Opened<T>> {
        if let Some((found, is_fresh)) = self.found.get(tenant) {
            let opened = opened_by(found, &open);
            if *is_fresh || !matches!(opened, Ok(Err(Closed::Forgotten | Closed::Locked(_)))) {
                return opened;
            }
        }
        let loaded = self.ring.load(&[tenant]).await.pop();
        let loaded = loaded.expect("one tenant has one answer");
        let opened = opened_by(&loaded, &open);
        self.found.insert(tenant.clone(), (loaded, true));
        opened
    }
}

/// A key whose record is damaged opens nothing, and is no reason to show nothing else.
fn opened_by<T>(found: &Result<Found>, open: impl Fn(&Found) -> Opened<T>) -> Result<Opened<T>> {
    match found {
        Ok(found) => Ok(open(found)),
        Err(error) if error.kind() == Kind::Damaged => Ok(Err(Closed::Damaged)),
        Err(error) => Err(error.duplicate()),
    }
}

/// What was answered for tenants, each by itself.
pub(crate) enum PerTenant<T> {
    /// The same for all.
    All(Result<T>),
    /// An answer for each that was asked about.
    Each(HashMap<Tenant, Result<T>>),
}

impl<T: Clone> PerTenant<T> {
    /// The answer for one of them.
    pub(crate) fn of(&self, tenant: &Tenant) -> Result<T> {
        let answer = match self {
            Self::All(answer) => answer,
            Self::Each(answers) => answers.get(tenant).ok_or_else(|| {
                Error::new(Kind::Internal, "a tenant was not asked about its data key")
            })?,
        };
        match answer {
            Ok(answer) => Ok(answer.clone()),
            Err(error) => Err(error.duplicate()),
        }
    }
}

fn slow() -> Error {
    let message = format!("the store took longer than {KEY_AGE_MAX:?} to tell data keys");
    Error::new(Kind::Unavailable, message)
}

fn keyless() -> Error {
    let message = "the store has data keys and this process has no encryption.keys: what it wrote would be plain";
    Error::new(Kind::Unavailable, message)
}

/// Tenants, each once.
pub(crate) fn distinct<'a>(tenants: impl IntoIterator<Item = &'a Tenant>) -> Vec<&'a Tenant> {
    let mut all: Vec<_> = tenants.into_iter().collect();
    all.sort_unstable();
    all.dedup();
    all
}
