//! What the tests share: a clock in paused time, a store that fails on demand, and effects that count themselves.

pub(crate) mod clock;
pub(crate) mod effects;

use std::sync::Arc;
use std::time::Duration;

use semel_core::once::Operation;
use semel_core::{
    Fingerprint, Identity, LeaseTerm, MemoryStore, Once, Policy, Record, State, Store, StoreExt,
};

pub(crate) use clock::PausedClock;
pub(crate) use effects::Effects;
pub(crate) use semel_core::store::Verb;
pub(crate) use semel_testkit::faulty::{self, Faulty as FaultyStore};

/// The result of a typed run in most tests.
pub(crate) type Ran = Result<semel_core::once::Answer<u32>, semel_core::once::Error<String>>;

/// A store whose leases end when Tokio's time says so.
pub(crate) fn store() -> Arc<FaultyStore> {
    let memory = MemoryStore::with_clock(Arc::new(PausedClock::new()));
    FaultyStore::new(Arc::new(memory))
}

pub(crate) fn identity(key: &str) -> Identity {
    Identity::parse("acme", "payments@1", key).unwrap()
}

/// The operation `key` of a test, always with the same fingerprint.
pub(crate) fn operation(once: &Once, key: &str) -> Operation {
    once.operation(identity(key), Fingerprint::none())
}

/// The default policy with another lease.
pub(crate) fn lease(ms: u64) -> Policy {
    Policy {
        lease: LeaseTerm::new(Duration::from_millis(ms)).unwrap(),
        ..Policy::default()
    }
}

/// The record of `key` as it stands.
pub(crate) async fn record(store: &(impl Store + ?Sized), key: &str) -> Option<Arc<Record>> {
    store.look_up_one(identity(key)).await.unwrap()
}

/// The name of the state of `key`; `absent` without a record.
pub(crate) async fn state(store: &(impl Store + ?Sized), key: &str) -> &'static str {
    let record = record(store, key).await;
    record.map_or("absent", |record| record.state.name())
}

/// Waits until `key` is settled. In paused time a run that needs no time has ended by then.
pub(crate) async fn settled(store: &(impl Store + ?Sized), key: &str) -> Arc<Record> {
    let looking = async {
        loop {
            match record(store, key).await {
                Some(record) if matches!(record.state, State::Settled(_)) => return record,
                _ => tokio::time::sleep(Duration::from_millis(1)).await,
            }
        }
    };
    let patience = Duration::from_secs(60);
    tokio::time::timeout(patience, looking)
        .await
        .expect("the record is settled")
}
