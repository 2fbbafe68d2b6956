//! What an operator's hand does to one message.

use rusqlite::params;
use semel_core::inbox::order::Place;
use semel_core::inbox::{Action, Cause, Operation, Order, State};
use semel_core::{Key, Result};

use super::going::Progress;
use super::lanes::{self, Lane, Spot, Stance, stance};
use super::notes::Consumer;
use super::placing::{Placed, lane_sequence};
use super::records;
use super::rows::{self, REBUILD, REPLAY, Work};
use super::sql;
use crate::verbs::Session;

/// An operation under way.
pub(super) struct Act<'a> {
    pub(super) of: Consumer<'a>,
    operation: &'a Operation,
    /// Messages that wait for others: they come last, because the others may set them free.
    pub(super) waiting: Vec<i64>,
    /// Lanes that messages came back to.
    lanes: Vec<Key>,
}

/// What was done to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Did {
    /// It changed.
    Changed {
        /// Whether it is another payload under a known id.
        conflict: bool,
    },
    /// It stays as it is.
    Nothing,
    /// It is looked at again when the others are done.
    Later,
}

impl<'a> Act<'a> {
    pub(super) const fn new(of: Consumer<'a>, operation: &'a Operation) -> Self {
        Self {
            of,
            operation,
            waiting: Vec::new(),
            lanes: Vec::new(),
        }
    }

    fn by(&self) -> Option<&'a str> {
        Some(self.operation.by.as_str())
    }

    fn is_named(&self) -> bool {
        !self.operation.select.ids.is_empty()
    }
}

/// Where a message belongs by its consumer's plan.
struct Home {
    lane: Option<(Key, i64)>,
}

impl Home {
    fn lane<'b>(&'b self, of: Consumer<'b>, number: i64) -> Option<(Lane<'b>, Spot)> {
        let (key, sequence) = self.lane.as_ref()?;
        let (name, sequence) = (key.as_str(), *sequence);
        Some((Lane { of, name }, Spot { sequence, number }))
    }
}

