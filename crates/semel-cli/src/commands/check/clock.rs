//! Whose time counts, and whether it can be believed.

use semel_core::clock::{DOUBT_FOR, Doubt};
use semel_core::store::Query;
use semel_core::{Clock, SystemClock, Timestamp, duration};

use super::{Found, bad};
use crate::error::Result;
use crate::stores::Opened;

/// 2026-01-01: a machine whose clock stands before that has never been told the time.
const CLOCK_MIN: Timestamp = Timestamp::from_millis(1_767_225_600_000);
/// How far the newest claim may lie ahead, because other machines' clocks differ a little.
const CLOCK_AHEAD_MAX_MS: i64 = 1_000;
/// Differences below this may as well be the way to the server.
const DIFFERENCE_MIN_MS: i64 = 1_000;

pub(super) async fn check(opened: &Opened) -> Found {
    let query = Query {
        limit: 1,
        ..Query::default()
    };
    let newest = opened.store.list(query).await?;
    let newest = newest.records.first().map(|record| record.claimed_at);
    let mut found = judge_clock(opened.now(), newest)?;
    if let Some(doubt) = opened.clock_doubt() {
        found += &doubted(doubt);
    }
    let ours = SystemClock::new();
    for (server, theirs) in opened.server_times() {
        found += &format!("; {server} is {}", difference(theirs, ours.now()));
    }
    Ok((found, ()))
}

/// A jump ahead may be a machine that was off, so it is no failure; a person can tell.
fn doubted(doubt: Doubt) -> String {
    let jump = duration::show(doubt.by);
    format!(
        "; {jump} ahead of the store's newest time: was nothing served for so long, or is the clock wrong? nothing \
         expires because of it until it was served with this time for {}",
        duration::show(DOUBT_FOR)
    )
}

/// How a server's time differs from this machine's; leases are judged by the former.
fn difference(theirs: Timestamp, ours: Timestamp) -> String {
    let ahead_ms = theirs.as_millis() - ours.as_millis();
    if ahead_ms.abs() < DIFFERENCE_MIN_MS {
        return "at the same time".to_owned();
    }
    let (apart, where_) = match ahead_ms > 0 {
        true => (theirs.since(ours), "ahead of"),
        false => (ours.since(theirs), "behind"),
    };
    let apart = duration::show(apart);
    format!("{apart} {where_} this machine")
}

fn judge_clock(now: Timestamp, newest: Option<Timestamp>) -> Result<String> {
    let advice = "set the machine's clock, for example with NTP";
    if now < CLOCK_MIN {
        return Err(bad(format!("expected a date after {CLOCK_MIN}, found {now}")).hint(advice));
    }
    match newest {
        Some(newest) if newest.as_millis() - now.as_millis() > CLOCK_AHEAD_MAX_MS => {
            let ahead = duration::show(newest.since(now));
            Err(bad(format!(
                "it is {now} here, but the newest claim was made {ahead} later"
            ))
            .hint(advice))
        }
        _ => Ok(now.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_clock_is_sane_after_2026_and_not_behind_the_store() {
        let judged = |now: Timestamp, newest| judge_clock(now, newest).is_ok();
        let later = |seconds| CLOCK_MIN.after(Duration::from_secs(seconds));
        assert!(judged(later(5), None));
        assert!(judged(later(5), Some(later(5))));
        assert!(judged(later(5), Some(later(6))));
        assert!(!judged(later(5), Some(later(7))));
        assert!(!judged(Timestamp::from_millis(0), None));
    }

    #[test]
    fn a_jump_that_is_doubted_is_told() {
        let by = Duration::from_secs(3 * 24 * 60 * 60);
        let told = doubted(Doubt {
            by,
            since: CLOCK_MIN,
        });
        let expected = "; 3d ahead of the store's newest time: was nothing served";
        assert!(told.starts_with(expected), "{told}");
    }

    #[test]
    fn a_difference_is_told_from_a_second_on() {
        let at = Timestamp::from_millis;
        assert_eq!(difference(at(999), at(0)), "at the same time");
        let told = difference(at(5_000), at(0));
        assert_eq!(told, "5s ahead of this machine");
        let told = difference(at(0), at(61_000));
        assert_eq!(told, "1m 1s behind this machine");
    }
}
