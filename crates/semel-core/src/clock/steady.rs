//! Time for a store that has no server to ask: steady while a process runs, doubted where nothing explains it.
//!
//! # While a process runs
//! The monotonic clock carries its time, so a wall clock that is stepped changes nothing. Time never goes back, and never
//! stands still: if the store knows a later time than the clock does, time goes on from there.
//!
//! # When a process starts
//! The store knows its newest time, and the wall clock says how late it is. If the clock is ahead by no more than
//! [`JUMP_MAX`], it is believed. If it is further ahead, there are two stories that look the same: the machine was off
//! for a week, or its clock is wrong (a virtual machine that was resumed, NTP that has not answered yet). Believing the
//! second one would end every retention at once, and keys would run again; refusing the first one would keep a store
//! from starting. So time follows the clock, and the jump is **doubted**:
//!
//! - Live leases move along by the jump: what was alive at the newest time of the store is alive after it.
//! - Retention is prolonged by the jump ([`SteadyClock::grace`]): nothing expires that had not expired without it.
//! - If the wall clock goes back while the jump is doubted, the jump is **refused**: time and leases go back with it.
//!   What was settled meanwhile is kept longer than it had to be, and nothing else has happened.
//! - If it still stands after [`DOUBT_FOR`], the jump is **accepted**, and retention is what it was.
//! - A second jump in this time prolongs retention to the longer of the two.
//!
//! The doubt is kept in the store, so processes that share it agree. A process that runs and finds that another process has
//! moved the store's time by more than [`JUMP_MAX`] without a doubt on record asks the wall clock: if that agrees (the
//! machine was suspended, and the monotonic clock stood still), the jump is doubted as above; if not, it is **ignored**.
//!
//! What this cannot find out: a clock that is wrong for longer than [`DOUBT_FOR`] while no operator looks at the metric,
//! `semel check` or readiness, which all report a doubt; a clock that was wrong when the store was empty; and a clock
//! that jumps ahead at every start. A clock that is behind is never waited for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{Clock, Timestamp};

/// How far the clock may be ahead of a store's newest time when a process starts without being doubted. A store that is served
/// writes its time down every minute, so this is about how long a restart takes.
pub const JUMP_MAX: Duration = Duration::from_secs(15 * 60);
/// How long a jump is doubted before it is accepted.
pub const DOUBT_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// A jump of the clock that no monotonic time explains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubt {
    /// How far the clock jumped.
    pub by: Duration,
    /// What it showed when that was found.
    pub since: Timestamp,
}

impl Doubt {
    /// When the jump is accepted, if the clock does not go back before.
    pub fn until(&self) -> Timestamp {
        self.since.after(DOUBT_FOR)
    }

    /// The doubt after a second jump. The first is accepted if its time is over; else the longer jump counts, because the
    /// shorter one may well be how long a machine with a wrong clock was off.
    fn and(self, jump: Duration, now: Timestamp) -> Self {
        match now >= self.until() {
            true => Self {
                by: jump,
                since: now,
            },
            false => Self {
                by: self.by.max(jump),
                since: self.since,
            },
        }
    }
}

/// What a store knows about time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The newest time that it has written down; `None` if it has none.
    pub newest: Option<Timestamp>,
    /// The doubt that is on record.
    pub doubt: Option<Doubt>,
    /// [`Doubt::since`] of the last jump that was refused.
    pub refused: Option<Timestamp>,
}

/// What a store has to write before it goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// Nothing.
    None,
    /// The doubt, all live leases moved ahead by this much, and the present time as its newest.
    Begin(Doubt, Duration),
    /// That there is no doubt any more.
    Accept,
    /// That this jump was refused, all leases moved back by it, and the present time as the newest.
    Refuse(Doubt),
    /// The present time as the newest, whatever it has found.
    Ignore,
}

/// Time for a store: it follows a clock, never stands still, and goes back only with a jump that is refused. See the
/// documentation of this module for the rule. Clones share their time.
#[derive(Debug, Clone)]
pub struct SteadyClock {
    clock: Arc<dyn Clock>,
    /// One lock around reading and adjusting: a thread that is held up between the two would
    /// look behind, and the difference would be added for good.
    steady: Arc<Mutex<Steady>>,
}

#[derive(Debug, Default)]
struct Steady {
    offset_ms: i64,
    latest_ms: i64,
    /// Whether the store's time has been compared with the clock's.
    has_started: bool,
    doubt: Option<Doubt>,
    /// The doubt that was begun, if it is yet to be found in the store: its transaction may have been rolled back.
    pending: Option<Pending>,
}

/// What a store was asked to write down.
#[derive(Debug, Clone, Copy)]
struct Pending {
    doubt: Doubt,
    moved: Duration,
    asked: Timestamp,
}