impl Session<'_> {
    /// Does to a message what the operation says. `was` is its state before the operation, which may have moved it since.
    pub(super) fn act(&mut self, act: &mut Act<'_>, number: i64, was: State) -> Result<Did> {
        if !act.operation.action.states().contains(&was) {
            return Ok(Did::Nothing);
        }
        let work = rows::work(self.connection, number)?;
        let conflict = work
            .as_ref()
            .is_some_and(|w| w.cause == Some(Cause::Conflict));
        let changed = match (act.operation.action, &work) {
            (Action::Replay { rebuild }, _) => self.replay(act, number, work.as_ref(), rebuild)?,
            (_, None) => false,
            (Action::Retry { .. } | Action::Unpark, Some(work)) if is_waiting(work) => {
                act.waiting.push(number);
                return Ok(Did::Later);
            }
            (Action::Retry { .. } | Action::Unpark, Some(work)) if work.state != was => {
                self.begin_anew(act, work, None).map(|()| true)?
            }
            (Action::Retry { .. } | Action::Unpark, Some(work)) => self.run_again(act, work)?,
            (Action::Park, Some(work)) => self.park(act, work)?,
            (Action::Skip, Some(work)) if work.state == State::SkippedDuplicate => true,
            (Action::Skip, Some(work)) => self.pass_by(act, work)?,
        };
        Ok(match changed {
            true => Did::Changed { conflict },
            false => Did::Nothing,
        })
    }

    /// Does it to a message that waited for others when the operation began.
    pub(super) fn act_on_waiting(&mut self, act: &Act<'_>, number: i64) -> Result<Did> {
        let Some(work) = rows::work(self.connection, number)? else {
            return Ok(Did::Nothing);
        };
        let at_once = act.operation.action == Action::Unpark && act.is_named();
        let changed = match (is_waiting(&work), at_once) {
            // What it waited for was among the others.
            (false, _) => self.begin_anew(act, &work, None).map(|()| true)?,
            (true, true) => {
                self.put(act.of, number, Placed::due(self.now.as_millis()))?;
                let cause = Some(Cause::Operator);
                self.keep_transition(number, State::Received, cause, act.by())?;
                true
            }
            (true, false) if act.operation.action == Action::Unpark => false,
            (true, false) => self.run_again(act, &work)?,
        };
        Ok(match changed {
            true => Did::Changed { conflict: false },
            false => Did::Nothing,
        })
    }

    /// Retry and unpark: it takes its place again.
    fn run_again(&mut self, act: &Act<'_>, work: &Work) -> Result<bool> {
        if work.replay == 0 && self.is_dealt_with(act, work.number)? {
            return Ok(false);
        }
        let home = self.home(act, work.number)?;
        let Some((lane, spot)) = home.lane(act.of, work.number) else {
            self.begin_anew(act, work, None)?;
            self.put_by_hand(act, work.number, Placed::due(self.now.as_millis()))?;
            return self.leave_old_lane(act, work).map(|()| true);
        };
        let place = match self.place(lane, spot, work.replay)? {
            Place::Older => return Ok(false),
            Place::Gap | Place::BehindStuck if is_waiting(work) => return Ok(false),
            // Whoever runs in the lane now is not joined by another.
            Place::Due if lane.has_due(self.connection, work.number)? => Place::Behind,
            place => place,
        };
        self.begin_anew(act, work, home.lane.as_ref())?;
        self.put_by_hand(act, work.number, self.placed(act.of, place))?;
        match place {
            Place::Due | Place::Behind => self.free(lane, spot)?,
            Place::BehindStuck | Place::Gap | Place::Older => {}
        }
        Ok(true)
    }

    fn put_by_hand(&mut self, act: &Act<'_>, number: i64, placed: Placed) -> Result<()> {
        self.put(act.of, number, placed)?;
        self.keep_transition(number, placed.state, Some(Cause::Operator), act.by())
    }

    /// A retry counts its attempts anew. Both stand in the lane where they belong.
    fn begin_anew(&mut self, act: &Act<'_>, work: &Work, lane: Option<&(Key, i64)>) -> Result<()> {
        let (attempts, generation) = match act.operation.action {
            Action::Retry { .. } => (0, work.generation.saturating_add(1)),
            _ => (work.attempts, work.generation),
        };
        sql::run(
            self.connection,
            "UPDATE semel_work SET attempts = ?2, generation = ?3, lane = coalesce(?4, lane), \
             sequence = iif(?4 IS NULL, sequence, ?5) WHERE number = ?1",
            params![
                work.number,
                attempts,
                generation,
                lane.map(|(key, _)| key.as_str()),
                lane.map(|(_, sequence)| sequence),
            ],
        )?;
        self.keep_generation(work.number, generation)
    }

    fn keep_generation(&self, number: i64, generation: u32) -> Result<()> {
        if generation == 0 {
            return Ok(());
        }
        let sql = "INSERT OR REPLACE INTO semel_generations (number, generation) VALUES (?1, ?2)";
        sql::run(self.connection, sql, params![number, generation]).map(drop)
    }

    /// A row may stand in a lane that its consumer's plan no longer knows.
    fn leave_old_lane(&mut self, act: &Act<'_>, work: &Work) -> Result<()> {
        let Some(name) = work.lane.as_deref() else {
            return Ok(());
        };
        lanes::leave(self.connection, work.number)?;
        self.go_on(Lane { of: act.of, name }, Progress::NONE)
    }

    fn park(&mut self, act: &Act<'_>, work: &Work) -> Result<bool> {
        let was = stance(work.state, work.cause, act.of.plan.order);
        self.put_by_hand(act, work.number, Placed::parked(Cause::Operator))?;
        match work.lane.as_deref() {
            Some(name) if was != Stance::Stuck => {
                self.after_stuck(Lane { of: act.of, name }, work.spot())?;
            }
            _ => {}
        }
        Ok(true)
    }

    fn pass_by(&mut self, act: &Act<'_>, work: &Work) -> Result<bool> {
        self.skip(act.of, work, Cause::Operator, act.by())?;
        let Some(name) = work.lane.as_deref() else {
            return Ok(true);
        };
        let lane = Lane { of: act.of, name };
        // By sequence it stays until the lane has come to it.
        if work.sequence < 0 {
            lanes::leave(self.connection, work.number)?;
        }
        self.go_on(lane, Progress::NONE)?;
        self.free(lane, work.spot())?;
        Ok(true)
    }

    /// Runs once more what was dealt with.
    fn replay(
        &mut self,
        act: &mut Act<'_>,
        number: i64,
        work: Option<&Work>,
        rebuild: bool,
    ) -> Result<bool> {
        let home = self.home(act, number)?;
        let by_sequence = matches!(act.of.plan.order, Order::Sequence { .. });
        if let Some((lane, spot)) = home.lane(act.of, number)
            && by_sequence
            && !rebuild
            && lane.done(self.connection)? >= Some(spot.sequence)
        {
            return Ok(false);
        }
        self.renew_work(number, act, home.lane.as_ref(), rebuild)?;
        let cause = Some(Cause::Replayed);
        self.keep_transition(number, State::Received, cause, act.by())?;
        match home.lane {
            Some((lane, _)) if !act.lanes.contains(&lane) => act.lanes.push(lane),
            Some(_) => {}
            None => self.put(act.of, number, Placed::due(self.now.as_millis()))?,
        }
        match work {
            Some(work) if act.of.plan.order == Order::None => {
                self.leave_old_lane(act, work).map(|()| true)
            }
            _ => Ok(true),
        }
    }

    /// Work for a message that was dealt with: not due yet, in a new generation, with no step done.
    fn renew_work(
        &self,
        number: i64,
        act: &Act<'_>,
        lane: Option<&(Key, i64)>,
        rebuild: bool,
    ) -> Result<()> {
        let sql = "SELECT generation FROM semel_generations WHERE number = ?1";
        let generation = sql::one(self.connection, sql, params![number], |row| row.get(0))?;
        let generation = generation.unwrap_or(0_u32).saturating_add(1);
        sql::run(
            self.connection,
            "INSERT OR REPLACE INTO semel_work (number, consumer, state, fence, attempts, \
             generation, replay, changed_ms, sequence, lane) \
             VALUES (?1, ?2, 0, coalesce((SELECT fence FROM semel_work WHERE number = ?1), 0), \
             0, ?3, ?4, ?5, ?6, ?7)",
            params![
                number,
                act.of.number,
                generation,
                if rebuild { REBUILD } else { REPLAY },
                self.now.as_millis(),
                lane.map_or(-1, |(_, sequence)| *sequence),
                lane.map(|(key, _)| key.as_str()),
            ],
        )?;
        self.keep_generation(number, generation)?;
        let sql = "DELETE FROM semel_steps WHERE number = ?1";
        sql::run(self.connection, sql, params![number]).map(drop)
    }

    /// The lanes that messages came back to go on, unless somebody runs in them already.
    pub(super) fn set_lanes_going(&mut self, act: &Act<'_>) -> Result<()> {
        for key in &act.lanes {
            let lane = Lane {
                of: act.of,
                name: key.as_str(),
            };
            if !lane.has_due(self.connection, -1)? {
                self.go_on(lane, Progress::NONE)?;
            }
        }
        Ok(())
    }

    fn home(&self, act: &Act<'_>, number: i64) -> Result<Home> {
        let sql = "SELECT lane, sequence FROM semel_messages WHERE number = ?1";
        let found = sql::one(self.connection, sql, params![number], |row| {
            Ok((row.get::<_, Option<String>>(0)?, row.get(1)?))
        })?;
        let (lane, sequence) = found.unwrap_or((None, None));
        let sequence = lane_sequence(act.of.plan.order, lane.is_some(), sequence);
        let lane = match (lane, sequence) {
            (Some(lane), Some(sequence)) => Some((Key::new(lane)?, sequence)),
            _ => None,
        };
        Ok(Home { lane })
    }

    /// Whether another door has settled the record of a message in the meantime.
    fn is_dealt_with(&self, act: &Act<'_>, number: i64) -> Result<bool> {
        let (identity, _) = rows::named(self.connection, &act.of.plan.consumer, number)?;
        let record = records::brief(self.connection, &identity)?;
        Ok(record.is_some_and(|record| record.is_settled(self.kept_since())))
    }
}

/// Whether it is parked only because of others.
fn is_waiting(work: &Work) -> bool {
    let waits = [Cause::Gap, Cause::GapExpired, Cause::BehindFailed];
    work.state == State::Parked && work.cause.is_some_and(|cause| waits.contains(&cause))
}
