//! The inbox on the same file: messages that wait to take effect, beside the records that say what has.
//!
//! Read it in this order: `migrations/0003_inbox.sql` says what is in the tables; `rows`, `records`, `history` and `lanes` read
//! and write them; `receive`, `claim` and `finish` are the verbs; what lanes do is decided by [`semel_core::inbox::lanes`];
//! `operate`, `select`, `edits` and `pauses` carry out what people decide; `inspect` shows what is there; `sweep` looks
//! after deadlines and retention. [`tx`] is the user's own transaction.
//!
//! All verbs go through the store's one writer, so many callers share a commit, and no two of them ever decide about the same lane
//! at once. WakeUps ring after the commit.

mod claim;
mod edits;
mod erase;
mod filter;
mod finish;
mod history;
mod inspect;
mod lanes;
mod notes;
mod operate;
mod pauses;
mod positions;
mod receive;
mod records;
mod rows;
mod select;
mod sql;
pub(crate) mod sweep;
#[cfg(test)]
pub(crate) mod tests;
pub mod tx;

pub(crate) use notes::Notes;
pub use tx::{finish_in, receive_in};

use semel_core::inbox::positions::check_taking;
use semel_core::inbox::{
    Arrivals, Claim, ClaimBatch, Claimed, Counts, Detail, Finish, Finished, Gap, Inbox, Operation,
    Page, Plan, Query, Receipt, Renewal, Report, State, Step, Taken, WaitingLane, WakeUp,
};
use semel_core::store::{Actor, Answer};
use semel_core::{Error, Identity, LeaseTerm, Result, Scope};

use crate::job::{Job, Manner, VerbJob};
use crate::store::SqliteStore;
use crate::verbs::Session;

impl SqliteStore {
    /// Wakes whoever waits for messages of a consumer: for those who received or finished some in a transaction of their own.
    pub fn wake(&self, consumer: &Scope) {
        self.wake_ups.wake(consumer);
    }

    /// Queues a verb of one item for the writer, unless the item breaks the rules.
    fn write_one<I, A>(
        &self,
        checked: Result<()>,
        (item, body_bytes): (I, usize),
        manner: Manner<Vec<A>>,
        verb: impl Fn(&mut Session<'_>, &I) -> Result<A> + Send + 'static,
    ) -> Answer<'_, A>
    where
        I: Send + 'static,
        A: Send + 'static,
    {
        if let Err(error) = checked {
            return refused(error);
        }
        let written = self.write(vec![item], body_bytes, manner, verb);
        Box::pin(async move {
            let answers = written.await?;
            let answer = answers.into_iter().next();
            Ok(answer.expect("the writer gives one answer per item"))
        })
    }
}

/// Returns messages whose claimer went away before it heard: they were not begun, and the attempt does not count.
fn returned(claimed: Vec<Claimed>) -> Option<Box<dyn Job>> {
    let jobs = claimed.into_iter().flat_map(|claimed| claimed.jobs);
    let claims: Vec<Claim> = jobs.map(|job| job.claim).collect();
    let verb = |session: &mut Session<'_>, claims: &Vec<Claim>| {
        claims.iter().try_for_each(|t| session.unclaim(t))
    };
    (!claims.is_empty()).then(|| VerbJob::alone(claims, verb))
}

fn refused<'a, A: Send + 'a>(error: Error) -> Answer<'a, A> {
    Box::pin(std::future::ready(Err(error)))
}

