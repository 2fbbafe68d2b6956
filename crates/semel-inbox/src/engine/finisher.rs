//! Finishes attempts: all that wait go in one call.
//!
//! An effect that has happened is offered to the store until the store takes it or says that the claim is lost. Only what the store calls
//! invalid can never be taken, and is parked with the reason.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{BATCH_MAX, Cause, Disposition, Finish, Finished};
use semel_core::{Error, Kind};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::active::ActiveConsumer;
use super::attempt::FinishedAttempt;
use crate::pause;

/// How many attempts may wait to be finished; more wait where they are.
pub(super) const WAITING_MAX: usize = BATCH_MAX;
/// The most bytes that one call brings along, unless a single attempt brings more.
const BYTES_MAX: usize = 8 * 1024 * 1024;
/// The pause after a call that failed, at first.
const PAUSE: Duration = Duration::from_millis(50);

/// Attempts that the store could not take by themselves while it took others; they are offered again and again.
#[derive(Default)]
struct Stuck {
    all: Vec<FinishedAttempt>,
    pause: Duration,
    next: Option<Instant>,
}

/// Finishes what comes until all senders are gone and nothing is stuck.
pub(super) async fn run(active: Arc<ActiveConsumer>, mut endings: mpsc::Receiver<FinishedAttempt>) {
    let (mut held, mut stuck, mut is_closed) = (None, Stuck::default(), false);
    loop {
        let first = match held.take() {
            Some(ending) => ending,
            None if is_closed && stuck.all.is_empty() => return,
            None => tokio::select! {
                ending = endings.recv(), if !is_closed && stuck.all.len() < WAITING_MAX => match ending {
                    Some(ending) => ending,
                    None => {
                        is_closed = true;
                        continue;
                    }
                },
                () = sleep_until(stuck.next.unwrap_or_else(Instant::now)), if stuck.next.is_some() => {
                    offer_again(&active, &mut stuck).await;
                    continue;
                }
            },
        };
        let batch = batch(first, &mut endings, &mut held);
        let left = finish(&active, batch, false).await;
        stuck.add(left);
    }
}

impl Stuck {
    fn add(&mut self, left: Vec<FinishedAttempt>) {
        if left.is_empty() {
            return;
        }
        if self.next.is_none() {
            self.pause = PAUSE;
            self.next = Some(Instant::now() + PAUSE);
        }
        self.all.extend(left);
    }
}

/// Offers each one that is stuck by itself.
async fn offer_again(active: &ActiveConsumer, stuck: &mut Stuck) {
    let mut left = Vec::new();
    for ending in std::mem::take(&mut stuck.all) {
        left.extend(finish(active, vec![ending], true).await);
    }
    stuck.pause = pause::longer(stuck.pause);
    stuck.next = (!left.is_empty()).then(|| Instant::now() + stuck.pause);
    stuck.all = left;
}

/// What goes along with the first in one call; one that is too much for it is held for the next.
fn batch(
    first: FinishedAttempt,
    endings: &mut mpsc::Receiver<FinishedAttempt>,
    held: &mut Option<FinishedAttempt>,
) -> Vec<FinishedAttempt> {
    let mut bytes = weight(&first);
    let mut batch = vec![first];
    while batch.len() < BATCH_MAX
        && let Ok(next) = endings.try_recv()
    {
        bytes += weight(&next);
        if bytes > BYTES_MAX {
            *held = Some(next);
            break;
        }
        batch.push(next);
    }
    batch
}

/// How many bytes an attempt's end brings along.
fn weight(ending: &FinishedAttempt) -> usize {
    match &ending.finish.disposition {
        Disposition::Completed { outcome, intents } => {
            let body = outcome.body.kept().map_or(0, bytes::Bytes::len);
            let payloads = intents.iter().map(|intent| intent.message.payload().len());
            body + payloads.sum::<usize>()
        }
        _ => 0,
    }
}

