//! Finishes attempts: all that wait go in one call.

use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{BATCH_MAX, Cause, Disposition, Finish, Finished};
use semel_core::{Error, Kind};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::active::ActiveConsumer;
use super::attempt::FinishedAttempt;
use crate::pause;

/// How many attempts may wait to be finished; more wait where they are.
pub(super) const WAITING_MAX: usize = BATCH_MAX;
/// The most bytes that one call brings along, unless a single attempt brings more.
const BYTES_MAX: usize = 8 * 1024 * 1024;
/// The pause after a call that failed, at first.
const PAUSE: Duration = Duration::from_millis(50);

/// Finishes what comes until all senders are gone.
pub(super) async fn run(active: Arc<ActiveConsumer>, mut endings: mpsc::Receiver<FinishedAttempt>) {
    let mut held = None;
    loop {
        let first = match held.take() {
            Some(ending) => ending,
            None => match endings.recv().await {
                Some(ending) => ending,
                None => return,
            },
        };
        let mut bytes = weight(&first);
        let mut batch = vec![first];
        while batch.len() < BATCH_MAX
            && let Ok(next) = endings.try_recv()
        {
            bytes += weight(&next);
            if bytes > BYTES_MAX {
                held = Some(next);
                break;
            }
            batch.push(next);
        }
        finish(&active, batch).await;
    }
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

/// Finishes a batch. While the store is away this goes on trying: the effects have happened, and nobody else knows.
async fn finish(active: &ActiveConsumer, batch: Vec<FinishedAttempt>) {
    match tried(active, &batch).await {
        Ok(answers) => tell(active, batch, answers).await,
        Err(error) if batch.len() > 1 => {
            let consumer = active.policy.name();
            tracing::warn!(%consumer, %error, "attempts are finished one by one, because one of them is refused");
            for ending in batch {
                Box::pin(finish(active, vec![ending])).await;
            }
        }
        Err(error) => {
            for ending in batch {
                refused(active, ending, &error).await;
            }
        }
    }
}

/// What the store answered.
struct Answers {
    finished: Vec<Finished>,
    /// Whether an earlier call failed, and may have counted all the same.
    in_doubt: bool,
}

/// The store's answers; an error only if it will not go away.
async fn tried(active: &ActiveConsumer, batch: &[FinishedAttempt]) -> semel_core::Result<Answers> {
    let (mut wait, mut in_doubt) = (PAUSE, false);
    loop {
        let items: Vec<Finish> = batch.iter().map(|ending| ending.finish.clone()).collect();
        let plan = active.policy.plan.clone();
        match active.shared.inbox.finish(plan, items).await {
            Ok(finished) => return Ok(Answers { finished, in_doubt }),
            Err(error) if is_about_items(error.kind()) => return Err(error),
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

/// Whether an error says that the items are wrong, rather than that the store is.
const fn is_about_items(kind: Kind) -> bool {
    matches!(kind, Kind::Invalid | Kind::Internal)
}

/// An end that the store refuses is parked with its error, so that a person finds it; if that is refused too, its lease ends.
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
    match tried(active, &batch).await {
        Ok(answers) => tell(active, batch, answers).await,
        Err(_) => active.shared.flights.end(&batch[0].finish.claim),
    }
}

async fn tell(active: &ActiveConsumer, batch: Vec<FinishedAttempt>, answers: Answers) {
    let shared = &active.shared;
    for (ending, answer) in batch.into_iter().zip(answers.finished) {
        shared.flights.end(&ending.finish.claim);
        let state = ending.finish.disposition.state();
        let is_late = match answer {
            Finished::Done => false,
            Finished::Lost => !(answers.in_doubt && has_reached(active, &ending).await),
        };
        let identity = ending.message.identity();
        match is_late {
            true => active.note(identity, "an attempt ended too late and changes nothing"),
            false => shared.finals.tell(identity, state),
        }
        // What was not begun has not ended.
        if !matches!(ending.finish.disposition, Disposition::Return) {
            shared.watch.finished(&ending.message, ending.end(is_late));
        }
    }
}

/// Whether a message is where an attempt's end led it: an earlier call, whose answer was lost, may have counted.
async fn has_reached(active: &ActiveConsumer, ending: &FinishedAttempt) -> bool {
    let identity = ending.message.identity().clone();
    let found = active.shared.inbox.message(identity).await;
    matches!(found, Ok(Some(detail)) if detail.entry.state == ending.finish.disposition.state())
}
