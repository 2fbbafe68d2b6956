//! Stores and keys of tests.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use semel_core::store::{
    Actor, ClaimAnswer, ClaimRequest, Resolution, ResolveRequest, SettleAnswer, SettleRequest,
};
use semel_core::{
    Body, Claim, Fingerprint, Headers, Identity, Outcome, Retention, Store, StoreExt, Verdict,
};
use semel_seal::{Kek, Keyring, Sealed};
use semel_sqlite::{Config, SqliteStore};

/// Keys by id; each has a secret of its own.
pub(crate) fn keks(ids: &[&str]) -> Vec<Kek> {
    let kek = |id: &&str| {
        let byte = format!("{:02x}", id.as_bytes()[0]);
        Kek::new(id, &byte.repeat(32)).unwrap()
    };
    ids.iter().map(kek).collect()
}

pub(crate) fn keyring(store: &Arc<SqliteStore>, ids: &[&str]) -> Keyring {
    Keyring::new(store.clone(), keks(ids)).unwrap()
}

pub(crate) fn open(dir: &Path) -> Arc<SqliteStore> {
    Arc::new(Config::new(dir.join("semel.db")).open().unwrap())
}

/// A process of its own on the store, with these keys.
pub(crate) fn sealed(store: &Arc<SqliteStore>, ids: &[&str]) -> Sealed {
    Sealed::new(store.clone(), keyring(store, ids))
}

pub(crate) fn of(tenant: &str, key: &str) -> Identity {
    Identity::parse(tenant, "pay@1", key).unwrap()
}

pub(crate) fn asked(identity: &Identity) -> ClaimRequest {
    ClaimRequest::new(identity.clone(), Fingerprint::of_bytes(b"pay"))
}

pub(crate) fn outcome(body: &'static str) -> Outcome {
    let header = ("x-token".to_owned(), "header-in-the-clear".into());
    Outcome {
        verdict: Verdict::Succeeded,
        status: 201,
        headers: Headers::new(vec![header]).unwrap(),
        body: Body::Kept(body.into()),
    }
}

pub(crate) async fn settle(store: &dyn Store, identity: &Identity, outcome: Outcome) {
    settle_for(store, identity, outcome, Retention::default()).await;
}

/// The same, kept for so long.
pub(crate) async fn settle_for(
    store: &dyn Store,
    identity: &Identity,
    outcome: Outcome,
    retention: Retention,
) {
    let ClaimAnswer::Granted(lease) = store.claim_one(asked(identity)).await.unwrap() else {
        panic!("{identity} was claimed before");
    };
    let request = SettleRequest {
        claim: lease.claim,
        outcome,
        took: Duration::ZERO,
        retention,
    };
    let settled = store.settle_one(request).await.unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
}

/// What a duplicate of an operation that is settled gets.
pub(crate) async fn replayed(
    store: &dyn Store,
    identity: &Identity,
) -> semel_core::Result<Outcome> {
    match store.claim_one(asked(identity)).await? {
        ClaimAnswer::Settled(record) => match &record.state {
            semel_core::State::Settled(settled) => Ok(settled.outcome.clone()),
            other => panic!("a settled record is {other:?}"),
        },
        other => panic!("{identity} is {other:?}"),
    }
}

/// The record of a tenant's data key holds no key any more.
pub(crate) async fn damage(store: &SqliteStore, tenant: &str) {
    let key = Identity::parse(tenant, "semel:data-key@1", "1").unwrap();
    if let Some(record) = store.look_up_one(key.clone()).await.unwrap() {
        let request = ResolveRequest {
            claim: Claim {
                identity: key.clone(),
                fence: record.fence,
            },
            by: Actor::new("dana").unwrap(),
            reason: None,
            resolution: Resolution::Erase,
        };
        store.resolve_one(request).await.unwrap();
    }
    settle(store, &key, outcome("no key")).await;
}
