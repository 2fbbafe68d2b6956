//! What an action does to messages, as the core decides.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, HashSet};

use bytes::Bytes;
use semel_core::inbox::decide::{Decision, Facts, Run, Stay, decide, decide_waiting};
use semel_core::inbox::lanes::{Event, Rerun, Row, Spot};
use semel_core::inbox::{Action, Cause, Operation, Plan, Report, State};
use semel_core::{Fence, Result, Timestamp};
use uuid::Uuid;

use super::super::edits::Edits;
use super::super::lanes::{LaneKey, Lanes, sql_sequence, stands};
use super::super::notes::Transition;
use super::super::rows::{Work, small, unsigned};
use super::select::Selected;
use crate::value::Value;

/// The most messages that a report shows.
const SAMPLE_MAX: usize = 10;

/// An operation while it is being carried out.
pub(super) struct Applying<'a> {
    pub(super) operation: &'a Operation,
    pub(super) lanes: Lanes,
    pub(super) now: Timestamp,
    /// Messages whose records are settled.
    settled: HashSet<Uuid>,
    pub(super) report: Report,
    /// The numbers of rows that have changed.
    pub(super) changed: BTreeSet<i64>,
    pub(super) skipped: Vec<Uuid>,
    pub(super) notes: Vec<Transition>,
    /// Messages that wait for others: they come last, because the others may set them free.
    waiting: Vec<(Selected, i64)>,
    /// Completed messages that run once more.
    pub(super) replayed: Vec<Selected>,
    /// Messages whose steps are forgotten.
    pub(super) forgotten: Vec<Uuid>,
    /// The message that the operation edits, if it runs because of it.
    pub(super) edited: Option<Edits>,
    /// Messages whose contents are erased, with the ends of their retention.
    pub(super) erased: Vec<(Uuid, i64)>,
    pub(super) due: bool,
}

impl<'a> Applying<'a> {
    pub(super) fn new(
        operation: &'a Operation,
        lanes: Lanes,
        settled: HashSet<Uuid>,
        now: Timestamp,
    ) -> Self {
        Self {
            operation,
            lanes,
            now,
            settled,
            report: Report::default(),
            changed: BTreeSet::new(),
            skipped: Vec::new(),
            notes: Vec::new(),
            waiting: Vec::new(),
            replayed: Vec::new(),
            forgotten: Vec::new(),
            edited: None,
            erased: Vec::new(),
            due: false,
        }
    }