/// Finishes a batch; what the store could not take by itself. While the store is away this goes on trying: the effects have
/// happened, and only this process knows.
async fn finish(
    active: &ActiveConsumer,
    batch: Vec<FinishedAttempt>,
    in_doubt: bool,
) -> Vec<FinishedAttempt> {
    match tried(active, &batch, in_doubt).await {
        Ok(answers) => {
            tell(active, batch, answers).await;
            Vec::new()
        }
        Err(error) if batch.len() > 1 => {
            let consumer = active.policy.name();
            tracing::warn!(%consumer, %error, "attempts are finished one by one, because one of them is refused");
            let mut left = Vec::new();
            for ending in batch {
                let in_doubt = in_doubt || error.kind() == Kind::Internal;
                left.extend(Box::pin(finish(active, vec![ending], in_doubt)).await);
            }
            left
        }
        Err(error) if error.kind() == Kind::Invalid => {
            for ending in batch {
                refused(active, ending, &error).await;
            }
            Vec::new()
        }
        Err(error) => {
            for ending in &batch {
                let (consumer, id) = (active.policy.name(), ending.message.identity().key());
                tracing::error!(%consumer, message = %id, %error, "the end of an attempt is not taken by the store and is offered again");
            }
            batch
        }
    }
}

/// What the store answered.
struct Answers {
    finished: Vec<Finished>,
    /// Whether an earlier call failed, and may have counted all the same.
    in_doubt: bool,
}

/// The store's answers; an error only if one of the items may be the reason.
async fn tried(
    active: &ActiveConsumer,
    batch: &[FinishedAttempt],
    mut in_doubt: bool,
) -> semel_core::Result<Answers> {
    let mut wait = PAUSE;
    loop {
        let items: Vec<Finish> = batch.iter().map(|ending| ending.finish.clone()).collect();
        let plan = active.policy.plan.clone();
        match active.shared.inbox.finish(plan, items).await {
            Ok(finished) => return Ok(Answers { finished, in_doubt }),
            Err(error) if may_be_an_item(&error) => return Err(error),
            Err(error) => {
                let (consumer, waiting) = (active.policy.name(), batch.len());
                tracing::warn!(%consumer, waiting, %error, "attempts cannot be finished, trying again");
                in_doubt = true;
                sleep(wait).await;
                wait = pause::longer(wait);
            }
        }
    }
}

/// Whether an error may be about one of the items, rather than about the store.
const fn may_be_an_item(error: &Error) -> bool {
    error.is_about_an_item() || matches!(error.kind(), Kind::Invalid | Kind::Internal | Kind::Limit)
}

/// An end that breaks a rule of the store is parked with its error, so that a person finds it; if that is refused too, its lease ends.
async fn refused(active: &ActiveConsumer, mut ending: FinishedAttempt, error: &Error) {
    active.note(
        ending.message.identity(),
        "the end of an attempt is refused by the store",
    );
    ending.finish.disposition = Disposition::Park {
        cause: Cause::Unknown,
        error: ErrorText::new(format!("its end was refused by the store: {error}")),
    };
    let batch = vec![ending];
    match tried(active, &batch, false).await {
        Ok(answers) => tell(active, batch, answers).await,
        Err(_) => active.shared.flights.end(&batch[0].finish.claim),
    }
}

async fn tell(active: &ActiveConsumer, batch: Vec<FinishedAttempt>, answers: Answers) {
    let shared = &active.shared;
    for (ending, answer) in batch.into_iter().zip(answers.finished) {
        shared.flights.end(&ending.finish.claim);
        // What was not begun has not ended.
        if matches!(ending.finish.disposition, Disposition::Return) {
            continue;
        }
        let state = ending.finish.disposition.state();
        let is_late = match answer {
            Finished::Done => false,
            Finished::Lost => !(answers.in_doubt && has_reached(active, &ending).await),
        };
        let identity = ending.message.identity();
        match is_late {
            true => active.note(identity, "an attempt ended too late and changes nothing"),
            false => {
                ending.log_failure();
                shared.finals.tell(identity, state);
                if super::is_settled(state) {
                    active.backlog.done();
                }
            }
        }
        shared.watch.finished(&ending.message, ending.end(is_late));
    }
}

/// Whether a message is where an attempt's end led it: an earlier call, whose answer was lost, may have counted.
async fn has_reached(active: &ActiveConsumer, ending: &FinishedAttempt) -> bool {
    let identity = ending.message.identity().clone();
    let found = active.shared.inbox.states(vec![identity]).await;
    let expected = Some(ending.finish.disposition.state());
    found.is_ok_and(|states| states.first().is_some_and(|state| *state == expected))
}
