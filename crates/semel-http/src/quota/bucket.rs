//! One token bucket, as the moment at which it will be full again.
//!
//! That one number is all there is: what is missing is the time until then. So a bucket needs no refilling and is full by itself. A [`Level`] knows
//! the rate beside it, so that what is missing stays missing when the rate changes.

use std::time::Duration;

use super::Rate;

/// The longest that it takes to pay off what was overdrawn, so that one mistake does not lock a tenant out for years.
pub const DEBT_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The nanosecond at which the bucket is full again; 0 is a full one.
pub(super) type FullAt = u64;

/// A bucket, and the rate that it was last used at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Level {
    full_at: FullAt,
    rate: Option<Rate>,
}

impl Level {
    pub(super) const fn is_full(&self, now: u64) -> bool {
        self.full_at <= now
    }

    /// The bucket at this rate. What was missing at another one is missing at this one: so much of it, not for so long.
    pub(super) fn at(&mut self, rate: Rate, now: u64) -> &mut FullAt {
        if let Some(other) = self.rate.replace(rate).filter(|other| *other != rate)
            && !self.is_full(now)
        {
            let missing = u128::from(self.full_at - now) * u128::from(other.amount);
            let per = other.per.as_nanos().max(1);
            let missing = (missing + per / 2) / per;
            let missing = u64::try_from(missing).unwrap_or(u64::MAX);
            self.full_at = now.saturating_add(time_of(rate, missing));
        }
        &mut self.full_at
    }

    /// Puts so much back.
    pub(super) fn give_back(&mut self, amount: u64) {
        if let Some(rate) = self.rate {
            give_back(&mut self.full_at, rate, amount);
        }
    }
}

/// The time in which so much refills.
fn time_of(rate: Rate, amount: u64) -> u64 {
    let nanos = u128::from(amount) * rate.per.as_nanos() / u128::from(rate.amount.max(1));
    u64::try_from(nanos).unwrap_or(u64::MAX)
}

/// Takes so much, or says how long until it is there. More than a bucket holds is taken from a full one, which then owes the rest: what
/// comes in one piece could never be taken otherwise.
pub(super) fn take(
    full_at: &mut FullAt,
    rate: Rate,
    amount: u64,
    now: u64,
) -> Result<(), Duration> {
    let from = (*full_at).max(now);
    let at_once = amount.min(rate.burst.max(1));
    let needed = from.saturating_add(time_of(rate, at_once));
    let room = now.saturating_add(time_of(rate, rate.burst));
    match needed.checked_sub(room) {
        None | Some(0) => {
            *full_at = from.saturating_add(time_of(rate, amount));
            Ok(())
        }
        Some(wait) => Err(Duration::from_nanos(wait)),
    }
}

/// Whether so much could be taken, or how long until it could.
pub(super) fn look(full_at: FullAt, rate: Rate, amount: u64, now: u64) -> Result<(), Duration> {
    let mut unchanged = full_at;
    take(&mut unchanged, rate, amount, now)
}

/// Takes so much even if it is not there. A debt is paid off whole, or tenants whose answers are larger than their bucket would store many times their
/// limit; only one that would take longer than [`DEBT_MAX`] is cut to that.
pub(super) fn charge(full_at: &mut FullAt, rate: Rate, amount: u64, now: u64) {
    let longest = u64::try_from(DEBT_MAX.as_nanos()).unwrap_or(u64::MAX);
    let most = now
        .saturating_add(time_of(rate, rate.burst))
        .saturating_add(longest);
    let after = (*full_at).max(now).saturating_add(time_of(rate, amount));
    *full_at = after.min(most.max(*full_at));
}

/// Puts so much back.
pub(super) fn give_back(full_at: &mut FullAt, rate: Rate, amount: u64) {
    *full_at = full_at.saturating_sub(time_of(rate, amount));
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_bucket_empties_refills_and_says_when() {
        let rate = Rate::new(10, Duration::from_secs(1)).burst(3);
        let mut bucket = 0;
        for _ in 0..3 {
            take(&mut bucket, rate, 1, SECOND).unwrap();
        }
        let wait = take(&mut bucket, rate, 1, SECOND).unwrap_err();
        assert_eq!(wait, Duration::from_millis(100));
        take(&mut bucket, rate, 1, SECOND + SECOND / 10).unwrap();
        give_back(&mut bucket, rate, 1);
        take(&mut bucket, rate, 1, SECOND + SECOND / 10).unwrap();
    }

    #[test]
    fn a_debt_is_paid_off_whole_but_within_thirty_days() {
        let rate = Rate::new(100, Duration::from_secs(100));
        let mut bucket = 0;
        charge(&mut bucket, rate, 1_000_000, SECOND);
        let wait = look(bucket, rate, 1, SECOND).unwrap_err();
        assert_eq!(wait, Duration::from_secs(1_000_000 - 100 + 1));
        for _ in 0..10 {
            charge(&mut bucket, rate, 1_000_000, SECOND);
        }
        let wait = look(bucket, rate, 1, SECOND).unwrap_err();
        assert_eq!(wait, DEBT_MAX + Duration::from_secs(1));
    }

    #[test]
    fn what_is_missing_stays_missing_at_another_rate() {
        let slow = Rate::new(3, Duration::from_secs(3_600));
        let fast = Rate::new(300, Duration::from_secs(100));
        let mut level = Level::default();
        for _ in 0..3 {
            take(level.at(slow, SECOND), slow, 1, SECOND).unwrap();
        }
        assert!(look(*level.at(slow, SECOND), slow, 1, SECOND).is_err());
        look(*level.at(fast, SECOND), fast, 297, SECOND).unwrap();
        let wait = look(*level.at(fast, SECOND), fast, 298, SECOND).unwrap_err();
        assert!(wait <= Duration::from_secs(1), "{wait:?}");
        level.give_back(1);
        look(*level.at(fast, SECOND), fast, 298, SECOND).unwrap();
        assert!(look(*level.at(slow, SECOND), slow, 2, SECOND).is_err());
        look(*level.at(slow, SECOND), slow, 1, SECOND).unwrap();
    }

    #[test]
    fn what_is_larger_than_a_bucket_is_taken_from_a_full_one_and_owed() {
        let rate = Rate::new(10, Duration::from_secs(1)).burst(3);
        let mut bucket = 0;
        take(&mut bucket, rate, 1, SECOND).unwrap();
        let wait = take(&mut bucket, rate, 20, SECOND).unwrap_err();
        assert_eq!(wait, Duration::from_millis(100));
        take(&mut bucket, rate, 20, SECOND + SECOND / 10).unwrap();
        let wait = take(&mut bucket, rate, 1, SECOND + SECOND / 10).unwrap_err();
        assert_eq!(wait, Duration::from_millis(1_800));
        let none = Rate::new(10, Duration::from_secs(1)).burst(0);
        assert!(take(&mut 0, none, 1, SECOND).is_err());
    }

    #[test]
    fn rates_of_bytes_are_not_rounded_away() {
        let rate = Rate::new(10 << 30, Duration::from_secs(1));
        let mut bucket = 0;
        charge(&mut bucket, rate, 5 << 30, SECOND);
        assert_eq!(bucket, SECOND + SECOND / 2);
    }
}
