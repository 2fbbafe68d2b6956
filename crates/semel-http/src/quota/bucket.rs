//! One token bucket, as the moment at which it will be full again.
//!
//! That one number is all there is: what is missing is the time until then. So a bucket needs no refilling, is full by itself, and keeps its
//! meaning when its rate changes.

use std::time::Duration;

use super::Rate;

/// The nanosecond at which the bucket is full again; 0 is a full one.
pub(super) type FullAt = u64;

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

/// Takes so much even if it is not there. A debt is at most a bucket, so that one large answer does not lock a tenant out for years.
pub(super) fn charge(full_at: &mut FullAt, rate: Rate, amount: u64, now: u64) {
    let most = now.saturating_add(time_of(rate, rate.burst).saturating_mul(2));
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
    fn a_debt_is_at_most_a_bucket() {
        let rate = Rate::new(100, Duration::from_secs(100));
        let mut bucket = 0;
        charge(&mut bucket, rate, 1_000_000, SECOND);
        let wait = look(bucket, rate, 1, SECOND).unwrap_err();
        assert_eq!(wait, Duration::from_secs(101));
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
