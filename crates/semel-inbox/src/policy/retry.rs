//! When to try again, and when to stop.

use std::time::Duration;

use bytes::Bytes;
use semel_core::inbox::UnknownPolicy;
use semel_core::inbox::state::Cause;
use semel_core::inbox::work::{Disposition, ErrorText};
use semel_core::{Error, Result};

use super::signal::Signal;

/// The most attempts that a consumer may ask for.
pub const ATTEMPTS_MAX: u32 = 1_000;
/// The longest wait between two attempts.
pub const DELAY_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How often and how fast an attempt is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    attempts_max: u32,
    backoff: Backoff,
}

/// How long to wait between attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The wait after the first attempt.
    pub first: Duration,
    /// The longest wait.
    pub max: Duration,
    /// Whether each wait is twice the one before; otherwise all are alike.
    pub exponential: bool,
    /// Whether a wait is drawn at random between half of it and all of it, so that failures do not return in step.
    pub jitter: bool,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            first: Duration::from_secs(1),
            max: Duration::from_secs(300),
            exponential: true,
            jitter: true,
        }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts_max: 10,
            backoff: Backoff::default(),
        }
    }
}

/// How an attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Whether trying again may help.
    pub class: Class,
    /// Why, where it is not plain.
    pub cause: Cause,
    /// What went wrong, in words; never a payload.
    pub error: ErrorText,
    /// What it says about the other side as a whole.
    pub(crate) signal: Signal,
}

/// Whether trying again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It may; not before so much time, if the other side said so.
    Retryable(Option<Duration>),
    /// It does not.
    Terminal,
    /// A person must look, whatever attempts are left.
    Park,
    /// Whether the effect happened is not known: the consumer's [`UnknownPolicy`] decides.
    Unknown,
    /// The other side was certainly not reached: it is tried again, and the attempt does not count.
    NotReached,
}

impl Failure {
    /// A failure that may pass.
    pub fn retryable(error: impl std::fmt::Display) -> Self {
        Self::new(Class::Retryable(None), Cause::Retryable, error)
    }

    /// A failure that may pass, but not before so much time.
    pub fn retryable_after(after: Duration, error: impl std::fmt::Display) -> Self {
        Self::new(Class::Retryable(Some(after)), Cause::Retryable, error)
    }

    /// A failure that trying again does not help.
    pub fn terminal(error: impl std::fmt::Display) -> Self {
        Self::new(Class::Terminal, Cause::Terminal, error)
    }

    /// A message that a person must look at.
    pub fn park(error: impl std::fmt::Display) -> Self {
        Self::new(Class::Park, Cause::Handler, error)
    }

    /// A failure of which it is not known whether the effect happened: the consumer's policy decides whether it runs again or is held.
    pub fn unknown(error: impl std::fmt::Display) -> Self {
        Self::new(Class::Unknown, Cause::Unknown, error).telling(Signal::Nothing)
    }

    /// A failure before anything can have happened, because the other side was not reached: it is tried again, and the attempt does not
    /// count. A few of them in a row open the consumer's circuit.
    pub fn not_reached(error: impl std::fmt::Display) -> Self {
        Self::new(Class::NotReached, Cause::NotReached, error).telling(Signal::Away)
    }

    fn new(class: Class, cause: Cause, error: impl std::fmt::Display) -> Self {
        let error = ErrorText::new(error);
        Self {
            class,
            cause,
            error,
            signal: Signal::Answered,
        }
    }

    /// The same failure with the body that the other side answered with; it is kept for operators and never logged.
    #[must_use]
    pub fn with_answer(mut self, body: &Bytes) -> Self {
        self.error = self.error.with_answer(body);
        self
    }

    /// The same failure, which says this about the other side as a whole.
    #[must_use]
    pub(crate) fn telling(mut self, signal: Signal) -> Self {
        self.signal = signal;
        self
    }

    /// The same failure with another cause.
    #[must_use]
    pub fn because(mut self, cause: Cause) -> Self {
        self.cause = cause;
        self
    }
}

/// Any error is a failure that may pass, so that handlers can use `?`. A `Failure` is therefore no error itself.
impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::retryable(error)
    }
}

impl Retry {
    /// So many attempts with these waits.
    pub fn new(attempts_max: u32, backoff: Backoff) -> Result<Self> {
        if attempts_max == 0 || attempts_max > ATTEMPTS_MAX {
            return Err(Error::invalid(format!(
                "attempts are 1 to {ATTEMPTS_MAX}, found {attempts_max}"
            )));
        }
        if backoff.max > DELAY_MAX || backoff.first > backoff.max {
            return Err(Error::invalid(format!(
                "the first wait is at most the longest, and that is at most 24 h, found {:?} and {:?}",
                backoff.first, backoff.max
            )));
        }
        Ok(Self {
            attempts_max,
            backoff,
        })
    }

    /// How many attempts there are.
    pub const fn attempts_max(&self) -> u32 {
        self.attempts_max
    }

    /// The waits between them.
    pub const fn backoff(&self) -> Backoff {
        self.backoff
    }

    /// The longest wait after the attempt with this number, from 1.
    pub fn delay_max(&self, attempt: u32) -> Duration {
        let doublings = match self.backoff.exponential {
            true => attempt.saturating_sub(1).min(31),
            false => 0,
        };
        let delay = self.backoff.first.saturating_mul(1 << doublings);
        delay.min(self.backoff.max)
    }

