//! What the end of one attempt does to its message.

use std::collections::BTreeSet;

use semel_core::inbox::{Cause, Disposition, Finish, Plan};
use semel_core::{Error, Kind, Result, Scope, Timestamp};
use uuid::Uuid;

use super::super::lanes::{Lane, Lanes, stick};
use super::super::notes::{Attempt, Transition};
use super::super::rows::Work;

/// A batch while it is being decided.
pub(super) struct Deciding {
    pub(super) now: Timestamp,
    pub(super) lanes: Lanes,
    pub(super) changed: Vec<Work>,
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
            changed: Vec::new(),
            skipped: Vec::new(),
            attempts: Vec::new(),
            notes: Vec::new(),
            due: BTreeSet::new(),
        }
    }

    /// The lane that a row stands in; a consumer that has no lanes any more leaves them to its housekeeping.
    pub(super) fn lane_of(&mut self, work: &Work) -> Result<Option<&mut Lane>> {
        let Some(name) = work.lane.as_deref() else {
            return Ok(None);
        };
        if self.lanes.is_empty() {
            return Ok(None);
        }
        let changed = || {
            let message = "postgres, a lane changed while it was looked at";
            Error::new(Kind::Unavailable, message)
        };
        self.lanes.get_mut(name).map(Some).ok_or_else(changed)
    }

    /// Everything but a completion.
    pub(super) fn end(&mut self, plan: &Plan, item: &Finish, mut work: Work) -> Result<()> {
        let (now, state) = (self.now, item.disposition.state());
        let (cause, error) = said(&item.disposition);
        let began_ms = work.changed_ms;
        work.change(state, cause, now);
        match &item.disposition {
            Disposition::Completed { .. } => unreachable!("completions have their own way"),
            Disposition::Retry { after, .. } | Disposition::NotReached { after, .. } => {
                work.due_ms = Some(now.after(*after).as_millis());
                // Whoever sleeps until something else is due may have to get up earlier.
                self.due.insert(plan.consumer.clone());
            }
            Disposition::Terminal { .. } | Disposition::Park { .. } => {
                if let Some(lane) = self.lane_of(&work)? {
                    stick(plan, lane, &mut work);
                }
            }
            Disposition::Skip { cause } => {
                work.deadline_ms = Some(now.after(plan.retention.keep()).as_millis());
                if let Some(lane) = self.lane_of(&work)? {
                    lane.advance(work.sequence);
                }
                work.leave();
                self.skipped.push(work.digest);
                self.notes.push(Transition::of(&work, *cause, now));
            }
            Disposition::Return => {
                (work.due_ms, work.cause) = (Some(now.as_millis()), None);
                work.attempts -= 1;
                self.notes.push(Transition::of(&work, Cause::Returned, now));
                self.due.insert(plan.consumer.clone());
            }
        }
        if error.is_some() {
            self.attempts.push(Attempt {
                digest: work.digest,
                expires_ms: work.expires_ms,
                fence: work.fence,
                began_ms,
                ended_ms: now.as_millis(),
                generation: work.generation,
                number: work.attempts,
                state,
                late: false,
                worker: work.worker.take(),
                cause,
                error: error.clone(),
            });
            work.error = error;
        }
        work.worker = None;
        self.changed.push(work);
        Ok(())
    }
}

/// Why an attempt did not complete, and what went wrong.
pub(super) fn said(disposition: &Disposition) -> (Option<Cause>, Option<String>) {
    match disposition {
        Disposition::Completed { .. } => (None, None),
        Disposition::Retry { cause, error, .. } | Disposition::Park { cause, error } => {
            (Some(*cause), Some(error.as_str().to_owned()))
        }
        Disposition::NotReached { error, .. } => {
            (Some(Cause::NotReached), Some(error.as_str().to_owned()))
        }
        Disposition::Terminal { error } => (Some(Cause::Terminal), Some(error.as_str().to_owned())),
        Disposition::Skip { cause } => (Some(*cause), None),
        Disposition::Return => (Some(Cause::Returned), None),
    }
}
