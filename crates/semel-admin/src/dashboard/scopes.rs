//! What runs now and what is unknown now, scope by scope. A store counts all scopes together, so the records themselves are counted:
//! they are few as long as all is well, and no more than a bound of them are read.

use std::collections::BTreeMap;

use semel_core::Store;
use semel_core::store::{PAGE_MAX, Query, StateFilter, Stats};
use tokio::time::timeout;

use super::history::STORE_TIMEOUT;

/// The most records that are counted in a state.
const COUNTED_MAX: usize = PAGE_MAX;
/// The most pages that are read for them; those of some stores are short.
const PAGES_MAX: usize = 5;

/// How many records stand in a state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Counted {
    scopes: BTreeMap<String, u64>,
    /// Whether there are more than were read.
    is_cut: bool,
}

/// Those of both states that are looked at by scope.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Scopes {
    pub(super) running: Counted,
    pub(super) unknown: Counted,
}

impl Scopes {
    /// Asks the store; `None` if it does not answer.
    pub(super) async fn ask(store: &dyn Store, stats: &Stats) -> Option<Self> {
        let running = Counted::of(store, StateFilter::Running, stats.running);
        let unknown = Counted::of(store, StateFilter::Unknown, stats.unknown);
        Some(Self {
            running: timeout(STORE_TIMEOUT, running).await.ok()??,
            unknown: timeout(STORE_TIMEOUT, unknown).await.ok()??,
        })
    }

    /// The scopes with such records.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        let (running, unknown) = (&self.running.scopes, &self.unknown.scopes);
        running.keys().chain(unknown.keys())
    }
}

impl Counted {
    /// Those in a state, of which the store has so many: where there are none, no list is asked for.
    async fn of(store: &dyn Store, state: StateFilter, count: u64) -> Option<Self> {
        let mut counted = Self::default();
        if count == 0 {
            return Some(counted);
        }
        let (mut before, mut read) = (None, 0);
        for _ in 0..PAGES_MAX {
            let query = Query {
                state: Some(state),
                before: before.take(),
                limit: COUNTED_MAX - read,
                ..Query::default()
            };
            let page = store.list(query).await.ok()?;
            read += page.records.len();
            for record in &page.records {
                let scope = record.identity.scope().to_string();
                *counted.scopes.entry(scope).or_default() += 1;
            }
            before = page.next;
            if before.is_none() || read >= COUNTED_MAX {
                break;
            }
        }
        counted.is_cut = before.is_some();
        Some(counted)
    }

    /// How many of a scope, and whether there may be more.
    pub(super) fn of_scope(&self, scope: &str) -> (u64, bool) {
        let count = self.scopes.get(scope).copied().unwrap_or_default();
        (count, self.is_cut)
    }
}

#[cfg(test)]
mod tests {
    use semel_core::store::ClaimRequest;
    use semel_core::{Fingerprint, Identity, MemoryStore, StoreExt};

    use super::*;

    async fn claimed(store: &MemoryStore, scope: &str, count: usize) {
        for number in 0..count {
            let identity = Identity::parse("acme", scope, &format!("k-{number}")).unwrap();
            let claim = ClaimRequest::new(identity, Fingerprint::none());
            store.claim_one(claim).await.unwrap();
        }
    }

    #[tokio::test]
    async fn records_are_counted_by_scope_up_to_a_bound() {
        let store = MemoryStore::new();
        claimed(&store, "payments@1", 3).await;
        claimed(&store, "refunds@1", 1).await;
        let stats = store.stats().await.unwrap();
        let scopes = Scopes::ask(&store, &stats).await.unwrap();
        assert_eq!(scopes.running.of_scope("payments@1"), (3, false));
        assert_eq!(scopes.running.of_scope("refunds@1"), (1, false));
        assert_eq!(scopes.unknown, Counted::default());
        assert_eq!(scopes.names().count(), 2);

        claimed(&store, "orders@1", COUNTED_MAX).await;
        let stats = store.stats().await.unwrap();
        let scopes = Scopes::ask(&store, &stats).await.unwrap();
        let (count, is_cut) = scopes.running.of_scope("orders@1");
        assert_eq!((count, is_cut), (COUNTED_MAX as u64, true));
    }
}
