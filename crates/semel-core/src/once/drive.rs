//! Asks for a claim and does what its answer asks for: run, replay, wait, reconcile or refuse.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::{Semaphore, oneshot};
use tokio::time::Instant;

use super::answer::{Finished, Refusal, Reply};
use super::flight::{Flight, Run};
use super::reconcile::Reconciled;
use super::renewal::{Lost, renewed};
use super::{Once, Operation};
use crate::policy::{InProgress, OnUnknown};
use crate::record::{Claim, Fence, Lease, State};
use crate::store::{
    Actor, ClaimAnswer, ClaimRequest, Resolution, ResolveRequest, StoreExt, Takeover,
};

/// How often a caller reconciles, or gives a late grant back, before it is refused. Rounds of
/// waiting do not count: they end with the caller's patience.
const DECISIONS_MAX: usize = 16;
/// The first and the longest pause between two looks at an operation that runs elsewhere.
const LOOK_FIRST: Duration = Duration::from_millis(5);
const LOOK_MAX: Duration = Duration::from_millis(250);
/// What a refused duplicate is told to wait, unless the lease ends sooner.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(1);

/// An answer to a claim, and when the claim was asked for.
pub(super) type Asked = (crate::Result<ClaimAnswer>, Instant);

/// Drives an operation to a reply. `first` is the answer of a claim that was made already.
pub(super) async fn drive<R, F, Fut>(
    operation: Operation,
    first: Option<Asked>,
    f: F,
) -> Result<Reply<R>, Refusal>
where
    R: Send + 'static,
    F: FnOnce(Run) -> Fut + Send + 'static,
    Fut: Future<Output = Finished<R>> + Send + 'static,
{
    if let Some(record) = operation.cached() {
        return Ok(Reply::Replayed(record));
    }
    let mut driver = Driver::new(operation);
    let (mut first, mut f) = (first, f);
    let mut decisions = 0;
    while decisions < DECISIONS_MAX {
        let (answer, unused) = match attempt(driver.request(), &driver, first.take(), f).await {
            Attempt::Landed(reply) => return reply,
            Attempt::NotGranted(answer, f) => (answer.map_err(Refusal::Store)?, f),
        };
        f = unused;
        match answer {
            // A grant that came too late to be used: this caller knows that nothing ran under it.
            ClaimAnswer::Granted(lease) => {
                decisions += 1;
                driver.may_take_over(lease.claim.fence);
            }
            ClaimAnswer::Settled(record) => return Ok(Reply::Replayed(record)),
            ClaimAnswer::Mismatch => return Err(Refusal::KeyReused),
            ClaimAnswer::Running { lease_left, .. } => driver.wait(lease_left).await?,
            ClaimAnswer::Unknown {
                fence,
                since,
                cause,
            } => {
                let refusal = Refusal::Unknown {
                    fence,
                    since,
                    cause,
                };
                decisions += 1;
                driver.reconcile(fence, refusal).await?;
            }
        }
    }
    Err(Refusal::InProgress {
        retry_after: RETRY_AFTER_MAX,
    })
}

/// What came of one claim.
enum Attempt<R, F> {
    /// It was granted and the run has ended.
    Landed(Result<Reply<R>, Refusal>),
    /// It was not; the function has not been called.
    NotGranted(crate::Result<ClaimAnswer>, F),
}

/// Claims and, if the claim is granted, runs: in a task of its own, so that a caller that is
/// cancelled at any point leaves neither an unused lease nor half a run behind.
///
/// Most duplicates need no task: a store that has the answer at hand gives it at the first poll.
async fn attempt<R, F, Fut>(
    request: ClaimRequest,
    driver: &Driver,
    first: Option<Asked>,
    f: F,
) -> Attempt<R, F>
where
    R: Send + 'static,
    F: FnOnce(Run) -> Fut + Send + 'static,
    Fut: Future<Output = Finished<R>> + Send + 'static,
{
    let once = driver.operation.once.clone();
    let turns = driver.operation.turns.clone();
    let asking = match first {
        Some(asked) => Asking::Answered(asked),
        None => Asking::Waiting(Box::pin(ask(once.clone(), request))),
    };
    let asking = match asking.polled_once().await {
        Asking::Answered((answer, _)) if !matches!(answer, Ok(ClaimAnswer::Granted(_))) => {
            return Attempt::NotGranted(answer, f);
        }
        asking => asking,
    };
    let (sender, outcome) = oneshot::channel();
    tokio::spawn(async move {
        let (answer, asked) = match asking {
            Asking::Answered(asked) => asked,
            Asking::Waiting(asking) => asking.await,
        };
        // Whoever listened may be gone: the record is what counts, so a failed send is no failure.
        let lease = match answer {
            Ok(ClaimAnswer::Granted(lease)) => lease,
            other => return drop(sender.send(Attempt::NotGranted(other, f))),
        };
        let (store, claim) = (once.shared.store.clone(), lease.claim.clone());
        let term = once.policy.lease;
        let fly = async |lost| fly(once, lease, asked, lost, turns, f, sender).await;
        renewed(store, claim, term, asked, fly).await;
    });
    // Without an answer the runtime is going down; a granted lease will end by itself.
    outcome
        .await
        .unwrap_or(Attempt::Landed(Err(Refusal::Panicked)))
}

/// A claim that has been asked for.
enum Asking {
    Waiting(Pin<Box<dyn Future<Output = Asked> + Send>>),
    Answered(Asked),
}

impl Asking {
    /// Takes the answer if it is there already.
    async fn polled_once(self) -> Self {
        let mut asking = match self {
            Self::Waiting(asking) => asking,
            answered @ Self::Answered(_) => return answered,
        };
        match poll_fn(|cx| Poll::Ready(asking.as_mut().poll(cx))).await {
            Poll::Ready(asked) => Self::Answered(asked),
            Poll::Pending => Self::Waiting(asking),
        }
    }
}

