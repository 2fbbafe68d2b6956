//! How a store sweeps itself: what fails, what is behind, and when it last did anything. Metrics, alerts and readiness look at the same state.
//!
//! A store has one part or several, such as the claims and the outcomes of a hybrid, and a part may be swept share by share. What is well with one
//! says nothing about another, so each has a state of its own, and the worst of all is what is said.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::store::Swept;
use semel_core::{Clock as _, Error, SystemClock, Timestamp};
use tokio::time::Instant;

/// The part of a store that has no others.
pub const WHOLE: &str = "store";

/// A share that this process has not swept for so long, while it swept others, is swept by other processes: they say how it goes.
const SHARE_KEPT: Duration = Duration::from_secs(300);
/// The most shares of one part that are told apart.
const SHARES_MAX: usize = 1_024;

/// A moment, by the process and by the calendar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Moment {
    pub(crate) instant: Instant,
    pub(crate) time: Timestamp,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self {
            instant: Instant::now(),
            time: SystemClock::new().now(),
        }
    }
}

/// How the sweep of a part stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    /// Steps that failed since one did not, and the kind of the last error.
    pub(crate) failed: u32,
    pub(crate) kind: &'static str,
    /// Since when every step has left something.
    pub(crate) behind: Option<Moment>,
    /// When a step last succeeded; before the first, when the sweep began.
    pub(crate) succeeded: Moment,
    /// When a step last ended, whatever it brought; before the first, when the sweep began.
    pub(crate) ended: Moment,
}

/// The sweeps of a store, by its parts.
#[derive(Debug)]
pub(crate) struct Sweeps {
    /// When the process began.
    began: Moment,
    /// A std lock, not an async one: it is held to change or to copy a few numbers, never over an await.
    parts: Mutex<BTreeMap<&'static str, Part>>,
}

#[derive(Debug)]
struct Part {
    /// When a step last ended, here or, as far as this process has heard, in another one.
    ended: Moment,
    shares: BTreeMap<usize, Standing>,
}

impl Sweeps {
    pub(crate) fn new(began: Moment) -> Self {
        let parts = Mutex::default();
        Self { began, parts }
    }

    /// A part sweeps itself from now on, so that a first step that never ends shows. One that has taken a step stays as it is.
    pub(crate) fn expect(&self, part: &'static str, now: Moment) {
        self.parts().entry(part).or_insert_with(|| Part::new(now));
    }

