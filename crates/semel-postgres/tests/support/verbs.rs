//! Shorthands for the verbs, and for what tests wait for.

use std::time::Duration;

use semel_core::record::{Claim, Event, EventKind, Lease};
use semel_core::store::{ClaimAnswer, ClaimRequest, SettleAnswer, SettleRequest, Takeover};
use semel_core::{Fingerprint, Identity, LeaseTerm, Outcome, Retention, Store, StoreExt};
use semel_testkit::ledger::Ledger;
use semel_testkit::proxy::Proxy;
use tokio::time::{sleep, timeout};

/// Nothing that a test waits for takes longer.
pub const PATIENCE: Duration = Duration::from_secs(30);

pub fn identity(key: &str) -> Identity {
    Identity::parse("acme", "payments@1", key).expect("a valid identity")
}

/// A claim with the usual lease, which no test outlives.
pub fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        identity: identity(key),
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    }
}

/// The same with a lease of so many milliseconds.
pub fn short(key: &str, lease_ms: u64) -> ClaimRequest {
    ClaimRequest {
        lease: LeaseTerm::new(Duration::from_millis(lease_ms)).expect("a valid term"),
        ..request(key)
    }
}

pub fn settle(claim: &Claim, body: &str) -> SettleRequest {
    SettleRequest {
        claim: claim.clone(),
        outcome: Outcome::succeeded(body.to_owned()),
        took: Duration::ZERO,
        retention: Retention::default(),
    }
}

/// The same, kept for so many milliseconds.
pub fn settle_for(claim: &Claim, keep_ms: u64, archive: bool) -> SettleRequest {
    let keep = Duration::from_millis(keep_ms);
    let retention = match archive {
        true => Retention::archive_after(keep),
        false => Retention::delete_after(keep),
    };
    SettleRequest {
        retention: retention.expect("a valid retention"),
        ..settle(claim, "done")
    }
}

#[track_caller]
pub fn lease_of(answer: ClaimAnswer) -> Lease {
    match answer {
        ClaimAnswer::Granted(lease) => lease,
        other => panic!("expected a grant, found {other:?}"),
    }
}

/// Claims `key`, which nobody has.
pub async fn granted(store: &impl Store, key: &str) -> Lease {
    lease_of(store.claim_one(request(key)).await.expect("an answer"))
}

/// Claims `key`, takes effect and settles.
pub async fn done(store: &impl Store, ledger: &Ledger, key: &str) {
    let lease = granted(store, key).await;
    ledger
        .effect(key, lease.claim.fence.get())
        .expect("the ledger can be written");
    let settled = store.settle_one(settle(&lease.claim, "done")).await;
    assert_eq!(settled.expect("an answer"), SettleAnswer::Settled);
}

pub async fn kinds(store: &impl Store, key: &str) -> Vec<EventKind> {
    let events = store.history(identity(key)).await.expect("a history");
    events.into_iter().map(|event: Event| event.kind).collect()
}

/// Asks until the answer is yes.
pub async fn until(what: &str, mut asked: impl AsyncFnMut() -> bool) {
    let waited = timeout(PATIENCE, async {
        while !asked().await {
            sleep(Duration::from_millis(20)).await;
        }
    });
    waited
        .await
        .unwrap_or_else(|_| panic!("expected soon: {what}"));
}

/// The URL that leads to the same server through a proxy.
pub fn through(url: &str, proxy: &Proxy) -> String {
    let (before, rest) = url.split_once('@').expect("a URL with a user");
    let (_, path) = rest.split_once('/').expect("a URL with a database");
    format!("{before}@{}/{path}", proxy.addr())
}

/// Where the server at `url` listens.
pub fn address(url: &str) -> std::net::SocketAddr {
    let (_, rest) = url.split_once('@').expect("a URL with a user");
    let (host, _) = rest.split_once('/').expect("a URL with a database");
    host.parse().expect("tests use loopback addresses")
}

/// A ledger of its own, gone with it.
pub struct Books {
    pub ledger: Ledger,
    dir: std::path::PathBuf,
}

impl Books {
    pub fn new() -> Self {
        let seed = semel_testkit::random::fresh_seed();
        let dir = std::env::temp_dir().join(format!("semel-books-{seed:016x}"));
        let ledger = Ledger::open(&dir).expect("a temporary directory");
        Self { ledger, dir }
    }
}

impl Drop for Books {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
