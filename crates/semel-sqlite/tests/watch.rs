//! What the store tells whoever watches it.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_core::record::Claim;
use semel_core::store::{ClaimAnswer, ClaimRequest, StoreObserver, Swept, Takeover};
use semel_core::{
    Error, Fingerprint, Identity, LeaseTerm, ManualClock, Store, StoreExt, Timestamp,
};

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

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        identity: Identity::parse("acme", "payments@1", key).unwrap(),
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    }
}

#[tokio::test]
async fn commits_and_ended_leases_are_told_once_they_are_durable() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_794_787_200_000)));
    let (sender, told) = channel();
    let store = semel_sqlite::Config::new(dir.path().join("semel.db"))
        .clock(clock.clone())
        .watch(Arc::new(Watcher(Mutex::new(sender))))
        .sweep_every(None)
        .open()
        .unwrap();
    let ClaimAnswer::Granted(lease) = store.claim_one(request("k")).await.unwrap() else {
        panic!("a first claim is granted");
    };
    clock.advance(Duration::from_secs(31));
    // The claim that sees the ended lease first writes it down; the next one only reads it.
    for _ in 0..2 {
        let answer = store.claim_one(request("k")).await.unwrap();
        assert!(matches!(answer, ClaimAnswer::Unknown { .. }));
    }
    drop(store);
    let expected = [
        Told::Committed(1),
        Told::Committed(1),
        Told::Ended(lease.claim),
        Told::Committed(1),
    ];
    assert_eq!(told.iter().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn the_stores_own_sweep_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_794_787_200_000)));
    let (sender, told) = channel();
    let store = semel_sqlite::Config::new(dir.path().join("semel.db"))
        .clock(clock.clone())
        .watch(Arc::new(Watcher(Mutex::new(sender))))
        .sweep_every(Some(Duration::from_millis(1)))
        .open()
        .unwrap();
    store.claim_one(request("k")).await.unwrap();
    clock.advance(Duration::from_secs(31));
    tokio::task::spawn_blocking(move || {
        let swept = told.iter().find(|told| matches!(told, Told::Swept(1..)));
        assert_eq!(swept, Some(Told::Swept(1)));
    })
    .await
    .unwrap();
    assert_eq!(store.stats().await.unwrap().unknown, 1);
}
