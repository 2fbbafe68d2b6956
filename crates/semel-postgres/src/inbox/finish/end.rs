//! What the end of one attempt does to its message.

use std::collections::BTreeSet;

use semel_core::inbox::lanes::Event;
use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{Cause, Disposition, Finish, Plan, State};
use semel_core::{Result, Scope, Timestamp};
use uuid::Uuid;

use super::super::lanes::Lanes;
use super::super::notes::{Attempt, Transition};
use super::super::rows::Work;

/// A batch while it is being decided.
pub(super) struct Deciding {
    pub(super) now: Timestamp,
    pub(super) lanes: Lanes,
    /// The numbers of rows that are kept with the lanes and have changed.
    pub(super) changed: BTreeSet<i64>,
    pub(super) skipped: Vec<Uuid>,
    pub(super) attempts: Vec<Attempt>,
    pub(super) notes: Vec<Transition>,
    pub(super) due: BTreeSet<Scope>,
}

impl Deciding {
    pub(super) const fn new(lanes: Lanes, now: Timestamp) -> Self {
        Self {
            now,
            lanes,
            changed: BTreeSet::new(),
            skipped: Vec::new(),
            attempts: Vec::new(),
            notes: Vec::new(),
            due: BTreeSet::new(),
        }
    }

    /// A message was applied: its lane goes on.
    pub(super) fn applied(&mut self, work: &Work) -> Result<()> {
        match work.lane_key() {
            Some(key) => self.lanes.happen(&key, Event::Applied(work.spot())),
            None => Ok(()),
        }
    }

    /// Everything but a completion.
    pub(super) fn end(&mut self, plan: &Plan, item: &Finish, mut work: Work) -> Result<()> {
        let (now, state) = (self.now, item.disposition.state());
        let (cause, error) = said(&item.disposition);
        let (began_ms, number, lane) = (work.changed_ms, work.attempts, work.lane_key());
        let (spot, was_held) = (work.spot(), work.state == State::Parked);
        work.change(state, cause, now);
        let event = match &item.disposition {
            Disposition::Completed { .. } => unreachable!("completions have their own way"),
            Disposition::Retry { after, .. } | Disposition::NotReached { after, .. } => {
                if cause == Some(Cause::NotReached) {
                    work.uncount(began_ms);
                }
                work.due_ms = Some(now.after(*after).as_millis());
                // A claimer that sleeps until something else is due may have to get up earlier.
                self.due.insert(plan.consumer.clone());
                was_held.then(|| Event::Unstuck(work.row()))
            }
            Disposition::Terminal { .. } | Disposition::Park { .. } => {
                Some(Event::Stuck(work.row()))
            }
            Disposition::Skip { cause } => {
                work.deadline_ms = Some(now.after(plan.retention.keep()).as_millis());
                work.leave();
                self.skipped.push(work.digest);
                self.notes.push(Transition::of(&work, *cause, now));
                Some(Event::Applied(spot))
            }
            Disposition::Return => {
                (work.due_ms, work.cause) = (Some(now.as_millis()), None);
                work.uncount(began_ms);
                self.notes.push(Transition::of(&work, Cause::Returned, now));
                self.due.insert(plan.consumer.clone());
                was_held.then(|| Event::Unstuck(work.row()))
            }
        };
        let worker = work.worker.take();
        if let Some(error) = error {
            self.attempts.push(Attempt {
                digest: work.digest,
                expires_ms: work.expires_ms,
                fence: work.fence,
                began_ms,
                ended_ms: now.as_millis(),
                generation: work.generation,
                number,
                state,
                late: false,
                worker,
                cause,
                error: Some(error.as_str().to_owned()),
                answer: error.answer().cloned(),
            });
            work.error = Some(error.as_str().to_owned());
        }
        self.changed.insert(work.number);
        self.lanes.keep(work);
        match lane.zip(event) {
            Some((key, event)) => self.lanes.happen(&key, event),
            None => Ok(()),
        }
    }
}

/// Why an attempt did not complete, and what went wrong.
pub(super) const fn said(disposition: &Disposition) -> (Option<Cause>, Option<&ErrorText>) {
    match disposition {
        Disposition::Completed { .. } => (None, None),
        Disposition::Retry { cause, error, .. } | Disposition::Park { cause, error } => {
            (Some(*cause), Some(error))
        }
        Disposition::NotReached { error, .. } => (Some(Cause::NotReached), Some(error)),
        Disposition::Terminal { error } => (Some(Cause::Terminal), Some(error)),
        Disposition::Skip { cause } => (Some(*cause), None),
        Disposition::Return => (Some(Cause::Returned), None),
    }
}
