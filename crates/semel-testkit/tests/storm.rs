//! The storm passes a store that keeps its word through faults, and finds one that does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use semel_core::once::Reconciled;
use semel_core::store::{Answers, Batch, ClaimAnswer, ClaimRequest, Layer, Verb, each_fails};
use semel_core::{
    Error, Fence, Identity, Kind, MemoryStore, OnUnknown, Once, Outcome, Result, Store,
};
use semel_testkit::storm::{Progress, Storm, policy};

/// The store in memory behind a wire that can break. What a request did while it breaks is done; the
/// answer is lost.
#[derive(Debug, Default)]
struct Wire {
    inner: MemoryStore,
    /// No request arrives.
    away: AtomicBool,
    /// Requests arrive, answers do not.
    answers_lost: AtomicBool,
    /// Claims are granted to everybody who asks: a store that is broken for good.
    forgetful: AtomicBool,
}

impl Wire {
    fn up(&self) -> Result<()> {
        self.check(&self.away)
    }

    fn check(&self, broken: &AtomicBool) -> Result<()> {
        if broken.load(Ordering::SeqCst) {
            return Err(Error::new(Kind::Unavailable, "the wire is broken"));
        }
        Ok(())
    }
}

impl Layer for Wire {
    fn beneath(&self) -> &dyn Store {
        &self.inner
    }

    fn around<'a, A: Send + 'a>(
        &'a self,
        _verb: Verb,
        items: usize,
        call: impl FnOnce() -> Answers<'a, A> + Send + 'a,
    ) -> Answers<'a, A> {
        Box::pin(async move {
            if let Err(broken) = self.up() {
                return each_fails(items, &broken);
            }
            let answers = call().await;
            match self.check(&self.answers_lost) {
                Ok(()) => answers,
                Err(broken) => each_fails(items, &broken),
            }
        })
    }

    fn claim(&self, mut items: Batch<ClaimRequest>) -> Answers<'_, ClaimAnswer> {
        if self.forgetful.load(Ordering::SeqCst) {
            let fresh = semel_testkit::dice::fresh_seed();
            for item in &mut items {
                let key = format!("{}-{fresh}", item.identity.key().as_str());
                item.identity =
                    Identity::parse("forgotten", "effects@1", &key).expect("a valid key");
            }
        }
        self.around(Verb::Claim, items.len(), || self.inner.claim(items))
    }
}

/// Three nodes on one store.
fn nodes(wire: &Arc<Wire>, on_unknown: OnUnknown) -> Vec<Once> {
    let node = || Once::on(wire.clone()).with_policy(policy(on_unknown));
    vec![node(), node(), node()]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_fault_everything_is_done_once() {
    let wire = Arc::new(Wire::default());
    let storm = Storm::new(40, 4);
    let tally = storm
        .rage(nodes(&wire, OnUnknown::Hold), async |_| ())
        .await;
    tally.assert_once();
    assert_eq!((tally.told_done, tally.effects), (40, 40));
    assert_eq!((tally.unknown, tally.refused_unavailable), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_away_for_a_while_refuses_and_nothing_runs() {
    for on_unknown in [OnUnknown::Hold, OnUnknown::Rerun] {
        let wire = Arc::new(Wire::default());
        let storm = Storm::new(40, 4);
        let fault = async |progress: Progress| {
            progress.effects(10).await;
            wire.away.store(true, Ordering::SeqCst);
            progress.refused(20).await;
            wire.away.store(false, Ordering::SeqCst);
        };
        let tally = storm.rage(nodes(&wire, on_unknown), fault).await;
        tally.assert_once();
        assert!(tally.refused_unavailable >= 20);
        assert_eq!(tally.told_done + tally.unknown, 40);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_answers_end_in_done_or_on_hold() {
    let wire = Arc::new(Wire::default());
    let storm = Storm::new(40, 4);
    let fault = async |progress: Progress| {
        progress.effects(10).await;
        wire.answers_lost.store(true, Ordering::SeqCst);
        progress.refused(20).await;
        wire.answers_lost.store(false, Ordering::SeqCst);
    };
    let tally = storm.rage(nodes(&wire, OnUnknown::Hold), fault).await;
    tally.assert_once();
    // Whoever claimed and did not hear of it has left a lease that ended.
    assert!(tally.unknown > 0);
    assert_eq!(tally.told_done + tally.unknown, 40);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_that_can_be_asked_leaves_nothing_unknown() {
    let wire = Arc::new(Wire::default());
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
    let nodes = nodes(&wire, OnUnknown::Reconcile).into_iter();
    let nodes = nodes.map(|once| once.reconcile_with(ask.clone())).collect();
    let fault = async |progress: Progress| {
        progress.effects(10).await;
        wire.answers_lost.store(true, Ordering::SeqCst);
        progress.refused(20).await;
        wire.answers_lost.store(false, Ordering::SeqCst);
    };
    let tally = storm.rage(nodes, fault).await;
    tally.assert_once();
    assert_eq!((tally.told_done, tally.effects), (40, 40));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_forgets_its_claims_is_found() {
    let wire = Arc::new(Wire::default());
    wire.forgetful.store(true, Ordering::SeqCst);
    let storm = Storm::new(4, 2);
    let tally = storm
        .rage(nodes(&wire, OnUnknown::Hold), async |_| ())
        .await;
    assert_eq!(tally.doubled, 4);
    assert!(std::panic::catch_unwind(|| tally.assert_once()).is_err());
}
