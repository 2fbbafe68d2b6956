//! Sets of public keys (RFC 7517), as issuers of tokens publish and rotate them.
//!
//! A set is loaded when the first token needs it, and loaded again when it has become old or when a token
//! names a key that is not in it. What cannot be loaded again stays in use for a day: an issuer that is away
//! for an hour does not stop callers whose keys are known.
//!
//! This module does no IO: a [`Load`] brings the document. Routes that name one place share one set, and a
//! configuration that is read again does not forget it.

use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex as StdMutex, PoisonError, RwLock, Weak};
use std::time::Duration;

use bytes::Bytes;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use semel_core::{Error, Kind, Result};
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::{Mutex, OwnedMutexGuard};
use tokio::time::Instant;

/// The largest document, in bytes.
pub const BYTES_MAX: usize = 256 * 1024;
/// The most keys of a set.
pub const KEYS_MAX: usize = 100;
/// How old a set may be before it is loaded again beside the requests that use it.
const REFRESH_AFTER: Duration = Duration::from_secs(300);
/// How old a set may be at most: after a day in which its issuer could not be reached, keys may have been withdrawn
/// of which this process does not know.
const STALE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// The least time between two loads, however many tokens name keys that are not there.
const LOAD_EVERY: Duration = Duration::from_secs(1);

/// A document on its way.
pub type Loading<'a> =
    Pin<Box<dyn Future<Output = std::result::Result<Bytes, String>> + Send + 'a>>;

/// Brings the document that a set is read from.
pub trait Load: Send + Sync {
    /// The document as it is now; an error says why there is none, without secrets.
    fn load(&self) -> Loading<'_>;
}

/// The sets that are in use, by their places.
static IN_USE: StdMutex<Vec<(String, Weak<Inner>)>> = StdMutex::new(Vec::new());

// Counted for the process, as the sets are the process's.
static LOADED: AtomicU64 = AtomicU64::new(0);
static NOT_LOADED: AtomicU64 = AtomicU64::new(0);

/// How often sets of keys were loaded since the process began, and how often they could not be.
pub fn loads() -> (u64, u64) {
    (
        LOADED.load(Ordering::Relaxed),
        NOT_LOADED.load(Ordering::Relaxed),
    )
}

/// A set of public keys that is kept and renewed. Clones share it.
#[derive(Clone)]
pub struct Jwks(Arc<Inner>);

struct Inner {
    place: String,
    /// `None` until a door says how.
    load: RwLock<Option<Arc<dyn Load>>>,
    // A plain lock: it is held for the clone of one pointer, and never across an await.
    current: RwLock<Current>,
    /// One caller at a time loads; the others wait for what it brings.
    turn: Arc<Mutex<()>>,
}

#[derive(Default, Clone)]
struct Current {
    keys: Option<Arc<Vec<SetKey>>>,
    /// When the last load that succeeded ended.
    loaded: Option<Instant>,
    /// When the last load ended, however it did.
    tried: Option<Instant>,
}

/// One public key of a set.
pub(super) struct SetKey {
    id: Option<String>,
    pub(super) algorithms: Vec<Algorithm>,
    pub(super) key: DecodingKey,
}

impl Jwks {
    /// The set at `place`, a URL or the path of a file: the one that is in use, if there is one. Nothing is
    /// loaded before the first token asks for a key, and nothing can be before [`Jwks::load_by`].
    pub fn at(place: &str) -> Self {
        let in_use = IN_USE.lock();
        let mut in_use = in_use.unwrap_or_else(PoisonError::into_inner);
        in_use.retain(|(_, set)| set.strong_count() > 0);
        let found = in_use.iter().find(|(known, _)| known == place);
        if let Some(set) = found.and_then(|(_, set)| set.upgrade()) {
            return Self(set);
        }
        let set = Arc::new(Inner {
            place: place.to_owned(),
            load: RwLock::default(),
            current: RwLock::default(),
            turn: Arc::default(),
        });
        in_use.push((place.to_owned(), Arc::downgrade(&set)));
        Self(set)
    }

