//! One claim: asks for it and, if it is granted, has its owner run the function.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tokio::sync::oneshot;

use super::Operation;
use super::answer::{Finished, Refusal, Reply};
use super::drain::Counted;
use super::lease::LeaseLife;
use super::owner::{Ended, Owner, Run};
use crate::budget::Permit;
use crate::clock::Moment;
use crate::record::Lease;
use crate::store::{ClaimAnswer, ClaimRequest, StoreExt};

/// An answer to a claim, and when the claim was asked for.
pub(super) type Asked = (crate::Result<ClaimAnswer>, Moment);

/// What came of one claim.
pub(super) enum Attempt<R, F> {
    /// It was granted and the run has ended.
    Ended(Result<Reply<R>, Refusal>),
    /// It was granted, but its lease had ended before the run could begin. It is given back.
    NotBegun(F),
    /// It was not granted; the function has not been called.
    NotGranted(crate::Result<ClaimAnswer>, F),
}

/// Claims and, if the claim is granted, runs: in a task of its own, so that a caller that is
/// cancelled at any point leaves neither an unused lease nor half a run behind.
///
/// Most duplicates need no task: a store that has the answer in memory gives it at the first poll.
pub(super) async fn attempt<R, F, Fut>(
    operation: &Operation,
    request: ClaimRequest,
    first: Option<Asked>,
    f: F,
    place: Option<Permit>,
) -> Attempt<R, F>
where
    R: Send + 'static,
    F: FnOnce(Run) -> Fut + Send + 'static,
    Fut: Future<Output = Finished<R>> + Send + 'static,
{
    let asking = match first {
        Some(asked) => Asking::Answered(asked),
        None => Asking::Waiting(Box::pin(ask(operation.clone(), request))),
    };
    let asking = match asking.polled_once().await {
        Asking::Answered((answer, _)) if !matches!(answer, Ok(ClaimAnswer::Granted(_))) => {
            return Attempt::NotGranted(answer, f);
        }
        asking => asking,
    };
    let (sender, outcome) = oneshot::channel();
    let operation = operation.clone();
    let counted = Counted::new(&operation.once.shared);
    tokio::spawn(async move {
        let _counted = counted;
        let (answer, asked) = match asking {
            Asking::Answered(asked) => asked,
            Asking::Waiting(asking) => asking.await,
        };
        match answer {
            Ok(ClaimAnswer::Granted(lease)) => {
                let reply = Answering { sender, place };
                own(operation, lease, asked, f, reply).await;
            }
            other => Answering { sender, place }.send(Attempt::NotGranted(other, f)),
        }
    });
    // Without an answer the runtime is going down; a granted lease will end by itself.
    outcome
        .await
        .unwrap_or(Attempt::Ended(Err(Refusal::Panicked)))
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

async fn ask(operation: Operation, request: ClaimRequest) -> Asked {
    let asked = Moment::now();
    let store = &operation.once.shared.store;
    (store.claim_one(request).await, asked)
}

/// The way back to the caller, and the place that the call has until then.
struct Answering<R, F> {
    sender: oneshot::Sender<Attempt<R, F>>,
    place: Option<Permit>,
}

impl<R, F> Answering<R, F> {
    /// The place first, so that the caller's next call finds it free.
    fn send(self, attempt: Attempt<R, F>) {
        drop(self.place);
        // The caller may have left: the record is what counts, so a failed send is no failure.
        let _ = self.sender.send(attempt);
    }
}

/// Owns a granted claim; its lease is renewed from the wait for its turn to the recorded outcome.
async fn own<R, F, Fut>(
    operation: Operation,
    lease: Lease,
    asked: Moment,
    f: F,
    answering: Answering<R, F>,
) where
    R: Send + 'static,
    F: FnOnce(Run) -> Fut + Send + 'static,
    Fut: Future<Output = Finished<R>> + Send + 'static,
{
    let Operation {
        once,
        turns,
        own_task,
        ..
    } = operation;
    let (store, claim) = (once.shared.store.clone(), lease.claim.clone());
    let life = LeaseLife::new(once.policy.lease, asked);
    let owner = Owner::new(once, lease, life.clone());
    let reply = |ended| {
        let attempt = match ended {
            Ended::Ran(reply) => Attempt::Ended(reply),
            Ended::NotBegun(f) => Attempt::NotBegun(f),
            Ended::NotGivenBack(error) => Attempt::Ended(Err(Refusal::Store(error))),
        };
        answering.send(attempt);
    };
    let work = async {
        let _turn = match turns {
            Some(turns) => turns.acquire_owned().await.ok(),
            None => None,
        };
        owner.run(own_task, f, reply).await;
    };
    life.kept_during(store, claim, work).await;
}
