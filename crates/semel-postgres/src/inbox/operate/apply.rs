//! What an action does to a message.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bytes::Bytes;
use semel_core::inbox::{Action, Cause, Operation, Plan, State};
use semel_core::{Fence, Timestamp};
use uuid::Uuid;

use super::super::lanes::{Lanes, by_sequence};
use super::super::notes::Transition;
use super::super::rows::Work;
use super::has_lane;
use super::select::Selected;
use crate::value::Value;

/// An operation while it is being carried out.
pub(super) struct Applying<'a> {
    operation: &'a Operation,
    pub(super) lanes: Lanes,
    pub(super) now: Timestamp,
    pub(super) saved: Vec<Work>,
    pub(super) skipped: Vec<Uuid>,
    pub(super) notes: Vec<Transition>,
    /// Completed messages that run once more, and their generations.
    pub(super) replayed: Vec<Selected>,
    generations: HashMap<Uuid, i64>,
    /// Messages whose steps are forgotten.
    pub(super) forgotten: Vec<Uuid>,
    pub(super) changed: BTreeSet<Uuid>,
    pub(super) due: bool,
}

impl<'a> Applying<'a> {
    pub(super) fn new(operation: &'a Operation, lanes: Lanes, now: Timestamp) -> Self {
        Self {
            operation,
            lanes,
            now,
            saved: Vec::new(),
            skipped: Vec::new(),
            notes: Vec::new(),
            replayed: Vec::new(),
            generations: HashMap::new(),
            forgotten: Vec::new(),
            changed: BTreeSet::new(),
            due: false,
        }
    }