/// Waits for its turn and flies; the lease is renewed meanwhile, the recording of the result included.
async fn fly<R, F, Fut>(
    once: Once,
    lease: Lease,
    asked: Instant,
    lost: Lost,
    turns: Option<Arc<Semaphore>>,
    f: F,
    sender: oneshot::Sender<Attempt<R, F>>,
) where
    R: Send + 'static,
    F: FnOnce(Run) -> Fut + Send + 'static,
    Fut: Future<Output = Finished<R>> + Send + 'static,
{
    // The lease may have ended on the way here, or while the operation waited for its turn: giving
    // it back is all that is safe then.
    let late = asked.elapsed() >= once.policy.lease.get();
    let flight = Flight::new(once.clone(), lease.clone(), lost);
    let _turn = match turns {
        Some(turns) => turns.acquire_owned().await.ok(),
        None => None,
    };
    if late || flight.is_lost() {
        let given_back = once.shared.store.release_one(lease.claim.clone()).await;
        let answer = given_back.map(|_| ClaimAnswer::Granted(lease));
        return drop(sender.send(Attempt::NotGranted(answer, f)));
    }
    let reply = |reply| drop(sender.send(Attempt::Landed(reply)));
    flight.fly(f, reply).await;
}

async fn ask(once: Once, request: ClaimRequest) -> Asked {
    let asked = Instant::now();
    (once.shared.store.claim_one(request).await, asked)
}

struct Driver {
    operation: Operation,
    takeover: Takeover,
    /// How long this caller may still wait.
    patience: Duration,
}

impl Driver {
    fn new(operation: Operation) -> Self {
        let policy = operation.once.policy;
        Self {
            takeover: takeover_of(policy.on_unknown),
            patience: match policy.in_progress {
                InProgress::Wait(patience) => patience,
                InProgress::Refuse => Duration::ZERO,
            },
            operation,
        }
    }

    fn request(&self) -> ClaimRequest {
        ClaimRequest {
            takeover: self.takeover,
            ..request(&self.operation)
        }
    }

    /// Waits until the operation no longer runs; refuses when the caller's patience ends.
    async fn wait(&mut self, lease_left: Duration) -> Result<(), Refusal> {
        let (mut pause, mut away) = (LOOK_FIRST, None);
        while !self.patience.is_zero() {
            pause = pause.min(self.patience);
            self.woken_or(pause).await;
            self.patience -= pause;
            pause = (pause * 2).min(LOOK_MAX);
            // A store that is away for a moment does not end a wait.
            away = match self.is_running().await {
                Ok(false) => return Ok(()),
                Ok(true) => None,
                Err(error) if error.is_retryable() => Some(error),
                Err(error) => return Err(Refusal::Store(error)),
            };
        }
        let retry_after = lease_left.clamp(LOOK_FIRST, RETRY_AFTER_MAX);
        Err(away.map_or(Refusal::InProgress { retry_after }, Refusal::Store))
    }

    async fn is_running(&self) -> crate::Result<bool> {
        let store = &self.operation.once.shared.store;
        let found = store.look_up_one(self.operation.identity.clone()).await?;
        Ok(found.is_some_and(|record| matches!(record.state, State::Running { .. })))
    }

    /// Lets the next claim take over from `fence`, which had no effect.
    fn may_take_over(&mut self, fence: Fence) {
        if self.takeover != Takeover::Allowed {
            self.takeover = Takeover::Of(fence);
        }
    }

    /// Sleeps for `pause`, or until a flight of this process lands.
    async fn woken_or(&self, pause: Duration) {
        let digest = self.operation.identity.digest();
        let Some(flight) = self.operation.once.shared.flights.of(digest) else {
            return tokio::time::sleep(pause).await;
        };
        // Elapsed and woken lead to the same next step: a look at the store.
        let _ = tokio::time::timeout(pause, flight.notified()).await;
    }

    /// Asks whoever knows about an unknown outcome; refuses where nobody is to be asked or can tell.
    async fn reconcile(&mut self, fence: Fence, refusal: Refusal) -> Result<(), Refusal> {
        let Operation { once, identity, .. } = &self.operation;
        let Some(reconciler) = once
            .reconciler
            .as_ref()
            .filter(|_| once.policy.on_unknown == OnUnknown::Reconcile)
        else {
            return Err(refusal);
        };
        match reconciler.ask(identity, fence).await {
            Reconciled::CannotTell => Err(refusal),
            Reconciled::DidNotHappen => {
                self.may_take_over(fence);
                Ok(())
            }
            Reconciled::Happened(outcome) => {
                let request = ResolveRequest {
                    claim: Claim {
                        identity: identity.clone(),
                        fence,
                    },
                    by: Actor::new("reconciler").expect("a short name is valid"),
                    resolution: Resolution::Settle {
                        outcome,
                        retention: once.policy.retention,
                    },
                };
                // A refusal means that somebody else decided first; the next claim shows how.
                let resolved = once.shared.store.resolve_one(request).await;
                resolved.map(drop).map_err(Refusal::Store)
            }
        }
    }
}

/// The claim that an operation's policy asks for.
pub(super) fn request(operation: &Operation) -> ClaimRequest {
    let policy = operation.once.policy;
    ClaimRequest {
        identity: operation.identity.clone(),
        fingerprint: operation.fingerprint,
        lease: policy.lease,
        takeover: takeover_of(policy.on_unknown),
    }
}

fn takeover_of(on_unknown: OnUnknown) -> Takeover {
    match on_unknown {
        OnUnknown::Rerun => Takeover::Allowed,
        OnUnknown::Hold | OnUnknown::Reconcile => Takeover::Never,
    }
}
