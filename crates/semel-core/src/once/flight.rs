//! The task that owns a granted claim: run, renew, settle.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::{JoinError, JoinHandle};

use super::answer::{Finished, Recorded, Refusal, Reply, Settlement};
use super::{Once, Shared};
use crate::clock::Timestamp;
use crate::policy::LeaseTerm;
use crate::record::{Claim, Fence, Lease, UnknownCause};
use crate::store::{
    MarkAnswer, MarkRequest, ReleaseAnswer, RenewAnswer, RenewRequest, SettleAnswer, SettleRequest,
    StoreExt,
};

/// How long a caller waits for a store that went away while its run was going on.
const CALLER_PATIENCE: Duration = Duration::from_secs(5);
/// How long a flight goes on trying to record what its run brought.
const FLIGHT_PATIENCE: Duration = Duration::from_secs(300);
/// The first and the longest pause between two tries.
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// What a running function knows about its claim.
#[derive(Debug, Clone)]
pub struct Run {
    lease: Lease,
    lost: Arc<AtomicBool>,
}

impl Run {
    /// The claim's number: pass it to effects that can refuse a lower one.
    pub const fn fence(&self) -> Fence {
        self.lease.claim.fence
    }

    /// 1 for the first run, one more for each takeover.
    pub const fn attempt(&self) -> u32 {
        self.lease.attempt
    }

    /// The operation that is run.
    pub const fn claim(&self) -> &Claim {
        &self.lease.claim
    }

    /// Whether the lease is known to be lost: nothing that the run brings from here on will count.
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }
}

/// A granted claim on its way to its outcome.
pub(super) struct Flight {
    once: Once,
    lease: Lease,
    lost: Arc<AtomicBool>,
    waiters: Arc<Notify>,
    started: Timestamp,
}

impl Drop for Flight {
    fn drop(&mut self) {
        let digest = self.lease.claim.identity.digest();
        self.shared().flights.end(digest, &self.waiters);
    }
}

impl Flight {
    pub(super) fn new(once: Once, lease: Lease) -> Self {
        let waiters = once.shared.flights.begin(lease.claim.identity.digest());
        Self {
            started: once.shared.clock.now(),
            lost: Arc::default(),
            waiters,
            lease,
            once,
        }
    }

    fn shared(&self) -> &Shared {
        &self.once.shared
    }

    fn term(&self) -> LeaseTerm {
        self.once.policy.lease
    }

    /// Runs the function to its end, records what it brought, and replies.
    pub(super) async fn fly<R, F, Fut, P>(self, f: F, reply: P)
    where
        R: Send + 'static,
        P: FnOnce(Result<Reply<R>, Refusal>) + Send,
        F: FnOnce(Run) -> Fut + Send + 'static,
        Fut: Future<Output = Finished<R>> + Send + 'static,
    {
        let run = Run {
            lease: self.lease.clone(),
            lost: self.lost.clone(),
        };
        // A task of its own, so that a panic of the function ends the function and nothing else.
        let running = tokio::spawn(async move { f(run).await });
        match self.renew_until_done(running).await {
            Ok(finished) => self.land(finished, reply).await,
            Err(_panicked) => {
                let settlement = Settlement::Unknown;
                let cause = UnknownCause::RunPanicked;
                self.record_firmly(&settlement, cause, None).await;
                reply(Err(Refusal::Panicked));
            }
        }
    }

    /// Waits for the function and renews the lease at a third of its term.
    async fn renew_until_done<R>(&self, mut running: JoinHandle<R>) -> Result<R, JoinError> {
        let every = self.term().get() / 3;
        loop {
            match tokio::time::timeout(every, &mut running).await {
                Ok(done) => return done,
                Err(_elapsed) => self.renew().await,
            }
        }
    }

    async fn renew(&self) {
        if self.lost.load(Ordering::Relaxed) {
            return;
        }
        let request = RenewRequest {
            claim: self.lease.claim.clone(),
            lease: self.term(),
        };
        // A store that is away gets another chance at the next third; the lease lasts three.
        let renewing = self.shared().store.renew_one(request);
        let answer = tokio::time::timeout(self.term().get() / 3, renewing).await;
        if matches!(answer, Ok(Ok(RenewAnswer::Lost))) {
            self.lost.store(true, Ordering::Relaxed);
        }
    }

    /// Records what the run brought, then replies; an impatient caller is told before that.
    async fn land<R, P>(self, finished: Finished<R>, reply: P)
    where
        R: Send + 'static,
        P: FnOnce(Result<Reply<R>, Refusal>) + Send,
    {
        let Finished { value, settlement } = finished;
        let (fence, attempt) = (self.lease.claim.fence, self.lease.attempt);
        let mut pending = Some((value, reply));
        let mut answer = |recorded| {
            if let Some((value, reply)) = pending.take() {
                reply(Ok(Reply::Ran {
                    value,
                    fence,
                    attempt,
                    recorded,
                }));
            }
        };
        let cause = UnknownCause::RunUndecided;
        let mut impatient = || answer(Recorded::NotYet);
        let recorded = self
            .record_firmly(&settlement, cause, Some(&mut impatient))
            .await;
        answer(recorded.unwrap_or(Recorded::NotYet));
    }

    /// Tries to record until the store answers; calls `impatient` once if that takes long.
    async fn record_firmly(
        &self,
        settlement: &Settlement,
        cause: UnknownCause,
        mut impatient: Option<&mut (dyn FnMut() + Send)>,
    ) -> Option<Recorded> {
        let mut waited = Duration::ZERO;
        let mut pause = PAUSE_FIRST;
        while waited < FLIGHT_PATIENCE {
            match self.record(settlement, cause).await {
                Ok(recorded) => return Some(recorded),
                Err(error) if !error.is_retryable() => return None,
                Err(_away) => {}
            }
            if waited >= CALLER_PATIENCE
                && let Some(call) = impatient.take()
            {
                call();
            }
            tokio::time::sleep(pause).await;
            waited += pause;
            pause = (pause * 2).min(PAUSE_MAX);
        }
        None
    }

    async fn record(
        &self,
        settlement: &Settlement,
        cause: UnknownCause,
    ) -> crate::Result<Recorded> {
        let store = &self.shared().store;
        let claim = self.lease.claim.clone();
        match settlement {
            Settlement::Settle(outcome) => {
                let request = SettleRequest {
                    claim,
                    outcome: outcome.clone(),
                    took: self.shared().clock.now().since(self.started),
                    retention: self.once.policy.retention,
                };
                store.settle_one(request).await.map(|answer| match answer {
                    SettleAnswer::Settled => Recorded::Settled,
                    SettleAnswer::Late => Recorded::Late,
                })
            }
            Settlement::Release => store.release_one(claim).await.map(|answer| match answer {
                ReleaseAnswer::Released => Recorded::Released,
                ReleaseAnswer::Lost => Recorded::Late,
            }),
            Settlement::Unknown => {
                let answer = store.mark_one(MarkRequest { claim, cause }).await;
                answer.map(|answer| match answer {
                    MarkAnswer::Marked => Recorded::Unknown,
                    MarkAnswer::Lost => Recorded::Late,
                })
            }
        }
    }
}
