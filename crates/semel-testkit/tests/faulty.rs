//! The faulty store does what it was told to, to the calls it was told to, and nothing else.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::sync::Arc;
use std::time::Duration;

use semel_core::store::{
    ClaimAnswer, ClaimRequest, OutcomeStore, SettleRequest, Takeover, Verb, all, one, only,
};
use semel_core::{
    Fingerprint, Identity, Kind, LeaseTerm, MemoryStore, Outcome, Retention, Store, StoreExt,
};
use semel_testkit::faulty::{Call, Fault, Faulty};
use semel_testkit::gate::Gate;

fn memory() -> Arc<Faulty> {
    Faulty::keeping_outcomes(Arc::new(MemoryStore::new()))
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

async fn state(store: &Faulty, key: &str) -> &'static str {
    let found = store.beneath().look_up_one(request(key).identity).await;
    found
        .unwrap()
        .map_or("absent", |record| record.state.name())
}

#[tokio::test]
async fn a_fault_says_whether_the_store_did_it() {
    for (fault, kind, left) in [
        (Fault::Away, Kind::Unavailable, "absent"),
        (Fault::Fails(Kind::ReadOnly), Kind::ReadOnly, "absent"),
        (Fault::AnswerLost, Kind::Unavailable, "running"),
    ] {
        let store = memory();
        store.next(Verb::Claim, fault.clone());
        let error = store.claim_one(request("k")).await.unwrap_err();
        assert_eq!(
            (error.kind(), state(&store, "k").await),
            (kind, left),
            "{fault:?}"
        );
        let other = store.claim_one(request("other")).await.unwrap();
        assert!(matches!(other, ClaimAnswer::Granted(_)), "{fault:?}");
    }
}

#[tokio::test]
async fn items_fail_by_themselves() {
    let store = memory();
    store.next(Verb::Claim, Fault::FailsItems(vec![0, 2], Kind::Limit));
    let answers = store.claim(["a", "b", "c"].map(request).into_iter().collect());
    let kinds = answers
        .await
        .into_iter()
        .map(|answer| answer.err().map(|error| error.kind()));
    let limit = Some(Kind::Limit);
    assert_eq!(kinds.collect::<Vec<_>>(), [limit, None, limit]);
    for (key, left) in [("a", "absent"), ("b", "running"), ("c", "absent")] {
        assert_eq!(state(&store, key).await, left, "{key}");
    }
}

#[tokio::test]
async fn a_gate_holds_a_call_before_or_after_it_is_done() {
    for (after, held) in [(false, "absent"), (true, "running")] {
        let (store, gate) = (memory(), Gate::closed());
        let at = gate.clone();
        store.set(
            Verb::Claim,
            if after {
                Fault::GatedAfter(at)
            } else {
                Fault::Gated(at)
            },
        );
        let caller = store.clone();
        let claiming = tokio::spawn(async move { caller.claim_one(request("k")).await });
        gate.reached().await;
        assert_eq!(state(&store, "k").await, held);
        gate.let_pass(1);
        assert!(matches!(
            claiming.await.unwrap(),
            Ok(ClaimAnswer::Granted(_))
        ));
    }
}

#[tokio::test]
async fn the_most_particular_fault_counts_until_it_is_healed() {
    let store = memory();
    store.set_all(Fault::Fails(Kind::ReadOnly));
    store.set(Verb::Stats, Fault::Fails(Kind::DiskFull));
    store.next(Verb::Stats, Fault::Fails(Kind::Damaged));
    for kind in [Kind::Damaged, Kind::DiskFull, Kind::DiskFull] {
        assert_eq!(store.stats().await.unwrap_err().kind(), kind);
    }
    store.heal(Verb::Stats);
    assert_eq!(store.stats().await.unwrap_err().kind(), Kind::ReadOnly);
    store.heal_all();
    store.stats().await.unwrap();
    assert_eq!(store.calls(Verb::Stats), 5);
}

#[tokio::test]
async fn verbs_of_outcomes_fail_too_and_every_call_is_on_the_list() {
    let store = memory();
    let ClaimAnswer::Granted(lease) = store.claim_one(request("k")).await.unwrap() else {
        panic!("expected a grant");
    };
    store.set(Call::Check, Fault::Away);
    only(store.check(one(lease.claim.clone())).await).unwrap_err();
    let settle = SettleRequest {
        claim: lease.claim,
        outcome: Outcome::succeeded("done"),
        took: Duration::ZERO,
        retention: Retention::default(),
    };
    all(store.settle(one(settle)).await).unwrap();
    let [claim, settle] = [Verb::Claim, Verb::Settle].map(Call::Store);
    assert_eq!(store.take_calls(), [claim, Call::Check, settle]);
}

#[tokio::test]
async fn a_seed_chooses_the_same_calls_again() {
    let strikes = async |seed| {
        let store = memory();
        store.sometimes(seed, 50, Fault::Away);
        let mut failed = Vec::new();
        for _ in 0..64 {
            failed.push(store.stats().await.is_err());
        }
        failed
    };
    let first = strikes(7).await;
    assert_eq!(first, strikes(7).await);
    assert_ne!(first, strikes(9).await);
}
