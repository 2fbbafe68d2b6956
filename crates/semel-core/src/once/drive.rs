//! Asks for a claim and does what its answer asks for: run, replay, wait, reconcile or refuse.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Operation;
use super::answer::{Finished, Refusal, Reply};
use super::attempt::{Asked, Attempt, attempt};
use super::look::{LOOK_FIRST, PATIENCE_MAX, must_be_open};
use super::owner::Run;
use super::reconcile::Reconciled;
use crate::budget::Permit;
use crate::policy::{InProgress, OnUnknown};
use crate::record::{Claim, Fence, Record, State};
use crate::store::{Actor, ClaimAnswer, ClaimRequest, ResolveRequest, StoreExt, Takeover};

/// How often a caller reconciles, or is granted a claim too late to begin, before it is refused. Rounds of
/// waiting do not count: they end with the caller's patience.
const DECISIONS_MAX: usize = 16;
/// What a refused duplicate is told to wait, unless the lease ends sooner.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(1);

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
    // A claim that was made already may have been granted, and is not to be left behind for a cache hit.
    if first.is_none()
        && let Some(record) = operation.cached()
    {
        return Ok(Reply::Replayed(record));
    }
    let mut driver = Driver::new(operation);
    let (mut first, mut f) = (first, f);
    let mut decisions = 0;
    while decisions < DECISIONS_MAX {
        let request = driver.request();
        let place = match driver.place() {
            Ok(place) => place,
            // A claim that was granted already is run: giving it up would cost more than its place.
            Err(_full) if first.is_some() => None,
            Err(full) => return driver.settled().await.map(Reply::Replayed).ok_or(full),
        };
        let answer = match attempt(&driver.operation, request, first.take(), f, place).await {
            Attempt::Ended(reply) => return reply,
            Attempt::NotBegun(unused) => {
                (decisions, f) = (decisions + 1, unused);
                continue;
            }
            Attempt::NotGranted(answer, unused) => {
                f = unused;
                if let Some(hook) = &driver.operation.not_granted {
                    hook.call();
                }
                answer.map_err(Refusal::Store)?
            }
        };
        match answer {
            ClaimAnswer::Granted(_) => unreachable!("a granted claim has an owner"),
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
                // Asking takes as long as a run, and a place as a run does.
                let _place = driver.place()?;
                driver.reconcile(fence, refusal).await?;
            }
        }
    }
    Err(Refusal::InProgress {
        retry_after: RETRY_AFTER_MAX,
    })
}

struct Driver {
    operation: Operation,
    takeover: Takeover,
    /// When this caller stops waiting.
    patience_ends: Instant,
}

impl Driver {
    fn new(operation: Operation) -> Self {
        let policy = operation.once.policy;
        let patience = match policy.in_progress {
            InProgress::Wait(patience) => patience.min(PATIENCE_MAX),
            InProgress::Refuse => Duration::ZERO,
        };
        Self {
            takeover: takeover_of(policy.on_unknown),
            patience_ends: Instant::now() + patience,
            operation,
        }
    }

    fn request(&self) -> ClaimRequest {
        ClaimRequest {
            takeover: self.takeover,
            ..request(&self.operation)
        }
    }

    /// A place among the runs, where there is a limit.
    fn place(&self) -> Result<Option<Permit>, Refusal> {
        match &self.operation.once.places {
            Some(places) => places.run().map(Some).ok_or(Refusal::TooManyRuns),
            None => Ok(None),
        }
    }

    /// What is on record if it is settled: a replay runs nothing and needs no place.
    async fn settled(&self) -> Option<Arc<Record>> {
        let Operation {
            once,
            identity,
            fingerprint,
            ..
        } = &self.operation;
        let found = once.shared.store.look_up_one(identity.clone()).await;
        let is_ours = |record: &Record| {
            record.fingerprint == *fingerprint
                && matches!(record.state, State::Settled(_))
                && must_be_open(Some(record)).is_ok()
        };
        found.ok().flatten().filter(|record| is_ours(record))
    }

    /// Waits until the operation no longer runs; refuses when the caller's patience ends.
    async fn wait(&self, lease_left: Duration) -> Result<(), Refusal> {
        let retry_after = lease_left.clamp(LOOK_FIRST, RETRY_AFTER_MAX);
        let Operation { once, identity, .. } = &self.operation;
        let waited = once.wait(identity, self.patience_ends, retry_after).await;
        waited.map(drop)
    }

    /// Lets the next claim take over from `fence`, which had no effect.
    fn may_take_over(&mut self, fence: Fence) {
        if self.takeover != Takeover::Allowed {
            self.takeover = Takeover::Of(fence);
        }
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
        let answer = reconciler.ask(identity, fence).await;
        if answer == Reconciled::DidNotHappen {
            // The next claim takes over at once, which a release and a claim would do in two steps.
            self.may_take_over(fence);
            return Ok(());
        }
        let resolution = answer.resolution(once.policy.retention);
        let request = ResolveRequest {
            claim: Claim {
                identity: identity.clone(),
                fence,
            },
            by: Actor::component("reconciler"),
            resolution: resolution.ok_or(refusal)?,
            reason: None,
        };
        // A refusal means that another decision was faster; the next claim shows how.
        let resolved = once.shared.store.resolve_one(request).await;
        resolved.map(drop).map_err(Refusal::Store)
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
        about: operation.about.clone(),
        nonce: None,
    }
}

fn takeover_of(on_unknown: OnUnknown) -> Takeover {
    match on_unknown {
        OnUnknown::Rerun => Takeover::Allowed,
        OnUnknown::Hold | OnUnknown::Reconcile => Takeover::Never,
    }
}
