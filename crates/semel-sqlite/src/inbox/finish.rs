//! The end of attempts.

use std::time::Duration;

use rusqlite::params;
use semel_core::inbox::lanes::{Placed, Row};
use semel_core::inbox::work::{ErrorText, INTENTS_MAX};
use semel_core::inbox::{
    Attempt, Cause, Claim, Disposition, Finish, Finished, Intent, Plan, State,
};
use semel_core::{Error, Identity, Kind, Outcome, Result, Timestamp};

use super::lanes;
use super::notes::Consumer;
use super::records::{self, Settlement};
use super::rows::{self, Stored, Work};
use super::sql::{self, SqlCause, SqlState};
use crate::job;
use crate::verbs::Session;

/// Refuses ends that break the rules, before anything is written.
pub(super) fn check(plan: &Plan, item: &Finish) -> Result<()> {
    let (expected, found) = (&plan.consumer, item.claim.identity.scope());
    if expected != found {
        return Err(Error::invalid(format!(
            "all messages of a call must belong to the consumer {expected}, found one of {found}"
        )));
    }
    let Disposition::Completed { intents, .. } = &item.disposition else {
        return Ok(());
    };
    if intents.len() > INTENTS_MAX {
        let message = format!(
            "a message has at most {INTENTS_MAX} intents, found {}",
            intents.len()
        );
        return Err(Error::new(Kind::Limit, message));
    }
    let own = |intent: &Intent| intent.plan.check_own(&intent.message);
    intents.iter().try_for_each(own)
}

/// About how much memory the end of an attempt holds.
pub(super) fn body_bytes(item: &Finish) -> usize {
    match &item.disposition {
        Disposition::Completed { outcome, intents } => {
            let payloads = intents.iter().map(|intent| intent.message.payload().len());
            job::body_bytes(outcome) + payloads.sum::<usize>()
        }
        Disposition::Retry { .. }
        | Disposition::Terminal { .. }
        | Disposition::Park { .. }
        | Disposition::Skip { .. }
        | Disposition::NotReached { .. }
        | Disposition::Return => 0,
    }
}

/// A claim that is about to end.
struct Held<'a> {
    of: Consumer<'a>,
    identity: &'a Identity,
    stored: &'a Stored,
    work: &'a Work,
    took: Duration,
}

impl<'a> Held<'a> {
    fn settlement(&self, outcome: &'a Outcome, now: Timestamp) -> Settlement<'a> {
        let claimed_ms = match self.work.state {
            State::InProgress => self.work.changed_ms,
            _ => before(now, self.took).as_millis(),
        };
        Settlement {
            identity: self.identity,
            fingerprint: self.stored.fingerprint,
            fence: Some(self.work.fence),
            attempt: self.work.attempts,
            claimed_ms,
            outcome,
            took: self.took,
            retention: self.of.plan.retention,
        }
    }

    fn attempt(
        &self,
        state: State,
        cause: Cause,
        error: Option<&ErrorText>,
        now: Timestamp,
    ) -> Attempt {
        Attempt {
            generation: self.work.generation,
            number: self.work.attempts,
            fence: self.work.fence,
            worker: self.work.worker.clone(),
            began_at: Timestamp::from_millis(self.work.changed_ms),
            ended_at: now,
            state,
            cause: Some(cause),
            error: error.map(|error| error.as_str().to_owned()),
            answer: error.and_then(|error| error.answer().cloned()),
            late: false,
        }
    }
}

impl Session<'_> {
    /// Ends one attempt. It has been checked.
    pub(super) fn finish_message(&mut self, plan: &Plan, item: &Finish) -> Result<Finished> {
        let identity = &item.claim.identity;
        let Some(of) = self.consumer(plan)? else {
            return Ok(Finished::Lost);
        };
        let Some(stored) = rows::find(self.connection, of.number, identity)? else {
            return Ok(Finished::Lost);
        };
        let work = stored.work.as_ref();
        if let Some(work) = work.filter(|work| work.is_held_by(item.claim.fence)) {
            let held = Held {
                of,
                identity,
                stored: &stored,
                work,
                took: item.took,
            };
            self.conclude(&held, &item.disposition)?;
            return Ok(Finished::Done);
        }
        if self.was_settled_by(&item.claim, &item.disposition)? {
            return Ok(Finished::Done);
        }
        self.keep_late(&stored, item)?;
        Ok(Finished::Lost)
    }

