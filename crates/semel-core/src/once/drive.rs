//! Asks for a claim and does what its answer asks for: run, replay, wait, reconcile or refuse.

use std::time::Duration;

use tokio::sync::oneshot;

use super::answer::{Finished, Refusal, Reply};
use super::flight::{Flight, Run};
use super::reconcile::Reconciled;
use super::{Once, Operation};
use crate::clock::Timestamp;
use crate::policy::{InProgress, OnUnknown};
use crate::record::{Claim, Fence, State};
use crate::store::{
    Actor, ClaimAnswer, ClaimRequest, Resolution, ResolveRequest, StoreExt, Takeover,
};

/// How often an operation may change under a waiting caller before the caller is refused.
const ROUNDS_MAX: usize = 16;
/// The first and the longest pause between two looks at an operation that runs elsewhere.
const LOOK_FIRST: Duration = Duration::from_millis(5);
const LOOK_MAX: Duration = Duration::from_millis(250);
/// What a refused duplicate is told to wait, unless the lease ends sooner.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(1);

/// An answer to a claim, and when the claim was asked for.
pub(super) type Asked = (crate::Result<ClaimAnswer>, Timestamp);

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
    let mut driver = Driver::new(operation);
    let (mut first, mut f) = (first, f);
    for _ in 0..ROUNDS_MAX {
        let (answer, unused) = match attempt(driver.request(), &driver, first.take(), f).await {
            Attempt::Landed(reply) => return reply,
            Attempt::NotGranted(answer, f) => (answer.map_err(Refusal::Store)?, f),
        };
        f = unused;
        match answer {
            // A grant that came too late to be used was given back.
            ClaimAnswer::Granted(_) => {}
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

/// Claims and, if the claim is granted, runs: all of it in one task, so that a caller that is
/// cancelled at any point leaves neither an unused lease nor half a run behind.
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
    let (sender, outcome) = oneshot::channel();
    tokio::spawn(async move {
        let (answer, asked) = match first {
            Some(asked) => asked,
            None => ask(&once, request).await,
        };
        // Whoever listened may be gone: the record is what counts, so a failed send is no failure.
        let lease = match answer {
            Ok(ClaimAnswer::Granted(lease)) => lease,
            other => return drop(sender.send(Attempt::NotGranted(other, f))),
        };
        if once.shared.clock.now().since(asked) >= once.policy.lease.get() {
            // The lease may have ended on the way here: giving it back is all that is safe.
            let given_back = once.shared.store.release_one(lease.claim.clone()).await;
            let answer = given_back.map(|_| ClaimAnswer::Granted(lease));
            return drop(sender.send(Attempt::NotGranted(answer, f)));
        }
        let reply = |reply| drop(sender.send(Attempt::Landed(reply)));
        Flight::new(once, lease).fly(f, reply).await;
    });
    // Without an answer the runtime is going down; a granted lease will end by itself.
    outcome
        .await
        .unwrap_or(Attempt::Landed(Err(Refusal::Panicked)))
}

async fn ask(once: &Once, request: ClaimRequest) -> Asked {
    let asked = once.shared.clock.now();
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
        let mut pause = LOOK_FIRST;
        while !self.patience.is_zero() {
            pause = pause.min(self.patience);
            self.woken_or(pause).await;
            self.patience -= pause;
            pause = (pause * 2).min(LOOK_MAX);
            let store = &self.operation.once.shared.store;
            let found = store.look_up_one(self.operation.identity.clone()).await;
            let running = found.map_err(Refusal::Store)?;
            if !running.is_some_and(|record| matches!(record.state, State::Running { .. })) {
                return Ok(());
            }
        }
        let retry_after = lease_left.clamp(LOOK_FIRST, RETRY_AFTER_MAX);
        Err(Refusal::InProgress { retry_after })
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
                self.takeover = Takeover::Of(fence);
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