    const fn plan(&self) -> &'a Plan {
        &self.operation.plan
    }

    /// Applies the action to all that were selected; `work` has the rows as they are under their locks.
    pub(super) fn apply(
        &mut self,
        selected: Vec<Selected>,
        mut work: HashMap<Uuid, Work>,
    ) -> Result<()> {
        for selected in selected {
            self.report.matched += 1;
            let own = match work.entry(selected.digest) {
                Entry::Occupied(row) if selected.owns(row.get()) => Some(row.remove()),
                Entry::Occupied(_) | Entry::Vacant(_) => None,
            };
            match (selected.is_gone, selected.is_overtaken) {
                (true, _) => self.report.gone += 1,
                (_, true) => self.stay(Stay::State),
                (false, false) => self.apply_one(selected, own)?,
            }
        }
        Ok(())
    }

    fn apply_one(&mut self, selected: Selected, work: Option<Work>) -> Result<()> {
        let facts = self.facts(&selected, work.as_ref());
        let since = self.operation.select.unchanged_since;
        let has_moved = |work: &Work| since.is_some_and(|at| work.changed_ms > at.as_millis());
        if facts.state != selected.state || work.as_ref().is_some_and(has_moved) {
            // It has changed since it was selected.
            self.stay(Stay::State);
            return Ok(());
        }
        match (decide(self.operation.action, &facts), work) {
            (Decision::Stay(why), _) => self.stay(why),
            (Decision::Later, Some(work)) => {
                self.waiting.push((selected, work.number));
                self.lanes.keep(work);
            }
            (Decision::Replay(_), None) => {
                self.count(&selected);
                self.replayed.push(selected);
            }
            (Decision::Replay(rerun), Some(work)) => {
                self.count(&selected);
                self.forgotten.push(selected.digest);
                self.replay_skipped(&selected, work, rerun)?;
            }
            (Decision::Erase, work) => {
                self.count(&selected);
                if let Some(mut work) = work {
                    work.error = None;
                    self.keep(work);
                }
                self.erase(&selected, facts.state);
            }
            (_, None) => self.stay(Stay::State),
            (Decision::SkipAndErase, Some(mut work)) => {
                self.count(&selected);
                work.error = None;
                self.skip(work)?;
                self.erase(&selected, State::SkippedDuplicate);
            }
            (Decision::Run(run) | Decision::RunAtOnce(run), Some(mut work)) => {
                self.count(&selected);
                begin_anew(&mut work, run);
                self.edited = Some(Edits {
                    digest: selected.digest,
                    expires_ms: selected.expires_ms,
                    received_ms: selected.received_ms,
                });
                self.take_place(&selected, work, Cause::Operator)?;
            }
            (Decision::Park, Some(work)) => {
                self.count(&selected);
                self.park(work)?;
            }
            (Decision::Skip, Some(work)) => {
                self.count(&selected);
                self.skip(work)?;
            }
        }
        Ok(())
    }

    /// Does it to messages that waited for others when the operation began; their rows are as the lanes have left them.
    pub(super) fn apply_to_waiting(&mut self) -> Result<()> {
        for (selected, number) in std::mem::take(&mut self.waiting) {
            let Some(mut work) = self.lanes.work(number).cloned() else {
                self.stay(Stay::State);
                continue;
            };
            let facts = self.facts(&selected, Some(&work));
            let (run, at_once) = match decide_waiting(self.operation.action, &facts) {
                Decision::Run(run) => (run, false),
                Decision::RunAtOnce(run) => (run, true),
                Decision::Stay(why) => {
                    self.stay(why);
                    continue;
                }
                Decision::Later
                | Decision::Park
                | Decision::Skip
                | Decision::Erase
                | Decision::SkipAndErase
                | Decision::Replay(_) => {
                    unreachable!("what waits for others runs or stays")
                }
            };
            self.count(&selected);
            begin_anew(&mut work, run);
            if at_once {
                work.change(State::Received, None, self.now);
                work.due_ms = Some(self.now.as_millis());
                self.due = true;
                self.note(&work, Cause::Operator);
                if let Some(key) = work.lane_key() {
                    self.lanes.happen(&key, Event::Changed(work.row()))?;
                }
            }
            self.keep(work);
        }
        Ok(())
    }

    fn facts(&mut self, selected: &Selected, work: Option<&Work>) -> Facts {
        let rerun = match self.operation.action {
            Action::Replay { .. } => Rerun::Replay,
            _ => work.map_or(Rerun::No, Work::rerun),
        };
        let is_older = self.home(selected).is_some_and(|(key, spot)| {
            let row = row_at(spot, rerun, self.now);
            self.lanes.is_past(self.plan(), &key, &row, self.now)
        });
        Facts {
            state: work.map_or(State::Completed, |work| work.state),
            cause: work.and_then(|work| work.cause),
            rerun,
            attempts: work.map_or(0, |work| small(work.attempts)),
            generation: work.map_or(0, |work| small(work.generation)),
            is_settled: self.settled.contains(&selected.digest),
            is_older,
            is_named: !self.operation.select.ids.is_empty(),
            is_erased: selected.is_erased,
        }
    }

    /// The lane that a message belongs to by its consumer's plan, and where it stands there.
    pub(super) fn home(&self, selected: &Selected) -> Option<(LaneKey, Spot)> {
        home(self.plan(), selected)
    }

    fn stay(&mut self, why: Stay) {
        self.report.skipped += 1;
        match why {
            Stay::State => {}
            Stay::Settled => self.report.settled += 1,
            Stay::Older => self.report.older += 1,
            Stay::Waiting => self.report.waiting += 1,
            Stay::Gone => {
                self.report.skipped -= 1;
                self.report.gone += 1;
            }
        }
    }

    fn count(&mut self, selected: &Selected) {
        self.report.changed += 1;
        self.report.conflicts += u64::from(selected.cause == Some(Cause::Conflict));
        if self.report.sample.len() < SAMPLE_MAX {
            self.report.sample.push(selected.identity.clone());
        }
    }

    fn keep(&mut self, work: Work) {
        self.changed.insert(work.number);
        self.lanes.keep(work);
    }

    /// A message takes its place again: in its lane, or due at once.
    fn take_place(&mut self, selected: &Selected, mut work: Work, cause: Cause) -> Result<()> {
        let stood = work.lane_key().map(|key| (key, work.row()));
        work.change(State::Received, None, self.now);
        work.worker = None;
        work.leave();
        let home = self.home(selected);
        match &home {
            Some((key, spot)) => {
                work.sequence = Some(sql_sequence(spot.sequence));
                (work.lane, work.tenant) = (Some(key.lane.clone()), Some(key.tenant.clone()));
            }
            None => {
                work.due_ms = Some(self.now.as_millis());
                self.due = true;
            }
        }
        self.note(&work, cause);
        if let Some((key, row)) = stood
            && home.as_ref().is_none_or(|(_, spot)| *spot != row.spot)
        {
            // It may have stood in a lane that its consumer's plan no longer knows.
            self.lanes.happen(&key, Event::Taken(row))?;
        }
        let row = work.row();
        self.keep(work);
        match home {
            Some((key, _)) => self.lanes.happen(&key, Event::TakePlace(row)),
            None => Ok(()),
        }
    }

    fn park(&mut self, mut work: Work) -> Result<()> {
        work.change(State::Parked, Some(Cause::Operator), self.now);
        self.note(&work, Cause::Operator);
        self.changed_in_lane(work)
    }

    fn changed_in_lane(&mut self, work: Work) -> Result<()> {
        let (key, row) = (work.lane_key(), work.row());
        self.keep(work);
        match key {
            Some(key) => self.lanes.happen(&key, Event::Changed(row)),
            None => Ok(()),
        }
    }

    /// By sequence it stays in its lane as a mark until its turn would have come.
    fn skip(&mut self, mut work: Work) -> Result<()> {
        let stood = work.lane_key();
        work.change(State::SkippedDuplicate, Some(Cause::Operator), self.now);
        self.note(&work, Cause::Operator);
        self.skipped.push(work.digest);
        let row = work.row();
        if stood.is_some() && row.spot.sequence.is_some() {
            return self.changed_in_lane(work);
        }
        work.leave();
        let keep = self.plan().retention.keep();
        work.deadline_ms = Some(self.now.after(keep).as_millis());
        self.keep(work);
        match stood {
            Some(key) => self.lanes.happen(&key, Event::Taken(row)),
            None => Ok(()),
        }
    }

    fn replay_skipped(&mut self, selected: &Selected, mut work: Work, rerun: Rerun) -> Result<()> {
        (work.attempts, work.generation) = (0, work.generation + 1);
        (work.replay, work.stepped) = (true, false);
        work.rebuild = rerun == Rerun::Rebuild;
        self.take_place(selected, work, Cause::Replayed)
    }

    /// Its contents go with the rest of the operation, and its history says who erased them.
    fn erase(&mut self, selected: &Selected, state: State) {
        self.erased.push(selected.place());
        if selected.is_superseded {
            // What is shown under its id is the history of the newer message.
            return;
        }
        self.notes.push(Transition {
            digest: selected.digest,
            expires_ms: selected.expires_ms,
            at_ms: self.now.as_millis(),
            fence: Fence::new(0),
            generation: 0,
            state,
            cause: Some(Cause::Operator),
            detail: Some(format!("{}: contents erased", self.operation.by.as_str())),
            key_generation: 0,
        });
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

    /// The rows of completed messages that run once more; those of a lane are not due yet.
    pub(super) fn enter_values(&mut self, generations: &HashMap<Uuid, (i64, i64)>) -> Vec<Value> {
        self.replayed.sort_by_key(|selected| selected.digest);
        let (plan, now) = (self.plan(), self.now.as_millis());
        let is_rebuild = self.operation.action == Action::Replay { rebuild: true };
        let all = || self.replayed.iter();
        let homes: Vec<_> = all().map(|selected| home(plan, selected)).collect();
        let ints = |of: &dyn Fn(&Selected) -> i64| Value::ints(all().map(of));
        let lanes = homes.iter().map(|home| Some(home.as_ref()?.0.lane.clone()));
        let tenants = homes
            .iter()
            .map(|home| Some(home.as_ref()?.0.tenant.clone()));
        let print = |s: &Selected| Some(Bytes::copy_from_slice(s.fingerprint.as_bytes()));
        let sequence = |home: &Option<(LaneKey, Spot)>| {
            home.as_ref().map(|(_, spot)| sql_sequence(spot.sequence))
        };
        vec![
            Value::text(plan.consumer.to_string()),
            Value::int(now),
            Value::int(if is_rebuild { 2 } else { 1 }),
            Value::Uuids(all().map(|s| s.digest).collect()),
            ints(&|s| s.expires_ms),
            ints(&|s| s.number),
            ints(&|s| s.received_ms),
            Value::Ints(
                homes
                    .iter()
                    .map(|home| home.is_none().then_some(now))
                    .collect(),
            ),
            Value::Ints(all().map(|_| None).collect()),
            Value::Ints(homes.iter().map(sequence).collect()),
            ints(&|s| generations.get(&s.digest).map_or(1, |known| known.0)),
            ints(&|_| i64::from(State::Received.number())),
            Value::ByteStrings(all().map(print).collect()),
            Value::Texts(lanes.collect()),
            Value::Texts(all().map(|_| None).collect()),
            Value::Texts(tenants.collect()),
            ints(&|s| generations.get(&s.digest).map_or(0, |known| known.1)),
            Value::Texts(all().map(|_| None).collect()),
        ]
    }

    /// Completed messages that were entered take their places; those that another transaction entered meanwhile do not count.
    pub(super) fn entered(&mut self, mut entered: HashMap<Uuid, Work>) -> Result<()> {
        for selected in std::mem::take(&mut self.replayed) {
            let Some(work) = entered.remove(&selected.digest) else {
                self.report.changed -= 1;
                self.report.skipped += 1;
                continue;
            };
            self.note(&work, Cause::Replayed);
            self.forgotten.push(work.digest);
            self.due |= work.due_ms.is_some();
            let (key, row) = (work.lane_key(), work.row());
            self.keep(work);
            if let Some(key) = key {
                self.lanes.happen(&key, Event::TakePlace(row))?;
            }
        }
        Ok(())
    }
}

/// Its attempts, its generation and its key are those with which it begins anew.
fn begin_anew(work: &mut Work, run: Run) {
    (work.attempts, work.generation) = (i64::from(run.attempts), i64::from(run.generation));
    if run.new_key {
        (work.key_generation, work.first_ms) = (work.generation, None);
    }
}

/// The lane that a message belongs to by its consumer's plan, and where it stands there.
pub(super) fn home(plan: &Plan, selected: &Selected) -> Option<(LaneKey, Spot)> {
    let lane = selected.lane.clone()?;
    let sequence = stands(plan.order, true, unsigned(selected.sequence))?;
    let tenant = selected.identity.tenant().to_string();
    let number = selected.number;
    Some((LaneKey { lane, tenant }, Spot { sequence, number }))
}

fn row_at(spot: Spot, rerun: Rerun, now: Timestamp) -> Row {
    Row {
        spot,
        state: State::Received,
        cause: None,
        is_due: false,
        has_deadline: false,
        rerun,
        received_at: now,
    }
}