    /// Whether this very end was written before: the caller did not hear of it and asks again.
    fn was_settled_by(&self, claim: &Claim, disposition: &Disposition) -> Result<bool> {
        if !disposition.state().is_final() {
            return Ok(false);
        }
        let record = records::brief(self.connection, &claim.identity)?;
        Ok(record.is_some_and(|r| r.fence == claim.fence && r.is_settled(self.kept_since())))
    }

    fn conclude(&mut self, held: &Held<'_>, disposition: &Disposition) -> Result<()> {
        match disposition {
            Disposition::Completed { outcome, intents } => self.complete(held, outcome, intents),
            Disposition::Skip { cause } => self.pass_over(held, *cause),
            Disposition::Retry {
                after,
                cause,
                error,
            } => {
                let due_ms = self.now.after(*after).as_millis();
                self.fail(held, State::FailedRetryable, *cause, error, Some(due_ms))
            }
            Disposition::NotReached { after, error } => {
                let due_ms = self.now.after(*after).as_millis();
                self.fail(
                    held,
                    State::FailedRetryable,
                    Cause::NotReached,
                    error,
                    Some(due_ms),
                )
            }
            Disposition::Terminal { error } => {
                self.fail(held, State::FailedTerminal, Cause::Terminal, error, None)
            }
            Disposition::Park { cause, error } => {
                self.fail(held, State::Parked, *cause, error, None)
            }
            Disposition::Return => self.give_back(held),
        }
    }

    /// The record is settled, the work is gone, and what is to be sent because of it is received.
    fn complete(&mut self, held: &Held<'_>, outcome: &Outcome, intents: &[Intent]) -> Result<()> {
        self.settle_message(&held.settlement(outcome, self.now))?;
        let number = held.work.number;
        let sql = "DELETE FROM semel_work WHERE number = ?1";
        sql::run(self.connection, sql, params![number])?;
        if held.work.replay > 0 {
            // The record says only when it was completed for the first time.
            let (cause, by) = (Some(Cause::Replayed), held.work.worker.as_deref());
            self.keep_transition(number, State::Completed, cause, by)?;
        }
        for intent in intents {
            let target = self.consumer_or_new(&intent.plan)?;
            self.receive_one(target, &intent.message)?;
        }
        let spot = held.work.spot();
        self.in_lane_of(held.of, held.work, |mut lane| lane.applied(spot))
    }

    fn pass_over(&mut self, held: &Held<'_>, cause: Cause) -> Result<()> {
        let outcome = Outcome::succeeded("");
        let now = self.now;
        self.settle_message(&held.settlement(&outcome, now))?;
        let attempt = held.attempt(State::SkippedDuplicate, cause, None, now);
        self.keep_attempt(held.work.number, &attempt)?;
        self.put(held.of, held.work.number, Placed::skipped(cause), true)?;
        lanes::leave(self.connection, held.work.number)?;
        let spot = held.work.spot();
        self.in_lane_of(held.of, held.work, |mut lane| lane.applied(spot))
    }

    fn fail(
        &mut self,
        held: &Held<'_>,
        state: State,
        cause: Cause,
        error: &ErrorText,
        due_ms: Option<i64>,
    ) -> Result<()> {
        let attempt = held.attempt(state, cause, Some(error), self.now);
        self.keep_attempt(held.work.number, &attempt)?;
        // An attempt that reached nothing does not count, and was no first one.
        let uncounted = cause == Cause::NotReached;
        sql::run(
            self.connection,
            "UPDATE semel_work SET state = ?2, cause = ?3, error = ?4, due_ms = ?5, changed_ms = ?6, \
             deadline_ms = NULL, worker = NULL, attempts = iif(?7, max(attempts - 1, 0), attempts), \
             first_ms = iif(?7 AND first_ms = changed_ms, NULL, first_ms) WHERE number = ?1",
            params![
                held.work.number,
                SqlState(state),
                SqlCause(Some(cause)),
                error.as_str(),
                due_ms,
                self.now.as_millis(),
                uncounted,
            ],
        )?;
        let row = held.work.row(state, Some(cause), due_ms.is_some());
        match due_ms {
            Some(_) => {
                self.wake(&held.of.plan.consumer);
                self.unstick(held, &row)
            }
            None => self.in_lane_of(held.of, held.work, |mut lane| lane.stuck(&row)),
        }
    }

