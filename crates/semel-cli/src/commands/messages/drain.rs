//! Reads a broker until it has nothing more, for verbs that end by themselves.

use std::time::Duration;

use semel_core::duration::show;
use semel_core::store::Answer;
use semel_inbox::Source;
use semel_inbox::source::{Delivery, Event, Facts, Settle, Settled, Want};
use tokio::time::{Instant, timeout, timeout_at};

use super::intake::WANT;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::{output, text};

/// How long a broker may take to answer, and to deliver what it says is there: a group of Kafka waits 45 s for a member that was killed.
const PATIENCE: Duration = Duration::from_secs(60);

/// When reading ends.
pub(crate) struct Until {
    /// Nothing has come for so long, and the broker says that nothing waits.
    pub(crate) quiet: Duration,
    /// So many deliveries have come.
    pub(crate) count: u64,
    /// So much time has passed.
    pub(crate) within: Option<Duration>,
}

/// How reading ended.
#[derive(Debug, Default)]
#[must_use]
pub(crate) struct Drained {
    /// How many deliveries could not be acknowledged.
    unsettled: u64,
    /// What is left at the broker, although nothing came.
    left: Left,
    /// Whether a limit of [`Until`] ended it.
    pub(crate) is_cut: bool,
    /// What ended it early.
    failed: Option<Error>,
    /// Why the source did not end well.
    unclosed: Option<Error>,
}

/// What a broker has for the group and has not delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Left {
    /// How many messages it knows of: those that wait, and those that readers hold, which may be dead.
    known: u64,
    /// Whether it does not know of all.
    may_be_more: bool,
}

impl Left {
    fn of(facts: &Facts) -> Self {
        let count = |count: Option<u64>| count.unwrap_or(0);
        Self {
            known: count(facts.lag).saturating_add(count(facts.held)),
            may_be_more: facts.lag.is_none() || facts.held.is_none(),
        }
    }
}

/// Hands deliveries to `take` until there are no more, and acknowledges them once it has returned. A source that cannot be opened is an error; what
/// ends the reading later is part of the answer, because deliveries were taken already.
pub(crate) async fn drain(
    source: &dyn Source,
    until: &Until,
    take: impl AsyncFnMut(&[Delivery]) -> Result<()>,
) -> Result<Drained> {
    answered(source, source.open(Vec::new())).await?;
    let mut drained = Drained::default();
    drained.failed = read(source, until, take, &mut drained).await.err();
    drained.unclosed = answered(source, source.close()).await.err();
    Ok(drained)
}

async fn read(
    source: &dyn Source,
    until: &Until,
    mut take: impl AsyncFnMut(&[Delivery]) -> Result<()>,
    drained: &mut Drained,
) -> Result<()> {
    let end = until.within.map(|within| Instant::now() + within);
    let (mut heard, mut left) = (Instant::now(), until.count);
    let mut due = heard + until.quiet;
    loop {
        let is_over = end.is_some_and(|end| Instant::now() >= end);
        drained.is_cut = is_over || left == 0;
        if drained.is_cut {
            return Ok(());
        }
        let count = usize::try_from(left).unwrap_or(usize::MAX);
        let next = source.next(Want {
            count: count.min(WANT.count),
            ..WANT
        });
        match timeout_at(end.map_or(due, |end| end.min(due)), next).await {
            Ok(event) => match event.map_err(|error| named(source, error.into()))? {
                Event::Batch(batch) => {
                    take(&batch.deliveries).await?;
                    left = left.saturating_sub(batch.deliveries.len() as u64);
                    drained.unsettled += acknowledge(source, batch.deliveries).await?;
                    heard = Instant::now();
                    due = heard + until.quiet;
                }
                Event::End => return Ok(()),
                // Each batch is dealt with before the next call, so nothing is open that could be lost.
                _ => {}
            },
            Err(_) if Instant::now() < due => {}
            Err(_) => {
                drained.left = Left::of(&answered(source, source.facts()).await?);
                if drained.left.known == 0 || heard.elapsed() >= PATIENCE.max(until.quiet) {
                    return Ok(());
                }
                due = Instant::now() + until.quiet;
            }
        }
    }
}

/// How many could not be acknowledged.
async fn acknowledge(source: &dyn Source, deliveries: Vec<Delivery>) -> Result<u64> {
    let handles = deliveries.into_iter().map(|delivery| delivery.handle);
    let acks = handles.map(|handle| (handle, Settle::Ack)).collect();
    let settled = answered(source, source.settle(acks)).await?;
    let unsettled = settled.iter().filter(|settled| **settled != Settled::Done);
    Ok(unsettled.count() as u64)
}

/// What a source answers, if it does so in time; an error names it.
pub(crate) async fn answered<T>(source: &dyn Source, answer: Answer<'_, T>) -> Result<T> {
    let late = || {
        let message = format!("the broker does not answer within {}", show(PATIENCE));
        Error::new(Exit::Unavailable, message)
    };
    let answered = timeout(PATIENCE, answer).await;
    let answered = answered.map_err(|_| late()).and_then(|said| Ok(said?));
    answered.map_err(|error| named(source, error))
}

/// Says which source it is about.
fn named(source: &dyn Source, error: Error) -> Error {
    error.when(source.name())
}

impl Drained {
    /// Says what became of the deliveries at the broker; an error if the reading failed, or if messages are left that it should have brought. Comes after
    /// the counts of what was taken, which hold in any case.
    pub(crate) fn verdict(self) -> Result<()> {
        for note in self.notes() {
            output::note(&note);
        }
        match self.failed {
            Some(error) => Err(error),
            None if self.left.known > 0 && !self.is_cut => Err(remaining(self.left.known)),
            None => Ok(()),
        }
    }

    fn notes(&self) -> Vec<String> {
        let unsettled = (self.unsettled > 0).then(|| {
            format!(
                "{} could not be acknowledged: the broker delivers what it keeps of them again, as duplicates",
                messages(self.unsettled)
            )
        });
        let unclosed = self.unclosed.as_ref().map(|error| {
            format!("the source did not end well: {}; the broker may deliver what was acknowledged last again, as duplicates", error.message())
        });
        let is_unsure = self.left.may_be_more && !self.is_cut && self.failed.is_none();
        let unsure = is_unsure.then(|| {
            "the broker does not say whether more waits, or whether other readers hold messages: run it again later to be sure"
                .to_owned()
        });
        [unsettled, unclosed, unsure]
            .into_iter()
            .flatten()
            .collect()
    }
}

fn remaining(count: u64) -> Error {
    let message = format!(
        "the broker still counts {} that it did not deliver within {}: another reader may hold them, or one that died",
        messages(count),
        show(PATIENCE)
    );
    Error::new(Exit::Unavailable, message).hint("run it again later")
}

fn messages(count: u64) -> String {
    text::plural(count, "message", "messages")
}
