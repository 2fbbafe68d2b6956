//! Answers that are lost, servers that stop, refuse or are replaced: what callers see, and that nothing ran twice.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

#[path = "../common/mod.rs"]
mod common;

mod large;
mod limits;
mod lost;
mod pair;
mod replica;
mod storms;
mod sweep;

use std::time::Duration;

use semel_core::record::Claim;
use semel_core::store::{ClaimAnswer, ClaimRequest, SettleAnswer, SettleRequest, Takeover};
use semel_core::{Fingerprint, Identity, LeaseTerm, Outcome, Retention, Store, StoreExt};
use semel_redis::RedisStore;

fn identity(key: &str) -> Identity {
    Identity::parse("acme", "payments@1", key).unwrap()
}

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        identity: identity(key),
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    }
}

fn settle(claim: &Claim) -> SettleRequest {
    SettleRequest {
        claim: claim.clone(),
        outcome: Outcome::succeeded("done"),
        took: Duration::ZERO,
        retention: Retention::default(),
    }
}

async fn granted(store: &RedisStore, key: &str) -> Claim {
    match store.claim_one(request(key)).await.unwrap() {
        ClaimAnswer::Granted(lease) => lease.claim,
        other => panic!("expected a grant, found {other:?}"),
    }
}

async fn event_names(store: &RedisStore, key: &str) -> Vec<&'static str> {
    let events = store.history(identity(key)).await.unwrap();
    events.iter().map(|event| event.kind.name()).collect()
}

/// Waits until an operation is absent; the suite's time limit ends a wait that is in vain.
async fn absent(store: &RedisStore, key: &str) {
    while store.look_up_one(identity(key)).await.unwrap().is_some() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Claims and settles an operation.
async fn done(store: &RedisStore, key: &str) {
    let claim = granted(store, key).await;
    let settled = store.settle_one(settle(&claim)).await.unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
}

/// Asks until the answer is yes; the suite's time limit ends a wait that is in vain.
async fn until(mut asked: impl AsyncFnMut() -> bool) {
    while !asked().await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Sends a command of the test's own.
fn tell(node: &mut redis::Connection, words: &[&str]) {
    let mut cmd = redis::cmd(words[0]);
    for word in &words[1..] {
        cmd.arg(word);
    }
    let _: redis::Value = cmd.query(node).unwrap();
}

/// The value of a line of INFO.
fn info(node: &mut redis::Connection, name: &str) -> String {
    let info: String = redis::cmd("INFO").query(node).unwrap();
    let value = info
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.unwrap().trim().to_owned()
}