    /// A message that was held as unknown may have had others parked behind it.
    fn unstick(&mut self, held: &Held<'_>, row: &Row) -> Result<()> {
        match held.work.state {
            State::Parked => self.in_lane_of(held.of, held.work, |mut lane| lane.unstuck(row)),
            _ => Ok(()),
        }
    }

    /// It was not begun: it is due again since it arrived, so that nothing that came later overtakes it.
    fn give_back(&mut self, held: &Held<'_>) -> Result<()> {
        self.put_back(held.work, held.stored.received_ms)?;
        self.wake(&held.of.plan.consumer);
        self.unstick(held, &held.work.row(State::Received, None, true))
    }

    /// The claim was never heard of: as if it had not been made. Nothing in its lane has moved because of it.
    pub(super) fn unclaim(&mut self, claim: &Claim) -> Result<()> {
        let identity = &claim.identity;
        let Some(consumer) = self.consumer_number(identity.scope())? else {
            return Ok(());
        };
        let Some(stored) = rows::find(self.connection, consumer, identity)? else {
            return Ok(());
        };
        if let Some(work) = &stored.work
            && work.is_held_by(claim.fence)
        {
            self.put_back(work, stored.received_ms)?;
            self.wake(identity.scope());
        }
        Ok(())
    }

    fn put_back(&self, work: &Work, received_ms: i64) -> Result<()> {
        let number = work.number;
        sql::run(
            self.connection,
            "UPDATE semel_work SET state = ?2, cause = NULL, due_ms = ?3, changed_ms = ?4, \
             attempts = max(attempts - 1, 0), deadline_ms = NULL, worker = NULL, \
             first_ms = iif(first_ms = changed_ms, NULL, first_ms) WHERE number = ?1",
            params![
                number,
                SqlState(State::Received),
                received_ms,
                self.now.as_millis(),
            ],
        )?;
        let by = work.worker.as_deref();
        self.keep_transition(number, State::Received, Some(Cause::Returned), by)
    }

    /// What came too late is kept for whoever asks, with what is still known of its claim.
    fn keep_late(&self, stored: &Stored, item: &Finish) -> Result<()> {
        let sql = "SELECT generation, attempt, worker, began_ms FROM semel_attempts \
                   WHERE number = ?1 AND fence = ?2 ORDER BY position LIMIT 1";
        let fence = item.claim.fence;
        let values = params![stored.number, crate::verbs::sql_fence(fence)];
        let claim = sql::one(self.connection, sql, values, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
        let work = stored.work.as_ref();
        let (generation, number, worker, began_ms) = claim.unwrap_or_else(|| {
            let generation = work.map_or(0, |work| work.generation);
            let number = work.map_or(1, |work| work.attempts);
            (
                generation,
                number,
                None,
                before(self.now, item.took).as_millis(),
            )
        });
        let (cause, error) = match &item.disposition {
            Disposition::Retry { cause, error, .. } | Disposition::Park { cause, error } => {
                (Some(*cause), Some(error))
            }
            Disposition::NotReached { error, .. } => (Some(Cause::NotReached), Some(error)),
            Disposition::Terminal { error } => (Some(Cause::Terminal), Some(error)),
            Disposition::Skip { cause } => (Some(*cause), None),
            Disposition::Completed { .. } | Disposition::Return => (None, None),
        };
        // An erasure leaves nothing of a message's contents, and a late attempt brings nothing back.
        let error = match error {
            Some(_) if self.is_erased(stored.number)? => None,
            error => error,
        };
        let attempt = Attempt {
            generation,
            number,
            fence,
            worker,
            began_at: Timestamp::from_millis(began_ms),
            ended_at: self.now,
            state: item.disposition.state(),
            cause,
            error: error.map(|error| error.as_str().to_owned()),
            answer: error.and_then(|error| error.answer().cloned()),
            late: true,
        };
        self.keep_attempt(stored.number, &attempt)
    }
}

fn before(now: Timestamp, took: Duration) -> Timestamp {
    let took_ms = i64::try_from(took.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(took_ms))
}
