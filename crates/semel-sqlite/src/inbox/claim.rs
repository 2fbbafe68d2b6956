//! Claims of messages that are due, renewals, and steps that are remembered under a claim.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, Row, params};
use semel_core::inbox::lanes::Placed;
use semel_core::inbox::work::STEPS_MAX;
use semel_core::inbox::{
    Attempt, BATCH_MAX, Cause, Claim, ClaimBatch, Claimed, Job, Renewal, State, Step, UnknownPolicy,
};
use semel_core::{Error, Identity, Kind, LeaseTerm, Result, Scope, Timestamp};

use super::notes::{Consumer, number_of};
use super::pauses::is_paused;
use super::rows::{
    self, RawMessage, WORK_COLUMNS, Work, message_columns, message_of, work_columns, work_of,
};
use super::sql::{self, SqlState};
use super::{edits, lanes, records};
use crate::fences;
use crate::time::FileTime;
use crate::verbs::Session;

/// What is due, oldest first. The work comes first in the join: it knows what is due.
pub(super) const CANDIDATES: &str = concat!(
    "SELECT ",
    work_columns!(),
    ", m.received_ms, EXISTS (SELECT 1 FROM semel_steps s WHERE s.number = w.number), ",
    message_columns!(),
    " FROM semel_work w CROSS JOIN semel_messages m ON m.number = w.number \
     WHERE w.consumer = ?1 AND w.due_ms <= ?2 ORDER BY w.due_ms, w.number LIMIT ?3"
);

/// When the next one is due.
pub(super) const NEXT_DUE: &str = "SELECT due_ms FROM semel_work WHERE consumer = ?1 AND due_ms IS NOT NULL \
                                   ORDER BY due_ms LIMIT 1";

/// The most messages that are loaded together.
const LOADED_MAX: usize = 64;

/// A row that may be claimed.
struct Candidate {
    work: Work,
    received_ms: i64,
    has_steps: bool,
    message: RawMessage,
}