    /// A step of a part's sweep has ended.
    pub(crate) fn stepped(
        &self,
        (part, share): (&'static str, usize),
        step: Result<&Swept, &Error>,
        now: Moment,
    ) {
        let mut parts = self.parts();
        let new = || Part::new(self.began);
        parts
            .entry(part)
            .or_insert_with(new)
            .stepped(share, step, now);
    }

    /// Other processes have swept all of a part, and nothing is left to do.
    pub(crate) fn swept_elsewhere(&self, part: &'static str, now: Moment) {
        let mut parts = self.parts();
        let part = parts.entry(part).or_insert_with(|| Part::new(now));
        part.swept_elsewhere(now);
    }

    /// How each part stands, by its name: the worst of its shares.
    pub(crate) fn standing(&self) -> Vec<(&'static str, Standing)> {
        let parts = self.parts();
        let of = |(name, part): (&&'static str, &Part)| (*name, part.standing());
        parts.iter().map(of).collect()
    }

    /// When the part that has waited longest last took a step that succeeded.
    pub(crate) fn last_swept(&self) -> Option<Timestamp> {
        let all = self.standing().into_iter();
        all.map(|(_, part)| part.succeeded.time).min()
    }

    /// Since when each step of the part that has been behind longest has left something.
    pub(crate) fn behind_since(&self) -> Option<Timestamp> {
        let all = self.standing().into_iter();
        all.filter_map(|(_, part)| Some(part.behind?.time)).min()
    }

    fn parts(&self) -> MutexGuard<'_, BTreeMap<&'static str, Part>> {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Part {
    const fn new(began: Moment) -> Self {
        Self {
            ended: began,
            shares: BTreeMap::new(),
        }
    }

    fn stepped(&mut self, share: usize, step: Result<&Swept, &Error>, now: Moment) {
        // A share that is new was well, or swept by others, until now.
        let new = Standing::begun(self.ended);
        self.ended = now;
        if self.shares.len() < SHARES_MAX || self.shares.contains_key(&share) {
            self.shares.entry(share).or_insert(new).stepped(step, now);
        }
        self.forget_others(now);
    }

    fn swept_elsewhere(&mut self, now: Moment) {
        self.ended = now;
        for share in self.shares.values_mut() {
            share.behind = None;
        }
        self.forget_others(now);
    }

    /// Forgets shares that other processes have taken over.
    fn forget_others(&mut self, now: Moment) {
        let age = |at: Moment| now.instant.saturating_duration_since(at.instant);
        self.shares.retain(|_, share| age(share.ended) < SHARE_KEPT);
    }

    fn standing(&self) -> Standing {
        let worst = self.shares.values().copied().reduce(Standing::worse);
        Standing {
            ended: self.ended,
            ..worst.unwrap_or_else(|| Standing::begun(self.ended))
        }
    }
}

impl Standing {
    const fn begun(at: Moment) -> Self {
        Self {
            failed: 0,
            kind: "",
            behind: None,
            succeeded: at,
            ended: at,
        }
    }

    fn stepped(&mut self, step: Result<&Swept, &Error>, now: Moment) {
        self.ended = now;
        match step {
            Ok(swept) => {
                self.failed = 0;
                self.succeeded = now;
                self.behind = swept.more.then(|| self.behind.unwrap_or(now));
            }
            Err(error) => {
                self.failed = self.failed.saturating_add(1);
                self.kind = error.kind().name();
            }
        }
    }

    /// The worst of both, in everything.
    fn worse(self, other: Self) -> Self {
        let earlier = |one: Moment, other: Moment| match one.instant <= other.instant {
            true => one,
            false => other,
        };
        let (failed, kind) = match self.failed >= other.failed {
            true => (self.failed, self.kind),
            false => (other.failed, other.kind),
        };
        Self {
            failed,
            kind,
            behind: match (self.behind, other.behind) {
                (Some(one), Some(other)) => Some(earlier(one, other)),
                (one, other) => one.or(other),
            },
            succeeded: earlier(self.succeeded, other.succeeded),
            ended: earlier(self.ended, other.ended),
        }
    }
}

#[cfg(test)]
mod tests {
    use semel_core::Kind;

    use super::*;

    /// Moments of a process that began at 0.
    struct Clockwork(Instant);

    impl Clockwork {
        fn at(&self, seconds: u64) -> Moment {
            let time = i64::try_from(seconds * 1_000).unwrap();
            Moment {
                instant: self.0 + Duration::from_secs(seconds),
                time: Timestamp::from_millis(time),
            }
        }
    }

    fn begin() -> (Clockwork, Sweeps) {
        let time = Clockwork(Instant::now());
        let sweeps = Sweeps::new(time.at(0));
        (time, sweeps)
    }

    const DONE: Swept = Swept {
        leases_ended: 0,
        deleted: 0,
        archived: 0,
        events_deleted: 0,
        more: false,
    };
    const MORE: Swept = Swept { more: true, ..DONE };

    fn away() -> Error {
        Error::new(Kind::Unavailable, "x")
    }

    fn seconds(at: Option<Timestamp>) -> Option<i64> {
        at.map(|at| at.as_millis() / 1_000)
    }

    #[test]
    fn a_part_that_fails_shows_beside_one_that_does_not() {
        let (time, sweeps) = begin();
        for second in 1..=5 {
            let now = time.at(second);
            sweeps.stepped(("claims", 0), Ok(&DONE), now);
            sweeps.stepped(("outcomes", 0), Err(&away()), now);
            sweeps.stepped(("claims", 0), Ok(&DONE), now);
        }
        let standing = sweeps.standing();
        let failed = standing.iter().map(|(part, how)| (*part, how.failed));
        assert_eq!(failed.collect::<Vec<_>>(), [("claims", 0), ("outcomes", 5)]);
        assert_eq!(seconds(sweeps.last_swept()), Some(0), "that of outcomes");
    }

    #[test]
    fn a_part_that_is_behind_shows_beside_one_that_keeps_up() {
        let (time, sweeps) = begin();
        for second in 1..=5 {
            sweeps.stepped(("outcomes", 0), Ok(&MORE), time.at(second));
            sweeps.stepped(("claims", 0), Ok(&DONE), time.at(second));
        }
        assert_eq!(seconds(sweeps.behind_since()), Some(1));
        assert_eq!(seconds(sweeps.last_swept()), Some(5));
        sweeps.stepped(("outcomes", 0), Ok(&DONE), time.at(6));
        assert_eq!(sweeps.behind_since(), None);
    }

    #[test]
    fn a_share_that_fails_or_is_behind_shows_beside_others() {
        let (time, sweeps) = begin();
        for second in 1..=3 {
            let now = time.at(second);
            sweeps.stepped((WHOLE, 0), Ok(&DONE), now);
            sweeps.stepped((WHOLE, 1), Err(&away()), now);
            sweeps.stepped((WHOLE, 2), Ok(&MORE), now);
            sweeps.stepped((WHOLE, 3), Ok(&DONE), now);
        }
        let (_, how) = sweeps.standing()[0];
        assert_eq!((how.failed, how.kind), (3, "unavailable"));
        assert_eq!(seconds(sweeps.behind_since()), Some(1));
    }

    #[test]
    fn a_share_that_other_processes_sweep_is_theirs_to_speak_of() {
        let (time, sweeps) = begin();
        sweeps.stepped((WHOLE, 1), Err(&away()), time.at(1));
        sweeps.stepped((WHOLE, 2), Ok(&MORE), time.at(1));
        // Nothing is left anywhere, so that nothing is behind; what failed here may fail there.
        sweeps.swept_elsewhere(WHOLE, time.at(2));
        assert_eq!(sweeps.behind_since(), None);
        assert_eq!(sweeps.standing()[0].1.failed, 1);
        sweeps.stepped((WHOLE, 2), Ok(&DONE), time.at(200));
        sweeps.swept_elsewhere(WHOLE, time.at(301));
        assert_eq!(sweeps.standing()[0].1.failed, 0);
        assert_eq!(seconds(sweeps.last_swept()), Some(200));
        sweeps.swept_elsewhere(WHOLE, time.at(500));
        assert_eq!(seconds(sweeps.last_swept()), Some(500));
    }

    #[test]
    fn a_sweep_that_has_taken_no_step_is_as_old_as_its_beginning() {
        let (time, sweeps) = begin();
        assert!(sweeps.standing().is_empty() && sweeps.last_swept().is_none());
        sweeps.expect("claims", time.at(2));
        assert_eq!(seconds(sweeps.last_swept()), Some(2));
        sweeps.stepped(("claims", 0), Err(&away()), time.at(60));
        assert_eq!(seconds(sweeps.last_swept()), Some(2));
        sweeps.stepped(("claims", 0), Ok(&DONE), time.at(61));
        sweeps.expect("claims", time.at(70));
        assert_eq!(seconds(sweeps.last_swept()), Some(61), "it goes on already");
    }
}
