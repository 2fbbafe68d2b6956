//! How often, how long and how patiently an operation is tried.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

use crate::error::{Error, Result};

/// The most tries that a policy may allow.
pub const TRIES_MAX: u32 = 100;

/// The longest time that a policy may name.
pub const TIME_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// When to try again, and when to give up. What is worth another try is not a matter of
/// policy: the protocol says it.
///
/// The waits double from [`delay_first`](Self::delay_first) to
/// [`delay_max`](Self::delay_max); each is drawn between a half and the whole of its
/// value, so that callers who failed together do not come back together. What the
/// server asks for in `Retry-After` comes on top.
///
/// ```
/// use std::time::Duration;
/// use semel_client::Retry;
///
/// let patient = Retry::default()
///     .tries_max(20)
///     .budget(Duration::from_secs(600));
/// # let _ = patient;
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct Retry {
    tries_max: u32,
    delay_first: Duration,
    delay_max: Duration,
    retry_after_max: Duration,
    pub(crate) try_timeout: Duration,
    pub(crate) budget: Duration,
}

/// Six tries within two minutes: long enough for a restart of the server, short enough
/// for a caller that waits.
impl Default for Retry {
    fn default() -> Self {
        Self {
            tries_max: 6,
            delay_first: Duration::from_millis(200),
            delay_max: Duration::from_secs(10),
            retry_after_max: Duration::from_secs(60),
            try_timeout: Duration::from_secs(30),
            budget: Duration::from_secs(120),
        }
    }
}

impl Retry {
    /// One try and no more. The caller tries again by itself, with the same key.
    pub fn never() -> Self {
        Self::default().tries_max(1)
    }

    /// The most tries, the first included: 1 to [`TRIES_MAX`], 6 by default.
    pub const fn tries_max(mut self, tries_max: u32) -> Self {
        self.tries_max = tries_max;
        self
    }

    /// The wait before the second try, 200 ms by default.
    pub const fn delay_first(mut self, delay_first: Duration) -> Self {
        self.delay_first = delay_first;
        self
    }

    /// The longest wait that the client chooses by itself, 10 s by default.
    pub const fn delay_max(mut self, delay_max: Duration) -> Self {
        self.delay_max = delay_max;
        self
    }

    /// The longest `Retry-After` that is obeyed, 60 s by default. Longer ones are cut to it.
    pub const fn retry_after_max(mut self, retry_after_max: Duration) -> Self {
        self.retry_after_max = retry_after_max;
        self
    }

    /// How long one try may take until its body is read, 30 s by default. A shorter
    /// timeout of the HTTP client holds as well.
    pub const fn try_timeout(mut self, try_timeout: Duration) -> Self {
        self.try_timeout = try_timeout;
        self
    }

    /// How long the operation may take with all its tries and waits, 120 s by default.
    /// A wait that would end after it is not begun.
    pub const fn budget(mut self, budget: Duration) -> Self {
        self.budget = budget;
        self
    }

    /// Whether the policy keeps to the stated limits.
    pub(crate) fn check(&self) -> Result<()> {
        if !(1..=TRIES_MAX).contains(&self.tries_max) {
            return Err(Error::invalid(format!(
                "tries_max must be 1 to {TRIES_MAX}, found {}",
                self.tries_max
            )));
        }
        let times = [
            ("delay_first", self.delay_first),
            ("delay_max", self.delay_max),
            ("retry_after_max", self.retry_after_max),
            ("try_timeout", self.try_timeout),
            ("budget", self.budget),
        ];
        match times.into_iter().find(|(_, time)| *time > TIME_MAX) {
            Some((name, time)) => Err(Error::invalid(format!(
                "{name} must be at most {TIME_MAX:?}, found {time:?}"
            ))),
            None => Ok(()),
        }
    }

    /// The waits between tries, one fewer than there are tries.
    pub(crate) fn delays(&self) -> Delays {
        let whole = self.delay_first.min(self.delay_max);
        // The generator adds up to as much again, so it is given the halves.
        let backoff = ExponentialBuilder::new()
            .with_jitter()
            .with_min_delay(whole / 2)
            .with_max_delay(self.delay_max / 2)
            .with_max_times(self.tries_max.saturating_sub(1) as usize);
        Delays {
            backoff: backoff.build(),
            retry_after_max: self.retry_after_max,
        }
    }
}

/// The waits of one operation, in order.
#[derive(Debug)]
pub(crate) struct Delays {
    backoff: ExponentialBackoff,
    retry_after_max: Duration,
}

impl Delays {
    /// The next wait, or nothing if the tries are used up.
    pub(crate) fn next(&mut self, retry_after: Option<Duration>) -> Option<Duration> {
        let asked = retry_after.unwrap_or_default().min(self.retry_after_max);
        self.backoff.next().map(|own| own + asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn delays_double_and_stay_between_a_half_and_the_whole() {
        let retry = Retry::default()
            .tries_max(6)
            .delay_first(ms(100))
            .delay_max(ms(400));
        for _ in 0..100 {
            let mut delays = retry.delays();
            for whole in [100, 200, 400, 400, 400].map(ms) {
                let delay = delays.next(None).unwrap();
                assert!(
                    delay >= whole / 2 && delay <= whole,
                    "{delay:?} of {whole:?}"
                );
            }
            assert_eq!(delays.next(None), None);
        }
    }

    #[test]
    fn delays_differ_between_operations() {
        let first = || Retry::default().delays().next(None).unwrap();
        let one = first();
        assert!((0..100).any(|_| first() != one));
    }

    #[test]
    fn the_servers_wish_comes_on_top_up_to_its_cap() {
        let retry = Retry::default()
            .delay_first(Duration::ZERO)
            .retry_after_max(ms(5_000));
        for (asked, expected) in [(0, 0), (3_000, 3_000), (5_000, 5_000), (9_000, 5_000)] {
            assert_eq!(retry.delays().next(Some(ms(asked))), Some(ms(expected)));
        }
        let most = Duration::from_secs(u64::MAX);
        assert_eq!(retry.delays().next(Some(most)), Some(ms(5_000)));
    }

    #[test]
    fn one_try_has_no_delay() {
        assert_eq!(Retry::never().delays().next(Some(ms(1))), None);
    }

    #[test]
    fn a_first_delay_over_the_longest_is_cut_to_it() {
        let retry = Retry::default().delay_first(ms(500)).delay_max(ms(10));
        assert!(retry.delays().next(None).unwrap() <= ms(10));
    }

    #[test]
    fn a_policy_beyond_its_limits_is_invalid() {
        let beyond = TIME_MAX + ms(1);
        let retry = Retry::default();
        for bad in [
            retry.tries_max(0),
            retry.tries_max(TRIES_MAX + 1),
            retry.delay_first(beyond),
            retry.delay_max(beyond),
            retry.retry_after_max(Duration::MAX),
            retry.try_timeout(beyond),
            retry.budget(beyond),
        ] {
            assert_eq!(bad.check().unwrap_err().kind(), Kind::Invalid, "{bad:?}");
        }
        for good in [retry, retry.tries_max(TRIES_MAX).budget(TIME_MAX)] {
            assert!(good.check().is_ok(), "{good:?}");
        }
    }
}
