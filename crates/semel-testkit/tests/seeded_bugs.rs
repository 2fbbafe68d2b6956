//! Stores with a bug that other systems had: the suite must find each of them.

use std::sync::Arc;

use semel_core::record::Claim;
use semel_core::store::{
    Answers, Batch, ClaimAnswer, ClaimRequest, Layer, ReleaseAnswer, RenewAnswer, RenewRequest,
    SettleAnswer, SettleRequest, StoreExt, Takeover, check_batch, each_fails,
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

impl Buggy {
    async fn settle_one_buggy(&self, mut item: SettleRequest) -> Result<SettleAnswer> {
        if self.bug == Bug::SettleWithoutFence {
            item.claim = self.unfenced(item.claim).await;
        }
        let current = self.current(&item.claim.identity).await;
        let late = current.is_none_or(|record| record.fence != item.claim.fence);
        match self.bug {
            Bug::LateOutcomeDropped if late => Ok(SettleAnswer::Late),
            _ => self.inner.settle_one(item).await,
        }
    }
}

impl Layer for Buggy {
    fn beneath(&self) -> &dyn Store {
        &self.inner
    }

    fn claim(&self, items: Batch<ClaimRequest>) -> Answers<'_, ClaimAnswer> {
        Box::pin(async move {
            if let Err(error) = check_batch(items.len()) {
                return each_fails(items.len(), &error);
            }
            let mut answers = Batch::new();
            for item in items {
                answers.push(self.claim_one_buggy(item).await);
            }
            answers
        })
    }

    fn renew(&self, items: Batch<RenewRequest>) -> Answers<'_, RenewAnswer> {
        Box::pin(async move {
            let mut fixed = Batch::new();
            for mut item in items {
                if self.bug == Bug::RenewWithoutFence {
                    item.claim = self.unfenced(item.claim).await;
                }
                fixed.push(item);
            }
            self.inner.renew(fixed).await
        })
    }

    fn settle(&self, items: Batch<SettleRequest>) -> Answers<'_, SettleAnswer> {
        Box::pin(async move {
            let mut answers = Batch::new();
            for item in items {
                answers.push(self.settle_one_buggy(item).await);
            }
            answers
        })
    }

    fn release(&self, items: Batch<Claim>) -> Answers<'_, ReleaseAnswer> {
        Box::pin(async move {
            let mut fixed = Batch::new();
            for item in items {
                fixed.push(match self.bug {
                    Bug::ReleaseWithoutFence => self.unfenced(item).await,
                    _ => item,
                });
            }
            self.inner.release(fixed).await
        })
    }

    fn look_up(&self, identities: Batch<Identity>) -> Answers<'_, Option<Arc<Record>>> {
        Box::pin(async move {
            let mut found = self.inner.look_up(identities).await;
            if self.bug == Bug::FailureReportedAsAbsent {
                for record in found.iter_mut().flatten() {
                    record.take_if(|record| record.state.name() == "failed");
                }
            }
            found
        })
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