    /// Loads by `load` from now on. Keys that are known stay.
    pub fn load_by(&self, load: impl Load + 'static) {
        let place = self.0.load.write();
        *place.unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(load));
    }

    /// Where it comes from.
    pub fn place(&self) -> &str {
        &self.0.place
    }

    /// Where it comes from, for people: a query may hold a token.
    pub fn shown(&self) -> &str {
        let place = self.place();
        place.split_once('?').map_or(place, |(shown, _)| shown)
    }

    /// Loads the set if it has no key for a token of this head, or if it has become old.
    ///
    /// An error means that there are no keys at all: no token can be checked, and nothing may run.
    pub(super) async fn prepare(&self, id: Option<&str>, algorithm: Algorithm) -> Result<()> {
        let current = self.current();
        let is_known = current.find(id, algorithm).is_some() && !current.is_stale();
        if is_known && current.is_young() {
            return Ok(());
        }
        if is_known {
            // The key is there: renewing the set must not make a request wait.
            if let Ok(turn) = self.0.turn.clone().try_lock_owned() {
                let set = self.clone();
                tokio::spawn(async move { set.renew(turn, current.tried).await });
            }
            return Ok(());
        }
        let turn = self.0.turn.clone().lock_owned().await;
        self.renew(turn, current.tried).await;
        let current = self.current();
        match &current.keys {
            Some(keys) if !keys.is_empty() && !current.is_stale() => Ok(()),
            _ => Err(Error::new(
                Kind::Unavailable,
                "the keys that tokens are checked with cannot be loaded",
            )),
        }
    }

    /// The key for a token of this head.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<SharedKey> {
        self.current().find(id, algorithm)
    }

    fn current(&self) -> Current {
        let current = self.0.current.read();
        current.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Loads the set, unless another caller did so since `seen` or the last load was just now.
    async fn renew(&self, _turn: OwnedMutexGuard<()>, seen: Option<Instant>) {
        let tried = self.current().tried;
        let is_recent = tried.is_some_and(|tried| tried.elapsed() < LOAD_EVERY);
        if tried != seen || is_recent {
            return;
        }
        let load = self.0.load.read();
        let load = load.unwrap_or_else(PoisonError::into_inner).clone();
        let read = match load {
            Some(load) => load.load().await.and_then(|bytes| read(&bytes)),
            None => Err("this door cannot load keys".to_owned()),
        };
        let now = Instant::now();
        let place = self.shown();
        let current = self.0.current.write();
        let mut current = current.unwrap_or_else(PoisonError::into_inner);
        current.tried = Some(now);
        match read {
            Ok(keys) => {
                LOADED.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(%place, keys = keys.len(), "the keys of tokens were loaded");
                (current.keys, current.loaded) = (Some(Arc::new(keys)), Some(now));
            }
            Err(error) => {
                NOT_LOADED.fetch_add(1, Ordering::Relaxed);
                let kept = current.keys.as_ref().map_or(0, |keys| keys.len());
                tracing::warn!(%place, %error, kept, "the keys of tokens cannot be loaded");
            }
        }
    }
}

impl fmt::Debug for Jwks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Jwks({})", self.shown())
    }
}

/// A key that outlives a renewal of its set.
pub(super) struct SharedKey(Arc<Vec<SetKey>>, usize);

impl std::ops::Deref for SharedKey {
    type Target = SetKey;

    fn deref(&self) -> &SetKey {
        &self.0[self.1]
    }
}

impl Current {
    fn is_stale(&self) -> bool {
        self.loaded
            .is_none_or(|loaded| loaded.elapsed() >= STALE_MAX)
    }

    fn is_young(&self) -> bool {
        let within = |at: Option<Instant>, limit| at.is_some_and(|at| at.elapsed() < limit);
        within(self.loaded, REFRESH_AFTER) || within(self.tried, LOAD_EVERY)
    }

    /// By its id; a token without one is checked only if just one key can be meant.
    fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Option<SharedKey> {
        let keys = self.keys.as_ref()?;
        let fits = |key: &SetKey| {
            let is_meant = id.is_none_or(|id| key.id.as_deref() == Some(id));
            is_meant && key.algorithms.contains(&algorithm)
        };
        let mut found = (0..keys.len()).filter(|at| fits(&keys[*at]));
        let first = found.next()?;
        match (id, found.next()) {
            (None, Some(_)) => None,
            _ => Some(SharedKey(keys.clone(), first)),
        }
    }
}

/// The keys of a document that can check signatures. Keys of other kinds are left out: issuers publish
/// them side by side.
fn read(document: &[u8]) -> std::result::Result<Vec<SetKey>, String> {
    #[derive(Deserialize)]
    struct Document {
        keys: Vec<Value>,
    }
    let expected = "expected a JSON Web Key Set such as {\"keys\": [...]}";
    if document.len() > BYTES_MAX {
        return Err(format!("{expected} of at most {BYTES_MAX} bytes"));
    }
    let document: Document = serde_json::from_slice(document).map_err(|_| expected.to_owned())?;
    if document.keys.len() > KEYS_MAX {
        return Err(format!("{expected} of at most {KEYS_MAX} keys"));
    }
    // A set from which all keys were withdrawn replaces the one before: then no token is accepted.
    Ok(document.keys.into_iter().filter_map(usable).collect())
}

/// A public key for signatures. A shared secret in a published document would be no secret.
fn usable(key: Value) -> Option<SetKey> {
    let jwk: Jwk = serde_json::from_value(key).ok()?;
    let common = &jwk.common;
    if matches!(common.public_key_use, Some(PublicKeyUse::Encryption)) {
        return None;
    }
    let mut algorithms = family(&jwk.algorithm)?.to_vec();
    if let Some(stated) = common.key_algorithm {
        algorithms.retain(|algorithm| format!("{algorithm:?}") == stated.to_string());
    }
    let key = DecodingKey::from_jwk(&jwk).ok()?;
    (!algorithms.is_empty()).then(|| SetKey {
        id: common.key_id.clone(),
        algorithms,
        key,
    })
}

/// What a key of this kind can have signed.
const fn family(parameters: &AlgorithmParameters) -> Option<&'static [Algorithm]> {
    match parameters {
        AlgorithmParameters::RSA(_) => Some(&[
            Algorithm::RS256,
            Algorithm::RS384,
            Algorithm::RS512,
            Algorithm::PS256,
            Algorithm::PS384,
            Algorithm::PS512,
        ]),
        AlgorithmParameters::EllipticCurve(curve) => match curve.curve {
            EllipticCurve::P256 => Some(&[Algorithm::ES256]),
            EllipticCurve::P384 => Some(&[Algorithm::ES384]),
            _ => None,
        },
        AlgorithmParameters::OctetKeyPair(_) => Some(&[Algorithm::EdDSA]),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