    /// The wait after the attempt with this number; `jitter` is drawn from 0 to 1.
    pub fn delay(&self, attempt: u32, jitter: f64) -> Duration {
        let delay = self.delay_max(attempt);
        match self.backoff.jitter {
            true => delay.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0),
            false => delay,
        }
    }

    /// The longest time between the first attempt and the last, not counting how long attempts take or what
    /// the other side asks for.
    pub fn horizon(&self) -> Duration {
        (1..self.attempts_max)
            .map(|attempt| self.delay_max(attempt))
            .fold(Duration::ZERO, Duration::saturating_add)
    }

    /// What becomes of a message whose attempt failed; `jitter` is drawn from 0 to 1.
    pub fn decide(
        &self,
        attempt: u32,
        failure: Failure,
        on_unknown: UnknownPolicy,
        jitter: f64,
    ) -> Disposition {
        let Failure {
            class,
            cause,
            error,
            ..
        } = failure;
        let asked = match class {
            Class::Terminal => return Disposition::Terminal { error },
            Class::Park => return Disposition::Park { cause, error },
            Class::Unknown if on_unknown == UnknownPolicy::Hold => {
                let cause = Cause::Unknown;
                return Disposition::Park { cause, error };
            }
            Class::NotReached => {
                let after = self.delay(attempt, jitter);
                return Disposition::NotReached { after, error };
            }
            Class::Retryable(asked) => asked,
            Class::Unknown => None,
        };
        if attempt >= self.attempts_max {
            let cause = Cause::AttemptsExhausted;
            return Disposition::Park { cause, error };
        }
        let own = self.delay(attempt, jitter);
        Disposition::Retry {
            after: own.max(asked.unwrap_or_default()).min(DELAY_MAX),
            cause,
            error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry(attempts_max: u32, jitter: bool) -> Retry {
        let backoff = Backoff {
            jitter,
            ..Backoff::default()
        };
        Retry::new(attempts_max, backoff).unwrap()
    }

    #[test]
    fn waits_double_up_to_the_longest_and_jitter_takes_at_most_half() {
        let retry = retry(20, true);
        for (attempt, seconds) in [(1, 1), (2, 2), (3, 4), (9, 256), (10, 300), (1_000, 300)] {
            let longest = Duration::from_secs(seconds);
            assert_eq!(retry.delay(attempt, 1.0), longest);
            assert_eq!(retry.delay(attempt, 0.0), longest / 2);
        }
        assert_eq!(self::retry(20, false).delay(3, 0.0), Duration::from_secs(4));
    }

    #[test]
    fn the_horizon_is_the_sum_of_the_longest_waits() {
        assert_eq!(retry(1, true).horizon(), Duration::ZERO);
        assert_eq!(retry(4, true).horizon(), Duration::from_secs(7));
    }

    #[test]
    fn attempts_end_parked_terminal_ones_at_once_and_retry_after_is_heeded() {
        let retry = retry(3, false);
        let decide = |attempt, failure| retry.decide(attempt, failure, UnknownPolicy::Rerun, 0.0);
        assert!(matches!(
            decide(2, Failure::retryable("busy")),
            Disposition::Retry { after, .. } if after == Duration::from_secs(2)
        ));
        assert!(matches!(
            decide(1, Failure::retryable_after(Duration::from_secs(60), "slow down")),
            Disposition::Retry { after, .. } if after == Duration::from_secs(60)
        ));
        assert!(matches!(
            decide(3, Failure::retryable("busy")),
            Disposition::Park {
                cause: Cause::AttemptsExhausted,
                ..
            }
        ));
        assert!(matches!(
            decide(1, Failure::terminal("bad")),
            Disposition::Terminal { .. }
        ));
        assert!(matches!(
            decide(1, Failure::park("odd")),
            Disposition::Park {
                cause: Cause::Handler,
                ..
            }
        ));
    }

    #[test]
    fn the_unknown_goes_by_policy_and_what_was_not_reached_costs_no_attempt() {
        let retry = retry(3, false);
        let unknown = |attempt, policy| retry.decide(attempt, Failure::unknown("?"), policy, 0.0);
        assert!(matches!(
            unknown(1, UnknownPolicy::Hold),
            Disposition::Park {
                cause: Cause::Unknown,
                ..
            }
        ));
        assert!(matches!(
            unknown(1, UnknownPolicy::Rerun),
            Disposition::Retry {
                cause: Cause::Unknown,
                ..
            }
        ));
        assert!(matches!(
            unknown(3, UnknownPolicy::Rerun),
            Disposition::Park {
                cause: Cause::AttemptsExhausted,
                ..
            }
        ));
        for policy in [UnknownPolicy::Hold, UnknownPolicy::Rerun] {
            let not_reached = retry.decide(3, Failure::not_reached("refused"), policy, 0.0);
            assert!(matches!(not_reached, Disposition::NotReached { .. }));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Retry::new(0, Backoff::default()).is_err());
        assert!(Retry::new(ATTEMPTS_MAX + 1, Backoff::default()).is_err());
        let backoff = Backoff {
            first: Duration::from_secs(301),
            ..Backoff::default()
        };
        assert!(Retry::new(3, backoff).is_err());
    }
}