impl SteadyClock {
    /// Steady time on top of `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            steady: Arc::default(),
        }
    }

    /// The present instant.
    pub fn now(&self) -> Timestamp {
        self.steady().read(self.clock.now())
    }

    /// The jump that is doubted at present.
    pub fn doubt(&self) -> Option<Doubt> {
        self.steady().doubt
    }

    /// How much longer than written down everything is kept, because a jump is doubted.
    pub fn grace(&self) -> Duration {
        self.doubt().map_or(Duration::ZERO, |doubt| doubt.by)
    }

    /// Compares the clock with what the store knows, at the beginning of each of its write transactions. Until what this
    /// asks for is durable, it asks for it again.
    pub fn judge(&self, known: Known) -> Correction {
        let mut steady = self.steady();
        let own = steady.read(self.clock.now());
        let is_first = steady.starts(&known);
        let Some(newest) = known.newest else {
            return Correction::None;
        };
        let wall = || self.clock.wall();
        match known.doubt {
            Some(doubt) => steady.under_doubt(doubt, own, newest, is_first, wall),
            None => {
                let own = steady.follow_decision(own, known.refused);
                steady.without_doubt(own, newest, is_first, wall)
            }
        }
    }

    fn steady(&self) -> MutexGuard<'_, Steady> {
        // The numbers are whole after every statement, so a poisoned lock protects nothing.
        self.steady.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Steady {
    /// The present instant when the clock shows `reading`.
    fn read(&mut self, reading: Timestamp) -> Timestamp {
        let reading = reading.0.saturating_add(self.offset_ms);
        if reading < self.latest_ms {
            self.offset_ms = self.offset_ms.saturating_add(self.latest_ms - reading);
        } else {
            self.latest_ms = reading;
        }
        Timestamp(self.latest_ms)
    }

    /// The present instant is not before `at`; it has just been read.
    fn not_before(&mut self, at: Timestamp) {
        if at.0 > self.latest_ms {
            self.offset_ms = self.offset_ms.saturating_add(at.0 - self.latest_ms);
            self.latest_ms = at.0;
        }
    }

    /// Time goes back: the jump was refused.
    fn go_back(&mut self, by: Duration) {
        let before_ms = self.latest_ms;
        self.latest_ms = Timestamp(before_ms).before(by).0;
        self.offset_ms = self.offset_ms.saturating_sub(before_ms - self.latest_ms);
        self.doubt = None;
    }

    fn begin(&mut self, doubt: Doubt, moved: Duration) -> Correction {
        // What has passed since it was asked for the first time is explained, and no part of the jump.
        let is_same = |p: &Pending| moved.saturating_sub(p.moved) <= JUMP_MAX && moved >= p.moved;
        let asked = Timestamp(self.latest_ms);
        let (doubt, moved) = match self.pending.filter(is_same) {
            Some(pending) => (pending.doubt, pending.moved),
            None => (doubt, moved),
        };
        self.doubt = Some(doubt);
        self.pending = Some(Pending {
            doubt,
            moved,
            asked,
        });
        Correction::Begin(doubt, moved)
    }

    /// Whether the store's time and the clock's meet for the first time, or did in a transaction that was rolled back.
    fn starts(&mut self, known: &Known) -> bool {
        let is_new = !std::mem::replace(&mut self.has_started, true);
        let Some(pending) = self.pending else {
            return is_new;
        };
        let is_durable = known.newest >= Some(pending.asked);
        if is_durable || known.refused == Some(pending.doubt.since) {
            self.pending = None;
            return false;
        }
        self.doubt = None;
        true
    }

    /// The doubt that this process knew is no longer on record: another process has decided.
    fn follow_decision(&mut self, own: Timestamp, refused: Option<Timestamp>) -> Timestamp {
        match self.doubt.take() {
            Some(doubt) if refused == Some(doubt.since) => {
                self.go_back(doubt.by);
                Timestamp(self.latest_ms)
            }
            Some(_) | None => own,
        }
    }

    fn without_doubt(
        &mut self,
        own: Timestamp,
        newest: Timestamp,
        is_first: bool,
        wall: impl Fn() -> Timestamp,
    ) -> Correction {
        let (jump, behind) = (own.since(newest), newest.since(own));
        if is_first && jump > JUMP_MAX {
            let (by, since) = (jump, own);
            return self.begin(Doubt { by, since }, jump);
        }
        if is_first || behind <= JUMP_MAX {
            self.not_before(newest);
            return Correction::None;
        }
        if newest.since(wall()) > JUMP_MAX {
            return Correction::Ignore;
        }
        self.not_before(newest);
        let (by, since) = (behind, newest);
        self.begin(Doubt { by, since }, behind)
    }

    fn under_doubt(
        &mut self,
        doubt: Doubt,
        own: Timestamp,
        newest: Timestamp,
        is_first: bool,
        wall: impl Fn() -> Timestamp,
    ) -> Correction {
        let jump = own.since(newest);
        if is_first && jump > JUMP_MAX {
            return self.begin(doubt.and(jump, own), jump);
        }
        // This process has not followed the jump, and need not: its own time is the right one.
        if self.doubt.is_none() && newest.since(wall()) > JUMP_MAX {
            self.not_before(newest.before(doubt.by));
            return Correction::Refuse(doubt);
        }
        self.not_before(newest);
        let now = Timestamp(self.latest_ms);
        self.doubt = Some(doubt);
        if now.since(wall()) > JUMP_MAX {
            self.go_back(doubt.by);
            return Correction::Refuse(doubt);
        }
        if now >= doubt.until() {
            self.doubt = None;
            return Correction::Accept;
        }
        Correction::None
    }
}

#[cfg(test)]
mod tests;
