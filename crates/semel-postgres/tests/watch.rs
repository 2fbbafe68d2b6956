//! What the store tells whoever watches it.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod support;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_core::record::Claim;
use semel_core::store::{ClaimAnswer, StoreObserver, Swept};
use semel_core::{Error, Store, StoreExt};
use support::Schema;
use support::verbs::{lease_of, short, until};

/// What was told.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Committed(usize),
    Ended(Claim),
    Swept(usize),
    Failed,
}

struct Watcher(Mutex<Sender<Told>>);

impl Watcher {
    fn new() -> (Arc<Self>, Receiver<Told>) {
        let (sender, told) = channel();
        (Arc::new(Self(Mutex::new(sender))), told)
    }

    fn tell(&self, told: Told) {
        // A test that has seen enough listens no more.
        let _ = self.0.lock().unwrap().send(told);
    }
}

impl StoreObserver for Watcher {
    fn committed(&self, calls: usize, _: Duration) {
        self.tell(Told::Committed(calls));
    }

    fn lease_ended(&self, claim: &Claim) {
        self.tell(Told::Ended(claim.clone()));
    }

    fn swept(&self, step: Result<&Swept, &Error>) {
        self.tell(step.map_or(Told::Failed, |swept| Told::Swept(swept.leases_ended)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_and_ended_leases_are_told_once_they_are_durable() {
    let (schema, (watcher, told)) = (Schema::new(), Watcher::new());
    let store = schema.config().watch(watcher).connect().await.unwrap();
    let lease = lease_of(store.claim_one(short("k", 1)).await.unwrap());
    // The claim that sees the ended lease first writes it down; the next one only reads it.
    until("the lease has ended", async || {
        let answer = store.claim_one(short("k", 1)).await.unwrap();
        matches!(answer, ClaimAnswer::Unknown { .. })
    })
    .await;
    let answer = store.claim_one(short("k", 1)).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Unknown { .. }));
    drop(store);
    let told: Vec<Told> = told.iter().collect();
    let ended = told
        .iter()
        .filter(|told| matches!(told, Told::Ended(claim) if *claim == lease.claim));
    assert_eq!(ended.count(), 1, "{told:?}");
    assert_eq!(told.first(), Some(&Told::Committed(1)));
    assert_eq!(told.last(), Some(&Told::Committed(1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stores_own_sweep_is_told() {
    let (schema, (watcher, told)) = (Schema::new(), Watcher::new());
    let config = schema
        .config()
        .watch(watcher)
        .sweep_every(Some(Duration::from_millis(5)));
    let store = config.connect().await.unwrap();
    lease_of(store.claim_one(short("k", 1)).await.unwrap());
    tokio::task::spawn_blocking(move || {
        let swept = told.iter().find(|told| matches!(told, Told::Swept(1..)));
        assert_eq!(swept, Some(Told::Swept(1)));
    })
    .await
    .unwrap();
    assert_eq!(store.stats().await.unwrap().unknown, 1);
}