    const fn plan(&self) -> &'a Plan {
        &self.operation.plan
    }

    /// Applies the action to all that it is for; `work` has the rows as they are under their locks.
    pub(super) fn apply(&mut self, selected: &[Selected], mut work: HashMap<Uuid, Work>) {
        if self.operation.action == (Action::Replay { rebuild: true }) {
            self.set_back(selected);
        }
        for selected in selected {
            let row = work.remove(&selected.digest);
            let state = row.as_ref().map_or(State::Completed, |row| row.state);
            if selected.is_gone
                || state != selected.state
                || !self.operation.action.states().contains(&state)
            {
                continue;
            }
            let applied = match row {
                Some(row) => self.change(selected, row),
                None => self.replay_completed(selected),
            };
            if applied {
                self.changed.insert(selected.digest);
                // What is stuck in the lane may have changed with it.
                if let Some(lane) = self.lane(selected) {
                    lane.stick();
                }
            }
        }
    }

    fn lane(&mut self, selected: &Selected) -> Option<&mut super::super::lanes::Lane> {
        let name = selected
            .lane
            .as_ref()
            .filter(|_| has_lane(self.plan(), selected))?;
        self.lanes.get_mut(name)
    }

    /// Lanes go back to just before the lowest version that is replayed.
    fn set_back(&mut self, selected: &[Selected]) {
        let mut lowest: BTreeMap<&str, i64> = BTreeMap::new();
        let replayable = |selected: &&Selected| {
            !selected.is_gone && self.operation.action.states().contains(&selected.state)
        };
        for selected in selected.iter().filter(replayable) {
            if let (Some(lane), Some(sequence)) = (&selected.lane, selected.sequence) {
                let low = lowest.entry(lane).or_insert(sequence);
                *low = (*low).min(sequence);
            }
        }
        if !by_sequence(self.plan().order) {
            return;
        }
        for (name, sequence) in lowest {
            if let Some(lane) = self.lanes.get_mut(name)
                && lane.done >= Some(sequence)
            {
                (lane.done, lane.changed) = (Some(sequence - 1), true);
            }
        }
    }

    /// Whether the lane has gone past a version.
    fn is_older(&mut self, selected: &Selected) -> bool {
        let by_sequence = by_sequence(self.plan().order);
        let lane = self.lane(selected);
        by_sequence && lane.is_some_and(|lane| lane.done >= selected.sequence)
    }

    fn change(&mut self, selected: &Selected, work: Work) -> bool {
        match self.operation.action {
            Action::Retry { .. } => self.run_again(selected, work, true),
            Action::Park => self.park(work),
            Action::Unpark => self.unpark(selected, work),
            Action::Skip => self.skip(work),
            Action::Replay { .. } => self.replay_skipped(selected, work),
        }
    }

    /// A message takes its place again: in its lane, or due at once.
    fn run_again(&mut self, selected: &Selected, mut work: Work, anew: bool) -> bool {
        if self.is_older(selected) {
            return false;
        }
        work.change(State::Received, None, self.now);
        if anew {
            (work.attempts, work.generation) = (0, work.generation + 1);
        }
        work.worker = None;
        self.stand(selected, &mut work);
        self.note(&work, Cause::Operator);
        self.saved.push(work);
        true
    }

    fn stand(&mut self, selected: &Selected, work: &mut Work) {
        if has_lane(self.plan(), selected) {
            work.lane.clone_from(&selected.lane);
            work.sequence = selected.sequence.filter(|_| by_sequence(self.plan().order));
        } else {
            work.leave();
            work.due_ms = Some(self.now.as_millis());
            self.due = true;
        }
    }

    fn park(&mut self, mut work: Work) -> bool {
        work.change(State::Parked, Some(Cause::Operator), self.now);
        self.note(&work, Cause::Operator);
        self.saved.push(work);
        true
    }

    /// What waits for others of its lane goes only if it is meant by its id, and then at once.
    fn unpark(&mut self, selected: &Selected, mut work: Work) -> bool {
        if !work.is_waiting() {
            return self.run_again(selected, work, false);
        }
        if self.operation.select.ids.is_empty() {
            return false;
        }
        work.change(State::Received, None, self.now);
        work.due_ms = Some(self.now.as_millis());
        self.due = true;
        self.note(&work, Cause::Operator);
        self.saved.push(work);
        true
    }

    /// By sequence it stays in its lane as a mark until its turn would have come.
    fn skip(&mut self, mut work: Work) -> bool {
        work.change(State::SkippedDuplicate, Some(Cause::Operator), self.now);
        let keep = self.plan().retention.keep();
        work.deadline_ms = Some(self.now.after(keep).as_millis());
        if !by_sequence(self.plan().order) {
            work.leave();
        }
        self.note(&work, Cause::Operator);
        self.skipped.push(work.digest);
        self.saved.push(work);
        true
    }

    fn replay_skipped(&mut self, selected: &Selected, mut work: Work) -> bool {
        if self.is_older(selected) {
            return false;
        }
        work.change(State::Received, None, self.now);
        (work.attempts, work.generation) = (0, work.generation + 1);
        (work.replay, work.stepped) = (true, false);
        self.stand(selected, &mut work);
        self.note(&work, Cause::Replayed);
        self.forgotten.push(work.digest);
        self.saved.push(work);
        true
    }

    fn replay_completed(&mut self, selected: &Selected) -> bool {
        if self.is_older(selected) {
            return false;
        }
        self.forgotten.push(selected.digest);
        self.replayed.push(selected.clone());
        true
    }

    fn note(&mut self, work: &Work, cause: Cause) {
        let by = self.operation.by.as_str();
        let said = match &self.operation.reason {
            Some(reason) => format!("{by}: {reason}"),
            None => by.to_owned(),
        };
        let note = Transition::of(work, cause, self.now).by(&said);
        self.notes.push(note);
    }

    pub(super) fn generation(&mut self, digest: Uuid, generation: i64) {
        self.generations.insert(digest, generation);
    }

    /// The rows of completed messages that run once more.
    pub(super) fn enter_values(&mut self, plan: &Plan) -> Vec<Value> {
        self.replayed.sort_by_key(|selected| selected.digest);
        let now = self.now.as_millis();
        let all = || self.replayed.iter();
        let ints = |of: &dyn Fn(&Selected) -> Option<i64>| Value::Ints(all().map(of).collect());
        let stands = |selected: &Selected| has_lane(plan, selected);
        let lane = |s: &Selected| s.lane.clone().filter(|_| stands(s));
        let print = |s: &Selected| Some(Bytes::copy_from_slice(s.fingerprint.as_bytes()));
        vec![
            Value::text(plan.consumer.to_string()),
            Value::int(now),
            Value::int(1),
            Value::Uuids(all().map(|s| s.digest).collect()),
            ints(&|s| Some(s.expires_ms)),
            ints(&|s| Some(s.number)),
            ints(&|s| Some(s.received_ms)),
            ints(&|s| (!stands(s)).then_some(now)),
            ints(&|_| None),
            ints(&|s| s.sequence.filter(|_| stands(s) && by_sequence(plan.order))),
            ints(&|s| Some(self.generations.get(&s.digest).copied().unwrap_or(1))),
            ints(&|_| Some(i64::from(State::Received.number()))),
            Value::ByteStrings(all().map(print).collect()),
            Value::Texts(all().map(lane).collect()),
            Value::Texts(all().map(|_| None).collect()),
        ]
    }

    /// Writes down what was entered; what somebody else entered meanwhile does not count.
    pub(super) fn note_entered(&mut self, entered: &BTreeSet<Uuid>) {
        for selected in std::mem::take(&mut self.replayed) {
            if !entered.contains(&selected.digest) {
                self.changed.remove(&selected.digest);
                continue;
            }
            self.due |= !has_lane(self.plan(), &selected);
            let generation = self.generations.get(&selected.digest).copied();
            let note = Transition {
                digest: selected.digest,
                expires_ms: selected.expires_ms,
                at_ms: self.now.as_millis(),
                fence: Fence::new(0),
                generation: generation.unwrap_or(1),
                state: State::Received,
                cause: Some(Cause::Replayed),
                detail: Some(self.operation.by.as_str().to_owned()),
            };
            self.notes.push(note);
        }
    }
}
