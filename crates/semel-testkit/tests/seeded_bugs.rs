//! Stores with a bug that other systems had: the suite must find each of them.

use std::sync::Arc;

use semel_core::record::{Claim, Event};
use semel_core::store::{
    Answer, ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, Page, Query, ReleaseAnswer,
    RenewAnswer, RenewRequest, ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest, Stats,
    StoreExt, Swept, Takeover,
};
use semel_core::{Identity, ManualClock, MemoryStore, Record, Result, Store, Timestamp};
use semel_testkit::conformance::{Subject, all, block_on};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bug {
    None,
    SettleWithoutFence,
    ReleaseWithoutFence,
    RenewWithoutFence,
    FingerprintIgnoredWhenSettled,
    TakeoverOfWhatIsHeld,
    LateOutcomeDropped,
    FailureReportedAsAbsent,
}

/// The store in memory, with one verb broken.
#[derive(Debug)]
struct Buggy {
    inner: MemoryStore,
    bug: Bug,
}

impl Buggy {
    async fn current(&self, identity: &Identity) -> Option<Arc<Record>> {
        self.inner
            .look_up_one(identity.clone())
            .await
            .expect("memory answers")
    }

    /// The claim with whatever fence is current: the check that the bug forgets.
    async fn unfenced(&self, claim: Claim) -> Claim {
        let current = self.current(&claim.identity).await;
        let fence = current.map_or(claim.fence, |record| record.fence);
        Claim { fence, ..claim }
    }

    async fn claim_one_buggy(&self, mut request: ClaimRequest) -> Result<ClaimAnswer> {
        match self.bug {
            Bug::FingerprintIgnoredWhenSettled => {
                if let Some(record) = self.current(&request.identity).await {
                    request.fingerprint = record.fingerprint;
                }
            }
            Bug::TakeoverOfWhatIsHeld => request.takeover = Takeover::Allowed,
            _ => {}
        }
        self.inner.claim_one(request).await
    }
}

impl Store for Buggy {
    fn claim(&self, items: Vec<ClaimRequest>) -> Answer<'_, Vec<ClaimAnswer>> {
        Box::pin(async move {
            semel_core::store::check_batch(items.len())?;
            let mut answers = Vec::new();
            for item in items {
                answers.push(self.claim_one_buggy(item).await?);
            }
            Ok(answers)
        })
    }

    fn renew(&self, items: Vec<RenewRequest>) -> Answer<'_, Vec<RenewAnswer>> {
        Box::pin(async move {
            let mut fixed = Vec::new();
            for mut item in items {
                if self.bug == Bug::RenewWithoutFence {
                    item.claim = self.unfenced(item.claim).await;
                }
                fixed.push(item);
            }
            self.inner.renew(fixed).await
        })
    }

    fn settle(&self, items: Vec<SettleRequest>) -> Answer<'_, Vec<SettleAnswer>> {
        Box::pin(async move {
            let mut answers = Vec::new();
            for mut item in items {
                if self.bug == Bug::SettleWithoutFence {
                    item.claim = self.unfenced(item.claim).await;
                }
                let current = self.current(&item.claim.identity).await;
                let late = current.is_none_or(|record| record.fence != item.claim.fence);
                answers.push(match self.bug {
                    Bug::LateOutcomeDropped if late => SettleAnswer::Late,
                    _ => self.inner.settle_one(item).await?,
                });
            }
            Ok(answers)
        })
    }

    fn release(&self, items: Vec<Claim>) -> Answer<'_, Vec<ReleaseAnswer>> {
        Box::pin(async move {
            let mut fixed = Vec::new();
            for item in items {
                fixed.push(match self.bug {
                    Bug::ReleaseWithoutFence => self.unfenced(item).await,
                    _ => item,
                });
            }
            self.inner.release(fixed).await
        })
    }

    fn mark_unknown(&self, items: Vec<MarkRequest>) -> Answer<'_, Vec<MarkAnswer>> {
        self.inner.mark_unknown(items)
    }

    fn resolve(&self, items: Vec<ResolveRequest>) -> Answer<'_, Vec<ResolveAnswer>> {
        self.inner.resolve(items)
    }

    fn look_up(&self, identities: Vec<Identity>) -> Answer<'_, Vec<Option<Arc<Record>>>> {
        Box::pin(async move {
            let mut found = self.inner.look_up(identities).await?;
            if self.bug == Bug::FailureReportedAsAbsent {
                for record in &mut found {
                    record.take_if(|record| record.state.name() == "failed");
                }
            }
            Ok(found)
        })
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

/// The names of the tests that fail for a store with `bug`.
fn failures(bug: Bug) -> Vec<&'static str> {
    let mut failed = Vec::new();
    for test in all() {
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
        let inner = MemoryStore::with_clock(clock.clone());
        let subject = Subject::on_clock(Arc::new(Buggy { inner, bug }), clock);
        let run = std::thread::spawn(move || block_on((test.run)(subject)));
        if run.join().is_err() {
            failed.push(test.name);
        }
    }
    failed
}

#[test]
fn a_store_without_a_bug_passes() {
    assert_eq!(failures(Bug::None), Vec::<&str>::new());
}

#[test]
fn each_seeded_bug_is_found_by_the_test_that_names_it() {
    for (bug, name) in [
        (
            Bug::SettleWithoutFence,
            "a_late_settle_is_kept_and_never_served",
        ),
        (Bug::ReleaseWithoutFence, "a_late_release_changes_nothing"),
        (Bug::RenewWithoutFence, "a_late_renewal_changes_nothing"),
        (
            Bug::FingerprintIgnoredWhenSettled,
            "the_fingerprint_is_compared_before_the_state",
        ),
        (Bug::TakeoverOfWhatIsHeld, "under_hold_nobody_runs_again"),
        (
            Bug::LateOutcomeDropped,
            "a_late_settle_is_kept_and_never_served",
        ),
        (
            Bug::FailureReportedAsAbsent,
            "a_kept_failure_is_replayed_too",
        ),
    ] {
        let failed = failures(bug);
        assert!(
            failed.contains(&name),
            "{bug:?} was found only by {failed:?}"
        );
    }
}
