//! Time, as a store sees it. The only place of the core that reads the ambient clock.
//!
//! Leases and retention are judged by the store's clock, never by the caller's. A wall
//! clock may be stepped while a process runs; [`SystemClock`] reads it once and then
//! follows the monotonic clock, so a step neither ends a lease early nor revives one.

mod steady;

pub use steady::{Correction, DOUBT_FOR, Doubt, JUMP_MAX, Known, SteadyClock};

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The instant `ms` milliseconds after the Unix epoch.
    pub const fn from_millis(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This instant plus `duration`, rounded up to a millisecond; saturates.
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let ms = duration.as_nanos().div_ceil(1_000_000);
        Self(self.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
    }

    /// This instant less `duration`; saturates.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        let ms = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(ms))
    }

    /// How long after `earlier` this is; zero if it is not.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Timestamp {
    /// UTC in RFC 3339 with milliseconds.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, ms) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        let (year, month, day) = civil_date(days);
        let (hour, minute) = (ms / 3_600_000, ms / 60_000 % 60);
        let (second, milli) = (ms / 1_000 % 60, ms % 1_000);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z"
        )
    }
}

/// The proleptic Gregorian date of a day counted from 1970-01-01.
///
/// Years are counted from March so that the leap day comes last; 146,097 days make 400 years.
fn civil_date(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// A source of time for a store that has no server to ask.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// The present instant.
    fn now(&self) -> Timestamp;

    /// What the machine's wall clock shows, steps included; a clock that has none is its own.
    fn wall(&self) -> Timestamp {
        self.now()
    }
}

/// The machine's wall clock, read once and carried forward by the monotonic clock.
#[derive(Debug)]
pub struct SystemClock {
    wall_ms: i64,
    anchor: Instant,
}

impl SystemClock {
    /// The process's clock, anchored when it is first asked for.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the place that reads the clock"
    )]
    pub fn new() -> Self {
        // One anchor per process, so that all of its stores and transactions agree.
        static ANCHOR: OnceLock<(i64, Instant)> = OnceLock::new();
        let (wall_ms, anchor) = *ANCHOR.get_or_init(|| (wall_ms(), Instant::now()));
        Self { wall_ms, anchor }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that reads the clock"
)]
fn wall_ms() -> i64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    // A machine whose clock stands before 1970 gets the epoch: time still passes.
    since_epoch.map_or(0, |d| i64::try_from(d.as_millis()).unwrap_or(i64::MAX))
}

/// What the machine's wall clock shows, in nanoseconds since the Unix epoch: for traces, which several machines write together and
/// which decide nothing.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that reads the clock"
)]
pub(crate) fn unix_nanos() -> u64 {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    since_epoch.map_or(0, |d| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX))
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.wall_ms).floor_after(self.anchor.elapsed())
    }

    fn wall(&self) -> Timestamp {
        Timestamp(wall_ms())
    }
}

impl Timestamp {
    /// Elapsed time rounds down, so that `now` never lies in the future.
    fn floor_after(self, elapsed: Duration) -> Self {
        let ms = i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(ms))
    }
}

/// A server's clock as far as this process can tell: it learns from each answer what time the server
/// has, and goes on from there by the monotonic clock.
///
/// A server's verdicts are its own; this clock serves what is judged here, such as a read cache.
#[derive(Debug)]
pub struct ServerClock {
    local: SteadyClock,
    ahead_ms: AtomicI64,
}

impl ServerClock {
    /// A clock that agrees with this machine's until it hears from its server.
    pub fn new() -> Self {
        Self::on(Arc::new(SystemClock::new()))
    }

    /// The same, carried forward by `local`.
    pub fn on(local: Arc<dyn Clock>) -> Self {
        Self {
            local: SteadyClock::new(local),
            ahead_ms: AtomicI64::new(0),
        }
    }

    /// The server has just said that it is `server_now` there.
    pub fn heard(&self, server_now: Timestamp) {
        let ahead = server_now.0.saturating_sub(self.local.now().0);
        self.ahead_ms.store(ahead, Ordering::Relaxed);
    }
}

impl Default for ServerClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ServerClock {
    fn now(&self) -> Timestamp {
        let ahead = self.ahead_ms.load(Ordering::Relaxed);
        Timestamp(self.local.now().0.saturating_add(ahead))
    }
}

/// A moment from which a process measures how long something has taken.
///
/// The monotonic clock cannot be stepped, but stands still while a machine is suspended; the wall clock
/// goes on, but can be stepped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    /// Tokio's, so that tests can pause it.
    steady: tokio::time::Instant,
    wall: SystemTime,
}

impl Moment {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the place that reads the clock"
    )]
    pub(crate) fn now() -> Self {
        Self {
            steady: tokio::time::Instant::now(),
            wall: SystemTime::now(),
        }
    }

    /// How long ago this was, by the monotonic clock.
    pub(crate) fn elapsed(self) -> Duration {
        self.steady.elapsed()
    }

    /// The most that can have passed: by whichever clock says more. For what is safe to do early and not safe to do late.
    pub(crate) fn elapsed_with_suspend(self) -> Duration {
        // A wall clock that was set back says nothing.
        let wall = Self::now().wall.duration_since(self.wall);
        self.elapsed().max(wall.unwrap_or_default())
    }
}

/// A clock that moves only when told to, for tests.
#[derive(Debug)]
pub struct ManualClock(AtomicI64);

impl ManualClock {
    /// A clock that stands at `now`.
    pub const fn at(now: Timestamp) -> Self {
        Self(AtomicI64::new(now.0))
    }

    /// Moves the clock forward.
    pub fn advance(&self, by: Duration) {
        self.set(self.now().after(by));
    }

    /// Steps the clock to `now`, backwards too.
    pub fn set(&self, now: Timestamp) {
        self.0.store(now.0, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_clock_is_followed_however_wrong_our_own_is() {
        let local = Arc::new(ManualClock::at(Timestamp::from_millis(3_600_000)));
        let clock = ServerClock::on(local.clone());
        assert_eq!(clock.now().as_millis(), 3_600_000);
        clock.heard(Timestamp::from_millis(50));
        local.advance(Duration::from_millis(5));
        assert_eq!(clock.now().as_millis(), 55);
    }

    #[test]
    fn timestamps_print_as_rfc_3339() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_794_787_200_123, "2026-11-16T00:00:00.123Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(Timestamp(ms).to_string(), text);
        }
    }

    #[test]
    fn durations_round_up_and_saturate() {
        let t = Timestamp(5);
        assert_eq!(t.after(Duration::from_nanos(1)), Timestamp(6));
        assert_eq!(t.after(Duration::MAX), Timestamp(i64::MAX));
        assert_eq!(t.since(Timestamp(9)), Duration::ZERO);
    }

    #[test]
    fn the_system_clock_never_goes_back() {
        let clock = SystemClock::new();
        let first = clock.now();
        assert!((0..1_000).all(|_| clock.now() >= first));
    }
}