impl Session<'_> {
    /// Claims what is due, oldest first, unless the consumer is paused.
    pub(super) fn claim_batch(&mut self, ask: &ClaimBatch) -> Result<Claimed> {
        let (max, mut claimed) = (ask.max.min(BATCH_MAX), Claimed::default());
        let Some(of) = self.consumer(&ask.plan)? else {
            return Ok(claimed);
        };
        if is_paused(self.connection, of.number)? {
            claimed.paused = true;
            return Ok(claimed);
        }
        let mut bytes = 0_usize;
        'all: while claimed.jobs.len() < max {
            // What is loaded together is bounded, however much is asked for.
            let want = (max - claimed.jobs.len()).min(LOADED_MAX);
            let candidates = self.candidates(of.number, want)?;
            let is_last = candidates.len() < want;
            for candidate in candidates {
                bytes = bytes.saturating_add(candidate.message.payload_len());
                if bytes > ask.bytes_max && !claimed.jobs.is_empty() {
                    break 'all;
                }
                self.claim_one(ask, of, candidate, &mut claimed)?;
            }
            if is_last {
                break;
            }
        }
        if !claimed.jobs.is_empty() {
            fences::keep_claimed(self.connection, self.last_fence, self.now)
                .map_err(sql::failed)?;
        }
        if claimed.jobs.len() < max {
            claimed.next_due = next_due(self.connection, of.number, self.now)?;
        }
        Ok(claimed)
    }

    fn candidates(&self, consumer: i64, limit: usize) -> Result<Vec<Candidate>> {
        let read = |row: &Row<'_>| {
            Ok(Candidate {
                work: work_of(row, 0)?,
                received_ms: row.get(WORK_COLUMNS)?,
                has_steps: row.get(WORK_COLUMNS + 1)?,
                message: message_of(row, WORK_COLUMNS + 2)?,
            })
        };
        let values = params![consumer, self.now.as_millis(), limit];
        let mut found: Vec<Candidate> = sql::all(self.connection, CANDIDATES, values, read)?;
        // An edit begins a new generation, so others need no look.
        let by_hand = |candidate: &&mut Candidate| candidate.work.generation > 0;
        for candidate in found.iter_mut().filter(by_hand) {
            candidate.message.edit = edits::newest(self.connection, candidate.work.number)?;
        }
        Ok(found)
    }

    /// Claims one row, unless its worker was lost and it is to be held, or another door settled its record.
    fn claim_one(
        &mut self,
        ask: &ClaimBatch,
        of: Consumer<'_>,
        candidate: Candidate,
        claimed: &mut Claimed,
    ) -> Result<()> {
        let is_lost = candidate.work.state == State::InProgress;
        let message = candidate.message.checked(&ask.plan.consumer)?;
        if candidate.work.replay == 0 && self.is_settled(message.identity())? {
            claimed.settled.push(message.identity().clone());
            return self.pass_settled(of, &candidate.work);
        }
        if is_lost {
            self.keep_lost(&candidate.work, ask.on_unknown)?;
            if ask.on_unknown == UnknownPolicy::Hold {
                return self.hold(of, &candidate.work);
            }
        }
        let (work, now) = (&candidate.work, self.now);
        let (fence, lease_until) = (self.draw(), now.after(ask.lease.get()));
        let attempt = work.attempts.saturating_add(1);
        sql::run(
            self.connection,
            "UPDATE semel_work SET state = ?2, due_ms = ?3, fence = ?4, attempts = ?5, worker = ?6, \
             changed_ms = ?7, cause = NULL, first_ms = coalesce(first_ms, ?7) WHERE number = ?1",
            params![
                work.number,
                SqlState(State::InProgress),
                lease_until.as_millis(),
                fence.get(),
                attempt,
                ask.worker.as_str(),
                now.as_millis(),
            ],
        )?;
        let steps = match candidate.has_steps {
            true => steps(self.connection, work.number)?,
            false => Vec::new(),
        };
        claimed.jobs.push(Job {
            claim: Claim {
                identity: message.identity().clone(),
                fence,
            },
            message: Arc::new(message),
            attempt,
            generation: work.generation,
            replay: work.replay > 0,
            reclaimed: is_lost,
            received_at: Timestamp::from_millis(candidate.received_ms),
            first_tried_at: work.first_ms.map_or(now, Timestamp::from_millis),
            key_generation: work.key_generation,
            claimed_at: now,
            lease_until,
            steps,
        });
        Ok(())
    }

    fn is_settled(&self, identity: &Identity) -> Result<bool> {
        let record = records::brief(self.connection, identity)?;
        Ok(record.is_some_and(|record| record.is_settled(self.kept_since())))
    }

    /// Another door dealt with it: it does not run, and its lane goes on.
    fn pass_settled(&mut self, of: Consumer<'_>, work: &Work) -> Result<()> {
        let placed = Placed::skipped(Cause::SettledElsewhere);
        self.put(of, work.number, placed, true)?;
        self.keep_transition(work.number, placed.state, placed.cause, None)?;
        lanes::leave(self.connection, work.number)?;
        let spot = work.spot();
        self.in_lane_of(of, work, |mut lane| lane.applied(spot))
    }

    fn keep_lost(&self, work: &Work, on_unknown: UnknownPolicy) -> Result<()> {
        let state = match on_unknown {
            UnknownPolicy::Rerun => State::FailedRetryable,
            UnknownPolicy::Hold => State::Parked,
        };
        let attempt = Attempt {
            generation: work.generation,
            number: work.attempts,
            fence: work.fence,
            worker: work.worker.clone(),
            began_at: Timestamp::from_millis(work.changed_ms),
            ended_at: self.now,
            state,
            cause: Some(Cause::LeaseEnded),
            error: None,
            answer: None,
            late: false,
        };
        self.keep_attempt(work.number, &attempt)
    }

    /// Parks a message whose worker was lost: those behind it wait, or its lane goes on without it.
    fn hold(&mut self, of: Consumer<'_>, work: &Work) -> Result<()> {
        let placed = Placed::parked(Cause::Unknown);
        self.put(of, work.number, placed, true)?;
        self.keep_transition(work.number, placed.state, placed.cause, None)?;
        let row = work.row(placed.state, placed.cause, false);
        self.in_lane_of(of, work, |mut lane| lane.stuck(&row))
    }

    /// Extends a lease whose claim still holds; it is never shortened.
    pub(super) fn renew_message(&mut self, claim: &Claim, lease: LeaseTerm) -> Result<Renewal> {
        let Some(work) = self.held(claim)? else {
            return Ok(Renewal::Lost);
        };
        let until_ms = self.now.after(lease.get()).as_millis();
        let sql = "UPDATE semel_work SET due_ms = max(due_ms, ?2) WHERE number = ?1";
        sql::run(self.connection, sql, params![work.number, until_ms])?;
        Ok(Renewal::Held)
    }

    /// Remembers a step under a claim that still holds.
    pub(super) fn remember_step(&mut self, claim: &Claim, step: &Step) -> Result<Renewal> {
        let Some(work) = self.held(claim)? else {
            return Ok(Renewal::Lost);
        };
        let sql = "SELECT count(*), coalesce(sum(name = ?2), 0) FROM semel_steps WHERE number = ?1";
        let values = params![work.number, step.name];
        let counted = sql::one(self.connection, sql, values, |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        let (count, same): (usize, usize) = counted.unwrap_or_default();
        if same > 0 {
            return Ok(Renewal::Held);
        }
        if count >= STEPS_MAX {
            let message = format!("a message remembers at most {STEPS_MAX} steps");
            return Err(Error::new(Kind::Limit, message));
        }
        sql::run(
            self.connection,
            "INSERT INTO semel_steps (number, name, position, result) VALUES (?1, ?2, ?3, ?4)",
            params![work.number, step.name, count, step.result.as_ref()],
        )?;
        Ok(Renewal::Held)
    }

    /// The work of a claim that still holds.
    fn held(&mut self, claim: &Claim) -> Result<Option<Work>> {
        let identity = &claim.identity;
        let Some(consumer) = self.consumer_number(identity.scope())? else {
            return Ok(None);
        };
        let found = rows::find(self.connection, consumer, identity)?;
        let is_held = |work: &Work| work.state == State::InProgress && work.fence == claim.fence;
        Ok(found.and_then(|stored| stored.work).filter(is_held))
    }
}

