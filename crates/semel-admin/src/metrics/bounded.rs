//! What is kept by a name that others choose, up to a limit: a metrics server keeps every label that it ever saw.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

/// The label of whatever is beyond a limit.
pub(super) const OTHER: &str = "other";

/// A value for each name up to a limit, and one for all that come later.
#[derive(Debug)]
pub(super) struct Bounded<K, V> {
    max: usize,
    /// A std lock, not an async one: it is held to look one entry up, never over an await. Only a name that gets a value of its own is written.
    known: RwLock<HashMap<K, Arc<V>>>,
    /// Made when the first name comes that finds no room.
    other: OnceLock<Arc<V>>,
}

impl<K: Hash + Eq, V> Bounded<K, V> {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            known: RwLock::default(),
            other: OnceLock::new(),
        }
    }

    /// The value of `key`; if it is new, `make` is given its label: `name`, or [`OTHER`] beyond the limit.
    pub(super) fn get<Q>(
        &self,
        key: &Q,
        name: impl Fn() -> String,
        make: impl Fn(Arc<str>) -> V,
    ) -> Arc<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let known = self.known();
        if let Some(found) = known.get(key) {
            return found.clone();
        }
        if known.len() >= self.max {
            return self.other(make);
        }
        drop(known);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have been here between the two locks.
        if known.len() >= self.max && !known.contains_key(key) {
            drop(known);
            return self.other(make);
        }
        let new = || Arc::new(make(name().into()));
        known.entry(key.to_owned()).or_insert_with(new).clone()
    }

    /// The values of the names that have one of their own.
    pub(super) fn named(&self) -> Vec<Arc<V>> {
        self.known().values().cloned().collect()
    }

    /// These, and that of the others if there are any.
    pub(super) fn all(&self) -> Vec<Arc<V>> {
        let mut all = self.named();
        all.extend(self.other.get().cloned());
        all
    }

    fn other(&self, make: impl Fn(Arc<str>) -> V) -> Arc<V> {
        let new = || Arc::new(make(OTHER.into()));
        self.other.get_or_init(new).clone()
    }

    fn known(&self) -> RwLockReadGuard<'_, HashMap<K, Arc<V>>> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_beyond_the_limit_share_one_value_that_is_made_once_and_read_beside_readers() {
        let bounded = Bounded::<String, Arc<str>>::new(1);
        let made = std::cell::Cell::new(0);
        let get = |name: &str| {
            let make = |label| {
                made.set(made.get() + 1);
                label
            };
            bounded.get(name, || name.to_owned(), make)
        };
        assert_eq!((&**get("a"), bounded.all().len()), ("a", 1));
        // As long as one reads, writing waits.
        let reading = bounded.known();
        let (one, other) = (get("b"), get("c"));
        assert!(Arc::ptr_eq(&one, &other) && &**one == OTHER);
        assert_eq!((&**get("a"), made.get()), ("a", 2));
        drop(reading);
        assert_eq!((bounded.named().len(), bounded.all().len()), (1, 2));
    }
}
