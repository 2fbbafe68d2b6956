//! The circuit of one consumer: whether its handler or provider is there, and how many attempts may run against it.
//!
//! ```text
//!             a few failures in a row, or a wish to be left alone
//!   closed ────────────────────────────────────────────────────────▶ open ◀──────────┐
//!     ▲ as successes come, twice as many attempts at once             │ its pause is over  │ the probe fails:
//!     │                                                               ▼                    │ a longer pause
//!     └────────────────────────── the probe succeeds ─────────── half-open ────────────────┘
//! ```
//!
//! Pure: the time and the jitter are passed in. What ends after the circuit has changed says nothing about it any more.

use std::time::Duration;

use tokio::time::Instant;

use crate::policy::Signal;
use crate::policy::retry::DELAY_MAX;

/// So many failures in a row open a circuit.
const FAILURES: u32 = 3;
/// The pause before the first probe, and the longest one.
const PAUSE_FIRST: Duration = Duration::from_millis(500);
const PAUSE_MAX: Duration = Duration::from_secs(30);

/// How a circuit stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CircuitState {
    /// Messages run.
    Closed,
    /// The other side is away: nothing runs until the pause is over.
    Open,
    /// One message finds out whether the other side is back.
    HalfOpen,
}

impl CircuitState {
    /// The name that people and scripts see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        }
    }
}

/// The right to one attempt, and under which state of the circuit it began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass(u64);

/// How much may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    /// As much as there are workers.
    All,
    /// So many more than have begun.
    Some(usize),
    /// Nothing before this moment.
    From(Instant),
}

/// The circuit of one consumer.
#[derive(Debug)]
pub(super) struct Circuit {
    workers: usize,
    phase: Phase,
    /// Grows with every change of phase.
    epoch: u64,
    /// Attempts of this epoch that have not ended.
    running: usize,
    failures: u32,
    denials: u32,
    pause: Duration,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// So many at once; fewer than there are workers after it was open.
    Closed {
        allowed: usize,
    },
    Open {
        until: Instant,
        denied: bool,
    },
    HalfOpen {
        denied: bool,
    },
}

impl Circuit {
    /// A closed circuit.
    pub(super) const fn new(workers: usize) -> Self {
        Self {
            workers,
            phase: Phase::Closed { allowed: workers },
            epoch: 0,
            running: 0,
            failures: 0,
            denials: 0,
            pause: PAUSE_FIRST,
        }
    }

    pub(super) const fn state(&self) -> CircuitState {
        match self.phase {
            Phase::Closed { .. } => CircuitState::Closed,
            Phase::Open { .. } => CircuitState::Open,
            Phase::HalfOpen { .. } => CircuitState::HalfOpen,
        }
    }

    /// When an open circuit lets a probe through.
    pub(super) const fn retry_at(&self) -> Option<Instant> {
        match self.phase {
            Phase::Open { until, .. } => Some(until),
            Phase::Closed { .. } | Phase::HalfOpen { .. } => None,
        }
    }

    /// How much may begin now. An open circuit whose pause is over becomes half-open.
    pub(super) fn allowed(&mut self, now: Instant) -> Allowed {
        if let Phase::Open { until, denied } = self.phase {
            if until > now {
                return Allowed::From(until);
            }
            self.enter(Phase::HalfOpen { denied });
        }
        match self.phase {
            Phase::Closed { allowed } if allowed >= self.workers => Allowed::All,
            Phase::Closed { allowed } => Allowed::Some(allowed.saturating_sub(self.running)),
            Phase::HalfOpen { .. } => Allowed::Some(1_usize.saturating_sub(self.running)),
            Phase::Open { until, .. } => Allowed::From(until),
        }
    }

    /// One attempt begins, if it may.
    pub(super) fn begin(&mut self, now: Instant) -> Option<Pass> {
        match self.allowed(now) {
            Allowed::All | Allowed::Some(1..) => {
                self.running += 1;
                Some(Pass(self.epoch))
            }
            Allowed::Some(0) | Allowed::From(_) => None,
        }
    }

    /// An attempt was not made after all.
    pub(super) const fn unused(&mut self, pass: Pass) {
        if pass.0 == self.epoch {
            self.running = self.running.saturating_sub(1);
        }
    }

    /// An attempt has ended; `jitter` is drawn from 0 to 1.
    pub(super) fn ended(&mut self, pass: Pass, signal: Signal, now: Instant, jitter: f64) {
        let is_current = pass.0 == self.epoch;
        self.unused(pass);
        match self.phase {
            Phase::Open { until, denied } => {
                if let Signal::Busy(after) = signal {
                    let until = until.max(now + after.min(DELAY_MAX));
                    self.phase = Phase::Open { until, denied };
                }
            }
            _ if !is_current => {}
            Phase::Closed { allowed } => self.closed_ended(allowed, signal, now, jitter),
            Phase::HalfOpen { denied } => match signal {
                Signal::Success => self.close(),
                Signal::Answered if !denied => self.close(),
                // The other side is there; whether it refuses everything is not known by one.
                Signal::Denied if !denied => {
                    self.close();
                    self.denials = 1;
                }
                Signal::Answered
                | Signal::Away
                | Signal::Busy(_)
                | Signal::Denied
                | Signal::Nothing => self.open(signal, denied, now, jitter),
            },
        }
    }

    /// Whether a message that was refused for our credentials is tried again: all of them are while the circuit is open because of that.
    pub(super) const fn forgives_denials(&self) -> bool {
        matches!(
            self.phase,
            Phase::Open { denied: true, .. } | Phase::HalfOpen { denied: true }
        )
    }

    fn closed_ended(&mut self, allowed: usize, signal: Signal, now: Instant, jitter: f64) {
        // A circuit that has just closed opens again at the first failure.
        let failures_max = if allowed < self.workers { 1 } else { FAILURES };
        match signal {
            Signal::Success | Signal::Answered => {
                self.failures = 0;
                if signal == Signal::Success {
                    self.denials = 0;
                }
                let allowed = (allowed + 1).min(self.workers);
                self.phase = Phase::Closed { allowed };
                if allowed == self.workers {
                    self.pause = PAUSE_FIRST;
                }
            }
            Signal::Busy(_) => self.open(signal, false, now, jitter),
            Signal::Away => {
                self.failures += 1;
                if self.failures >= failures_max {
                    self.open(signal, false, now, jitter);
                }
            }
            Signal::Denied => {
                self.denials += 1;
                // One refusal may be about its message alone.
                if self.denials >= FAILURES {
                    self.open(signal, true, now, jitter);
                }
            }
            Signal::Nothing => {}
        }
    }

    fn close(&mut self) {
        (self.failures, self.denials) = (0, 0);
        let allowed = 2.min(self.workers);
        self.enter(Phase::Closed { allowed });
    }

    fn open(&mut self, signal: Signal, denied: bool, now: Instant, jitter: f64) {
        let pause = self.pause.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        let asked = match signal {
            Signal::Busy(after) => after.min(DELAY_MAX),
            _ => Duration::ZERO,
        };
        self.enter(Phase::Open {
            until: now + pause.max(asked),
            denied: denied || signal == Signal::Denied,
        });
    }

    const fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.epoch += 1;
        self.running = 0;
    }
}

#[cfg(test)]
mod tests;
