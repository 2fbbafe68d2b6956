//! The storm passes a store that keeps its word through faults, and finds one that does not.

use std::sync::Arc;

use semel_core::once::Reconciled;
use semel_core::store::{Answers, Batch, ClaimAnswer, ClaimRequest, Layer};
use semel_core::{Fence, Identity, MemoryStore, OnUnknown, Once, Outcome, Store};
use semel_testkit::faulty::{Fault, Faulty};
use semel_testkit::random::fresh_seed;
use semel_testkit::storm::{Progress, Storm, policy};

/// A store that has forgotten every claim when the next one comes.
#[derive(Debug, Default)]
struct Forgetful(MemoryStore);

impl Layer for Forgetful {
    fn beneath(&self) -> &dyn Store {
        &self.0
    }

    fn claim(&self, mut items: Batch<ClaimRequest>) -> Answers<'_, ClaimAnswer> {
        for item in &mut items {
            let key = format!("{}-{}", item.identity.key().as_str(), fresh_seed());
            item.identity = Identity::parse("forgotten", "effects@1", &key).expect("a valid key");
        }
        self.0.claim(items)
    }
}

fn memory() -> Arc<Faulty> {
    Faulty::new(Arc::new(MemoryStore::new()))
}

/// Three nodes on one store.
fn nodes(store: &Arc<Faulty>, on_unknown: OnUnknown) -> Vec<Once> {
    let node = || Once::on(store.clone()).with_policy(policy(on_unknown));
    vec![node(), node(), node()]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_fault_everything_is_done_once() {
    let store = memory();
    let storm = Storm::new(40, 4);
    let tally = storm
        .rage(nodes(&store, OnUnknown::Hold), async |_| ())
        .await;
    tally.assert_once();
    assert_eq!((tally.told_done, tally.effects), (40, 40));
    assert_eq!((tally.unknown, tally.refused_unavailable), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_away_for_a_while_refuses_and_nothing_runs() {
    for on_unknown in [OnUnknown::Hold, OnUnknown::Rerun] {
        let store = memory();
        let storm = Storm::new(40, 4);
        let fault = async |progress: Progress| {
            progress.effects(10).await;
            store.set_all(Fault::Away);
            progress.refused(20).await;
            store.heal_all();
        };
        let tally = storm.rage(nodes(&store, on_unknown), fault).await;
        tally.assert_once();
        assert!(tally.refused_unavailable >= 20);
        assert_eq!(tally.told_done + tally.unknown, 40);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_answers_end_in_done_or_on_hold() {
    let store = memory();
    let storm = Storm::new(40, 4);
    let fault = async |progress: Progress| {
        progress.effects(10).await;
        store.set_all(Fault::AnswerLost);
        progress.refused(20).await;
        store.heal_all();
    };
    let tally = storm.rage(nodes(&store, OnUnknown::Hold), fault).await;
    tally.assert_once();
    // Whoever claimed and did not hear of it has left a lease that ended.
    assert!(tally.unknown > 0);
    assert_eq!(tally.told_done + tally.unknown, 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn faults_that_a_seed_chooses_double_nothing() {
    let seed = fresh_seed();
    for fault in [Fault::Away, Fault::AnswerLost] {
        let (store, storm) = (memory(), Storm::new(40, 4));
        store.sometimes(seed, 20, fault.clone());
        let faults = async |progress: Progress| {
            progress.refused(10).await;
            store.heal_all();
        };
        let tally = storm.rage(nodes(&store, OnUnknown::Hold), faults).await;
        tally.assert_once();
        let ended = tally.told_done + tally.unknown;
        assert_eq!(ended, 40, "{fault:?}, seed {seed}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_can_be_asked_leaves_nothing_unknown() {
    let store = memory();
    let storm = Storm::new(40, 4);
    let ledger = storm.ledger().clone();
    let ask = move |identity: Identity, fence: Fence| {
        let operation = identity.key().as_str().to_owned();
        let happened = ledger.ask(&operation, fence.get()).unwrap();
        async move {
            if happened {
                let receipt = format!("\"receipt of {operation}\"");
                Reconciled::Happened(Outcome::succeeded(receipt))
            } else {
                Reconciled::DidNotHappen
            }
        }
    };
    let nodes = nodes(&store, OnUnknown::Reconcile).into_iter();
    let nodes = nodes.map(|once| once.reconcile_with(ask.clone())).collect();
    let fault = async |progress: Progress| {
        progress.effects(10).await;
        store.set_all(Fault::AnswerLost);
        progress.refused(20).await;
        store.heal_all();
    };
    let tally = storm.rage(nodes, fault).await;
    tally.assert_once();
    assert_eq!((tally.told_done, tally.effects), (40, 40));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_forgets_its_claims_is_found() {
    let store = Faulty::new(Arc::new(Forgetful::default()));
    let storm = Storm::new(4, 2);
    let tally = storm
        .rage(nodes(&store, OnUnknown::Hold), async |_| ())
        .await;
    assert_eq!(tally.doubled, 4);
    assert!(std::panic::catch_unwind(|| tally.assert_once()).is_err());
}