impl Inbox for SqliteStore {
    fn receive(&self, arrivals: Arrivals) -> Answer<'_, Vec<Receipt>> {
        let checked = arrivals.check();
        let payloads = arrivals.messages.iter().map(|m| m.payload().len());
        let bytes = payloads.sum();
        self.write_one(
            checked,
            (arrivals, bytes),
            Manner::FACT,
            |session, arrivals| session.receive(arrivals),
        )
    }

    fn take_positions(&self, source: String, partitions: Vec<String>) -> Answer<'_, Vec<Taken>> {
        let checked = check_taking(&source, &partitions);
        let taking = positions::Taking { source, partitions };
        self.write_one(checked, (taking, 0), Manner::FAVOUR, |session, taking| {
            session.take_positions(taking)
        })
    }

    /// Whether anything is due is seen without the writer, so that those who find nothing disturb nobody.
    fn claim_batch(&self, ask: ClaimBatch) -> Answer<'_, Claimed> {
        let nothing = self.at_once.ask(&self.clock, |connection, now| {
            claim::nothing_due(connection, &ask.plan.consumer, now)
        });
        if let Some(Some(nothing)) = nothing {
            return Box::pin(std::future::ready(Ok(nothing)));
        }
        let manner = Manner::grant(returned);
        self.write_one(Ok(()), (ask, 0), manner, |session, ask| {
            session.claim_batch(ask)
        })
    }

    fn renew(&self, claims: Vec<Claim>, lease: LeaseTerm) -> Answer<'_, Vec<Renewal>> {
        self.write(claims, 0, Manner::FAVOUR, move |session, claim| {
            session.renew_message(claim, lease)
        })
    }

    fn finish(&self, plan: Plan, items: Vec<Finish>) -> Answer<'_, Vec<Finished>> {
        if let Err(error) = items.iter().try_for_each(|item| finish::check(&plan, item)) {
            return refused(error);
        }
        let bytes = items.iter().map(finish::body_bytes).sum();
        self.write(items, bytes, Manner::FACT, move |session, item| {
            session.finish_message(&plan, item)
        })
    }

    fn remember_step(&self, claim: Claim, step: Step) -> Answer<'_, Renewal> {
        let bytes = step.result.len();
        let item = ((claim, step), bytes);
        self.write_one(Ok(()), item, Manner::FACT, |session, (claim, step)| {
            session.remember_step(claim, step)
        })
    }

    fn advance_lanes(&self, plan: Plan, limit: usize) -> Answer<'_, usize> {
        let item = ((plan, limit), 0);
        self.write_one(Ok(()), item, Manner::FAVOUR, |session, (plan, limit)| {
            session.advance_lanes(plan, *limit)
        })
    }

    fn wake_up(&self, consumer: &Scope) -> WakeUp {
        self.wake_ups.wake_up(consumer)
    }

    fn list_messages(&self, query: Query) -> Answer<'_, Page> {
        self.read(&self.slow_reads, move |connection| {
            inspect::list(connection, &query)
        })
    }

    fn states(&self, identities: Vec<Identity>) -> Answer<'_, Vec<Option<State>>> {
        let clock = self.clock.clone();
        self.read(&self.reads, move |connection| {
            let at = (clock.now(), clock.grace());
            let state = |identity| inspect::state(connection, identity, at);
            identities.iter().map(state).collect()
        })
    }

    fn set_paused(
        &self,
        consumer: Scope,
        paused: bool,
        by: Actor,
        reason: Option<String>,
    ) -> Answer<'_, bool> {
        let asked = pauses::Pausing {
            consumer,
            paused,
            by,
            reason,
        };
        self.write_one(Ok(()), (asked, 0), Manner::FACT, |session, asked| {
            session.set_paused(asked)
        })
    }

    fn message(&self, identity: Identity) -> Answer<'_, Option<Detail>> {
        let clock = self.clock.clone();
        self.read(&self.reads, move |connection| {
            inspect::message(connection, &identity, (clock.now(), clock.grace()))
        })
    }

    fn gaps(&self, consumer: Scope, limit: usize) -> Answer<'_, Vec<Gap>> {
        self.read(&self.slow_reads, move |connection| {
            inspect::gaps(connection, &consumer, limit)
        })
    }

    fn waiting_lanes(&self, consumer: Scope, limit: usize) -> Answer<'_, Vec<WaitingLane>> {
        self.read(&self.slow_reads, move |connection| {
            inspect::waiting_lanes(connection, &consumer, limit)
        })
    }

    fn counts(&self) -> Answer<'_, Vec<Counts>> {
        let clock = self.clock.clone();
        let count = self.read(&self.slow_reads, move |connection| {
            inspect::counts(connection, clock.now())
        });
        Box::pin(self.counts.counts(count))
    }

    fn operate(&self, operation: Operation) -> Answer<'_, Report> {
        let edit = operation.edit.as_ref();
        let bytes = edit.map_or(0, |edit| edit.payload().len());
        self.write_one(
            operate::check(&operation),
            (operation, bytes),
            Manner::FACT,
            |session, operation| session.operate(operation),
        )
    }

    fn expose_processed(&self, view: String) -> Answer<'_, ()> {
        let checked = inspect::check(&view);
        self.write_one(checked, (view, 0), Manner::FACT, |session, view| {
            session.expose_processed(view)
        })
    }
}
