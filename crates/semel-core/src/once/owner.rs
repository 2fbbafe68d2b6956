//! The owner of a granted claim: waits for its turn, runs the function, has the outcome recorded, replies.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::Once;
use super::answer::{Finished, Recorded, Refusal, Reply, Settlement};
use super::lease::LeaseLife;
use crate::error::{Error, Kind};
use crate::record::{Claim, Fence, Lease, UnknownCause};

/// How long a caller waits for a store that went away while its run was going on.
const CALLER_PATIENCE: Duration = Duration::from_secs(5);

/// What a running function knows about its claim.
#[derive(Debug, Clone)]
pub struct Run {
    lease: Lease,
    life: Arc<LeaseLife>,
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

    /// Whether something may begin under the lease now: ask this right before an effect that was waited for. A
    /// process that stood still does not notice it otherwise.
    pub fn may_begin(&self) -> bool {
        self.life.may_begin()
    }

    /// Whether the lease is known, or must be taken, to be lost: what the run brings from here on will not count.
    pub fn is_lost(&self) -> bool {
        self.life.is_lost()
    }
}

/// What came of a claim that was granted.
pub(super) enum Ended<R, F> {
    /// The function ran, and this is the reply.
    Ran(Result<Reply<R>, Refusal>),
    /// The lease had ended before the function could begin. The claim is given back.
    NotBegun(F),
    /// The same, but the store could not be told yet.
    NotGivenBack(Error),
}

/// Owns a granted claim from the grant to the recorded outcome.
pub(super) struct Owner {
    pub(super) once: Once,
    pub(super) lease: Lease,
    pub(super) life: Arc<LeaseLife>,
    pub(super) started: Instant,
    waiters: Arc<Notify>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        let digest = self.lease.claim.identity.digest();
        self.once.shared.waiters.end(digest, &self.waiters);
    }
}

impl Owner {
    /// The owner of `lease`, whose life others keep.
    pub(super) fn new(once: Once, lease: Lease, life: Arc<LeaseLife>) -> Self {
        Self {
            waiters: once.shared.waiters.begin(lease.claim.identity.digest()),
            started: Instant::now(),
            lease,
            life,
            once,
        }
    }

    /// Runs the function to its end, has its outcome recorded, and replies. With `own_task` the function may block
    /// its thread: the lease is renewed by another task.
    pub(super) async fn run<R, F, Fut>(
        self,
        own_task: bool,
        f: F,
        reply: impl FnOnce(Ended<R, F>) + Send,
    ) where
        R: Send + 'static,
        F: FnOnce(Run) -> Fut + Send + 'static,
        Fut: Future<Output = Finished<R>> + Send + 'static,
    {
        let run = Run {
            lease: self.lease.clone(),
            life: self.life.clone(),
        };
        let begun = match own_task {
            false => begin(run, f).await,
            true => match tokio::spawn(begin(run, f)).await {
                Ok(begun) => begun,
                // The runtime is going down: no reply can be heard, and the lease ends by itself.
                Err(_cancelled) => std::future::pending().await,
            },
        };
        match begun {
            Begun::TooLate(f) => self.give_back(f, reply).await,
            Begun::Panicked => {
                let answer = |_recorded| reply(Ended::Ran(Err(Refusal::Panicked)));
                let cause = UnknownCause::RunPanicked;
                self.finish(Settlement::Unknown(None), cause, answer).await;
            }
            Begun::Finished(Finished { value, settlement }) => {
                let (fence, attempt) = (self.lease.claim.fence, self.lease.attempt);
                let answer = |recorded| {
                    reply(Ended::Ran(Ok(Reply::Ran {
                        value,
                        fence,
                        attempt,
                        recorded,
                    })));
                };
                let cause = UnknownCause::RunUndecided;
                self.finish(settlement, cause, answer).await;
            }
        }
    }

    /// Records and answers; a caller whose patience ends is answered before that.
    async fn finish(
        self,
        settlement: Settlement,
        cause: UnknownCause,
        answer: impl FnOnce(Recorded) + Send,
    ) {
        let mut recording = pin!(self.record(settlement, cause));
        match timeout(CALLER_PATIENCE, recording.as_mut()).await {
            Ok(recorded) => answer(recorded),
            Err(_impatient) => {
                answer(Recorded::NotYet);
                recording.await;
            }
        }
    }

    /// Gives back a claim under which nothing has begun.
    async fn give_back<R, F>(self, f: F, reply: impl FnOnce(Ended<R, F>) + Send) {
        let mut giving_back = pin!(self.record_not_begun());
        match timeout(CALLER_PATIENCE, giving_back.as_mut()).await {
            Ok(()) => reply(Ended::NotBegun(f)),
            Err(_impatient) => {
                let message = "the lease had ended before the run began, and the store does not take the claim back";
                reply(Ended::NotGivenBack(Error::new(Kind::Unavailable, message)));
                giving_back.await;
            }
        }
    }
}

enum Begun<R, F> {
    Finished(Finished<R>),
    Panicked,
    /// The lease had ended; the function was not called.
    TooLate(F),
}

/// Calls the function, unless its lease has ended by now, and follows it to its end or its panic.
async fn begin<R, F, Fut>(run: Run, f: F) -> Begun<R, F>
where
    F: FnOnce(Run) -> Fut,
    Fut: Future<Output = Finished<R>>,
{
    if !run.life.may_begin() {
        return Begun::TooLate(f);
    }
    // The call is inside of what is caught, because a function may panic before it returns its future.
    match caught(async move { f(run).await }).await {
        Ok(finished) => Begun::Finished(finished),
        Err(_panic) => Begun::Panicked,
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
