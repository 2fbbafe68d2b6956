//! Lanes that go on: after their head was dealt with, and when it is stuck.

use std::ops::ControlFlow;
use std::time::Duration;

use rusqlite::params;
use semel_core::inbox::order::Place;
use semel_core::inbox::{Cause, OnTerminal, Order, State};
use semel_core::{Outcome, Result};

use super::lanes::{self, Lane, Member, Spot, Stance};
use super::notes::Consumer;
use super::placing::{Placed, patience_ms};
use super::records::Settlement;
use super::rows::{self, REBUILD, Work};
use super::sql;
use crate::verbs::Session;

/// Why a lane goes on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    /// The sequence that was applied just now; -1 if none was.
    pub(super) applied: i64,
    /// Why the next one is released, if its own cause does not say it.
    pub(super) cause: Option<Cause>,
}

impl Progress {
    /// Something changed in the lane.
    pub(super) const NONE: Self = Self {
        applied: -1,
        cause: None,
    };
}

impl Session<'_> {
    /// The row was applied, or passed over in its turn, and is out of the lane: the next one goes on.
    pub(super) fn after_applied(&mut self, lane: Lane<'_>, sequence: i64) -> Result<()> {
        if sequence >= 0 {
            lane.pass(self.connection, sequence)?;
        }
        let applied = sequence;
        self.go_on(
            lane,
            Progress {
                applied,
                cause: None,
            },
        )
    }

    /// The row has failed for good or was parked: those behind it wait, or go on without it.
    pub(super) fn after_stuck(&mut self, lane: Lane<'_>, spot: Spot) -> Result<()> {
        match (lane.order().on_terminal(), spot.sequence) {
            (OnTerminal::Park, _) => self.block(lane, spot),
            (OnTerminal::Advance, 0..) => self.go_on(lane, Progress::NONE),
            (OnTerminal::Advance, _) => {
                lanes::leave(self.connection, spot.number)?;
                self.go_on(lane, Progress::NONE)
            }
        }
    }

    /// Lets the first row run that may, and takes out of the lane what is done or passed over before it.
    pub(super) fn go_on(&mut self, lane: Lane<'_>, progress: Progress) -> Result<()> {
        while let Some(first) = lane.first(self.connection)? {
            let step = match lane.order() {
                // The consumer has no lanes any more: whoever stands in one runs.
                Order::None => self.dissolve(lane, &first)?,
                Order::Sequence { .. } if first.spot.sequence >= 0 => {
                    self.go_on_by_sequence(lane, &first, progress)?
                }
                Order::Sequence { .. } | Order::Arrival { .. } => {
                    self.go_on_by_arrival(lane, &first, progress)?
                }
            };
            if step.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn dissolve(&mut self, lane: Lane<'_>, first: &Member) -> Result<ControlFlow<()>> {
        if !first.is_due && first.stance(lane.order()) != Stance::Passed {
            self.let_go(lane, first, None)?;
        }
        lanes::leave(self.connection, first.spot.number)?;
        Ok(ControlFlow::Continue(()))
    }

    fn go_on_by_arrival(
        &mut self,
        lane: Lane<'_>,
        first: &Member,
        progress: Progress,
    ) -> Result<ControlFlow<()>> {
        match first.stance(lane.order()) {
            Stance::Passed => {
                lanes::leave(self.connection, first.spot.number)?;
                return Ok(ControlFlow::Continue(()));
            }
            Stance::Stuck => {}
            Stance::Moving | Stance::Gap | Stance::BehindFailed if first.is_due => {}
            Stance::Moving | Stance::Gap | Stance::BehindFailed => {
                self.let_go(lane, first, progress.cause)?;
            }
        }
        Ok(ControlFlow::Break(()))
    }

    fn go_on_by_sequence(
        &mut self,
        lane: Lane<'_>,
        first: &Member,
        progress: Progress,
    ) -> Result<ControlFlow<()>> {
        let (next, spot) = (ControlFlow::Continue(()), first.spot);
        let done = lane.done(self.connection)?.unwrap_or(-1);
        // What is rebuilt may run at or below done, but no version twice in a row.
        let is_older = match first.replay {
            REBUILD => spot.sequence == progress.applied,
            _ => spot.sequence <= done,
        };
        match first.stance(lane.order()) {
            // Somebody is at it; its end will let the lane go on.
            _ if first.state == State::InProgress => return Ok(ControlFlow::Break(())),
            Stance::Passed if spot.sequence <= done + 1 => {
                lane.pass(self.connection, spot.sequence)?;
                lanes::leave(self.connection, spot.number)?;
                return Ok(next);
            }
            _ if is_older => {
                self.skip_older(lane, spot.number)?;
                return Ok(next);
            }
            _ if spot.sequence <= done => return self.go_on_by_arrival(lane, first, progress),
            Stance::Passed | Stance::Stuck => {}
            _ if first.is_due => {}
            Stance::Moving | Stance::Gap | Stance::BehindFailed => {
                match self.place(lane, spot, first.replay)? {
                    Place::Due => self.let_go(lane, first, progress.cause)?,
                    _ => self.await_missing(lane, first)?,
                }
            }
        }
        Ok(ControlFlow::Break(()))
    }

    /// The row is next: it is due now. If it was parked, so may be those behind it.
    fn let_go(&mut self, lane: Lane<'_>, first: &Member, cause: Option<Cause>) -> Result<()> {
        let number = first.spot.number;
        if first.state == State::Received {
            // Its state does not change, only its turn has come.
            let sql = "UPDATE semel_work SET due_ms = ?2, deadline_ms = NULL WHERE number = ?1";
            sql::run(self.connection, sql, params![number, self.now.as_millis()])?;
            self.wake(&lane.of.plan.consumer);
            return Ok(());
        }
        let stance = first.stance(lane.order());
        let usual = match stance {
            Stance::Gap => Cause::GapFilled,
            _ => Cause::HeadDone,
        };
        self.put(lane.of, number, Placed::due(self.now.as_millis()))?;
        let cause = Some(cause.unwrap_or(usual));
        self.keep_transition(number, State::Received, cause, None)?;
        match stance {
            Stance::BehindFailed => self.free(lane, first.spot),
            _ => Ok(()),
        }
    }

    /// The first row of a lane waits for a version that has not arrived: it says so, and its patience is counted.
    fn await_missing(&mut self, lane: Lane<'_>, first: &Member) -> Result<()> {
        match (first.cause, first.has_deadline) {
            (Some(Cause::GapExpired), _) | (Some(Cause::Gap), true) => Ok(()),
            // Its patience is counted from its arrival.
            (Some(Cause::Gap), false) => {
                let sql = "UPDATE semel_work SET deadline_ms = ?2 + \
                           (SELECT received_ms FROM semel_messages m WHERE m.number = ?1) \
                           WHERE number = ?1";
                let values = params![first.spot.number, patience_ms(lane.order())];
                sql::run(self.connection, sql, values).map(drop)
            }
            _ => {
                self.park_at(lane, first.spot.number, Place::Gap)?;
                match first.cause {
                    Some(Cause::BehindFailed) => self.free(lane, first.spot),
                    _ => Ok(()),
                }
            }
        }
    }

    fn park_at(&mut self, lane: Lane<'_>, number: i64, place: Place) -> Result<()> {
        let placed = self.placed(lane.of, place);
        self.put(lane.of, number, placed)?;
        self.keep_transition(number, placed.state, placed.cause, None)
    }

    /// Parks those behind a row that is stuck.
    pub(super) fn block(&mut self, lane: Lane<'_>, spot: Spot) -> Result<()> {
        let mut spot = spot;
        while let Some(member) = lane.after(self.connection, spot)? {
            spot = member.spot;
            match member.stance(lane.order()) {
                // Those behind it wait already.
                Stance::Stuck | Stance::BehindFailed => break,
                Stance::Moving if member.state == State::InProgress => {}
                Stance::Moving | Stance::Gap => {
                    self.park_at(lane, spot.number, Place::BehindStuck)?;
                }
                Stance::Passed => {}
            }
        }
        Ok(())
    }

    /// Those behind a row that was stuck take their places again.
    pub(super) fn free(&mut self, lane: Lane<'_>, spot: Spot) -> Result<()> {
        let mut spot = spot;
        while let Some(member) = lane.after(self.connection, spot)? {
            spot = member.spot;
            match member.stance(lane.order()) {
                Stance::Passed => continue,
                Stance::BehindFailed => {}
                Stance::Moving | Stance::Gap | Stance::Stuck => break,
            }
            match self.place(lane, spot, member.replay)? {
                Place::BehindStuck => break,
                Place::Older => self.skip_older(lane, spot.number)?,
                Place::Gap => self.park_at(lane, spot.number, Place::Gap)?,
                place @ (Place::Due | Place::Behind) => {
                    let placed = self.placed(lane.of, place);
                    self.put(lane.of, spot.number, placed)?;
                    let cause = Some(Cause::HeadDone);
                    self.keep_transition(spot.number, State::Received, cause, None)?;
                }
            }
        }
        Ok(())
    }

    /// What it says has been said.
    fn skip_older(&mut self, lane: Lane<'_>, number: i64) -> Result<()> {
        if let Some(work) = rows::work(self.connection, number)? {
            self.skip(lane.of, &work, Cause::OlderVersion, None)?;
        }
        lanes::leave(self.connection, number)
    }

    /// Passes a row over: its record is settled, and it stays for people to see. It does not leave its lane by this.
    pub(super) fn skip(
        &mut self,
        of: Consumer<'_>,
        work: &Work,
        cause: Cause,
        detail: Option<&str>,
    ) -> Result<()> {
        let (identity, fingerprint) = rows::named(self.connection, &of.plan.consumer, work.number)?;
        let now_ms = self.now.as_millis();
        self.settle_message(&Settlement {
            identity: &identity,
            fingerprint,
            fence: None,
            attempt: work.attempts,
            claimed_ms: now_ms,
            outcome: &Outcome::succeeded(""),
            took: Duration::ZERO,
            retention: of.plan.retention,
        })?;
        let placed = Placed {
            state: State::SkippedDuplicate,
            cause: Some(cause),
            ..Placed::WAITING
        };
        self.put(of, work.number, placed)?;
        self.keep_transition(work.number, placed.state, placed.cause, detail)
    }
}