/// The steps of a message, in the order they were done.
pub(super) fn steps(connection: &Connection, number: i64) -> Result<Vec<Step>> {
    let sql = "SELECT name, result FROM semel_steps WHERE number = ?1 ORDER BY position";
    sql::all(connection, sql, params![number], |row| {
        Ok(Step {
            name: row.get::<_, String>(0)?.into(),
            result: row.get::<_, Vec<u8>>(1)?.into(),
        })
    })
}

/// An answer that needs no writer: nothing of this consumer is due.
pub(super) fn nothing_due(
    connection: &Connection,
    consumer: &Scope,
    now: Timestamp,
) -> Result<Option<Claimed>> {
    let Some(number) = number_of(connection, consumer)? else {
        return Ok(Some(Claimed::default()));
    };
    if is_paused(connection, number)? {
        return Ok(Some(Claimed {
            paused: true,
            ..Claimed::default()
        }));
    }
    let next_due = next_due(connection, number, now)?;
    // A claim that lies ahead of this process's clock sets it right, and that is the writer's to do.
    let is_behind = next_due.is_some() && FileTime::read(connection)?.known.newest > Some(now);
    Ok(match next_due {
        Some(Duration::ZERO) => None,
        _ if is_behind => None,
        next_due => Some(Claimed {
            next_due,
            ..Claimed::default()
        }),
    })
}

/// How long until something of a consumer is due; nothing if it is already.
fn next_due(connection: &Connection, consumer: i64, now: Timestamp) -> Result<Option<Duration>> {
    let due_ms = sql::one(connection, NEXT_DUE, params![consumer], |row| row.get(0))?;
    Ok(due_ms.map(|ms| Timestamp::from_millis(ms).since(now)))
}
