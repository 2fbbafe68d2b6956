//! Names that become labels, and how many of them there are at most.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock};

use prometheus_client::encoding::EncodeLabelSet;

/// The most consumers that are told apart; the rest share the label `other`.
pub const CONSUMERS_MAX: usize = 256;
/// The most kinds of events of one consumer that are told apart; the rest share the label `other`.
pub const EVENT_TYPES_MAX: usize = 100;

/// The label of whatever is beyond a limit.
pub(super) const OTHER: &str = "other";
/// The label of messages that do not say what kind of event they are.
pub(super) const NONE: &str = "none";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByConsumer {
    pub(super) consumer: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByType {
    pub(super) consumer: Arc<str>,
    pub(super) event_type: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByReason {
    pub(super) consumer: Arc<str>,
    pub(super) event_type: Arc<str>,
    pub(super) reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByStatus {
    pub(super) consumer: Arc<str>,
    pub(super) status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByState {
    pub(super) consumer: Arc<str>,
    pub(super) state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByPolicy {
    pub(super) consumer: Arc<str>,
    pub(super) policy: &'static str,
}

/// What was met so far, up to a limit; whatever comes later shares one value.
///
/// A std lock, not an async one: it is held to look one entry up, never over an await.
#[derive(Debug)]
pub(super) struct Met<K, V> {
    max: usize,
    known: RwLock<HashMap<K, Arc<V>>>,
}

impl<K: Hash + Eq, V> Met<K, V> {
    pub(super) fn new(max: usize) -> Self {
        let known = RwLock::default();
        Self { max, known }
    }

    /// All that were met, but those beyond the limit.
    pub(super) fn all(&self) -> Vec<Arc<V>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.values().cloned().collect()
    }

    /// The value of `key`; if it is new, `make` is given its label: `name`, or `other` beyond the limit.
    pub(super) fn get<Q>(
        &self,
        key: &Q,
        name: impl Fn() -> String,
        make: impl Fn(Arc<str>) -> V,
    ) -> Arc<V>
    where
        K: std::borrow::Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(key) {
            return Arc::clone(found);
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= self.max && !known.contains_key(key) {
            return Arc::new(make(OTHER.into()));
        }
        let new = || Arc::new(make(name().into()));
        Arc::clone(known.entry(key.to_owned()).or_insert_with(new))
    }
}
