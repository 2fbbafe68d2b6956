//! The storm passes a store that keeps its word through faults, and finds one that does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use semel_core::once::Reconciled;
use semel_core::record::{Claim, Event};
use semel_core::store::{
    Answer, ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, Page, Query, ReleaseAnswer,
    RenewAnswer, RenewRequest, ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest, Stats,
    Swept,
};
use semel_core::{
    Error, Fence, Identity, Kind, MemoryStore, OnUnknown, Once, Outcome, Record, Result, Store,
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

    async fn through<T>(&self, asked: impl Future<Output = Result<T>>) -> Result<T> {
        self.up()?;
        let answer = asked.await?;
        self.check(&self.answers_lost)?;
        Ok(answer)
    }

    fn check(&self, broken: &AtomicBool) -> Result<()> {
        if broken.load(Ordering::SeqCst) {
            return Err(Error::new(Kind::Unavailable, "the wire is broken"));
        }
        Ok(())
    }
}

impl Store for Wire {
    fn claim(&self, mut items: Vec<ClaimRequest>) -> Answer<'_, Vec<ClaimAnswer>> {
        if self.forgetful.load(Ordering::SeqCst) {
            let fresh = semel_testkit::dice::fresh_seed();
            for item in &mut items {
                let key = format!("{}-{fresh}", item.identity.key().as_str());
                item.identity =
                    Identity::parse("forgotten", "effects@1", &key).expect("a valid key");
            }
        }
        Box::pin(self.through(self.inner.claim(items)))
    }

    fn renew(&self, items: Vec<RenewRequest>) -> Answer<'_, Vec<RenewAnswer>> {
        Box::pin(self.through(self.inner.renew(items)))
    }

    fn settle(&self, items: Vec<SettleRequest>) -> Answer<'_, Vec<SettleAnswer>> {
        Box::pin(self.through(self.inner.settle(items)))
    }

    fn release(&self, items: Vec<Claim>) -> Answer<'_, Vec<ReleaseAnswer>> {
        Box::pin(self.through(self.inner.release(items)))
    }

    fn mark_unknown(&self, items: Vec<MarkRequest>) -> Answer<'_, Vec<MarkAnswer>> {
        Box::pin(self.through(self.inner.mark_unknown(items)))
    }

    fn resolve(&self, items: Vec<ResolveRequest>) -> Answer<'_, Vec<ResolveAnswer>> {
        Box::pin(self.through(self.inner.resolve(items)))
    }

    fn look_up(&self, identities: Vec<Identity>) -> Answer<'_, Vec<Option<Arc<Record>>>> {
        Box::pin(self.through(self.inner.look_up(identities)))
    }

    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>> {
        self.inner.history(identity)
    }

    fn list(&self, query: Query) -> Answer<'_, Page> {
        self.inner.list(query)
    }

    fn sweep(&self, limit: usize) -> Answer<'_, Swept> {
        self.inner.sweep(limit)
    }

    fn stats(&self) -> Answer<'_, Stats> {
        self.inner.stats()
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
