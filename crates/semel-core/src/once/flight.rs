//! The task that owns a granted claim: runs the function, records what it brought, replies.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};

use super::answer::{Finished, Recorded, Refusal, Reply, Settlement};
use super::renewal::Lost;
use super::{Once, Shared};
use crate::record::{Claim, Fence, Lease, UnknownCause};
use crate::store::{MarkAnswer, MarkRequest, ReleaseAnswer, SettleAnswer, SettleRequest, StoreExt};

/// How long a caller waits for a store that went away while its run was going on.
const CALLER_PATIENCE: Duration = Duration::from_secs(5);
/// How long a flight goes on trying to record what its run brought.
const FLIGHT_PATIENCE: Duration = Duration::from_secs(300);
/// How long one try may take.
const TRY_WITHIN: Duration = Duration::from_secs(10);
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
    waiters: Arc<Notify>,
    started: Instant,
    lost: Lost,
}

impl Drop for Flight {
    fn drop(&mut self) {
        let digest = self.lease.claim.identity.digest();
        self.shared().flights.end(digest, &self.waiters);
    }
}

impl Flight {
    /// A flight under a lease that is being renewed.
    pub(super) fn new(once: Once, lease: Lease, lost: Lost) -> Self {
        Self {
            waiters: once.shared.flights.begin(lease.claim.identity.digest()),
            started: Instant::now(),
            lease,
            lost,
            once,
        }
    }

    /// Whether the lease is known to be lost.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    fn shared(&self) -> &Shared {
        &self.once.shared
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
        let ended = caught(f(run)).await;
        let (fence, attempt) = (self.lease.claim.fence, self.lease.attempt);
        match ended {
            Ok(Finished { value, settlement }) => {
                let cause = UnknownCause::RunUndecided;
                let answer = |recorded| {
                    reply(Ok(Reply::Ran {
                        value,
                        fence,
                        attempt,
                        recorded,
                    }));
                };
                self.land(&settlement, cause, answer).await;
            }
            Err(_panic) => {
                let answer = |_recorded| reply(Err(Refusal::Panicked));
                let cause = UnknownCause::RunPanicked;
                self.land(&Settlement::Unknown, cause, answer).await;
            }
        }
    }

    /// Records and answers; a caller whose patience ends is answered before that.
    async fn land(
        self,
        settlement: &Settlement,
        cause: UnknownCause,
        answer: impl FnOnce(Recorded) + Send,
    ) {
        let mut recording = pin!(self.record_firmly(settlement, cause));
        match timeout(CALLER_PATIENCE, recording.as_mut()).await {
            Ok(recorded) => answer(recorded),
            Err(_impatient) => {
                answer(Recorded::NotYet);
                recording.await;
            }
        }
    }

    /// Tries to record until the store answers.
    async fn record_firmly(&self, settlement: &Settlement, cause: UnknownCause) -> Recorded {
        let began = Instant::now();
        // Several tries must fit into what is left of the lease.
        let pause_max = PAUSE_MAX.min(self.once.policy.lease.get() / 10);
        let mut pause = PAUSE_FIRST;
        while began.elapsed() < FLIGHT_PATIENCE {
            match timeout(TRY_WITHIN, self.record(settlement, cause)).await {
                Ok(Ok(recorded)) => return recorded,
                Ok(Err(error)) if !error.is_retryable() => return Recorded::NotRecorded,
                Ok(Err(_away)) => {}
                Err(_hangs) => {}
            }
            pause = pause.min(pause_max);
            sleep(pause).await;
            pause *= 2;
        }
        Recorded::NotRecorded
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
                    outcome: outcome.clone().capped(store.limits().body_bytes_max),
                    took: self.started.elapsed(),
                    retention: self.once.policy.retention,
                };
                store.settle_one(request).await.map(|answer| match answer {
                    SettleAnswer::Settled => Recorded::Settled,
                    SettleAnswer::Late => Recorded::Late,
                    SettleAnswer::NeverGranted => Recorded::NotRecorded,
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

/// Runs a future so that its panic ends it and nothing else.
async fn caught<T>(future: impl Future<Output = T>) -> std::thread::Result<T> {
    let mut future = pin!(future);
    poll_fn(|cx| {
        // What a panic leaves half-done is dropped with the future and not looked at again.
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx)));
        polled.map_or_else(|panic| Poll::Ready(Err(panic)), |poll| poll.map(Ok))
    })
    .await
}
