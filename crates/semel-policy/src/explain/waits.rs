//! Attempts and the waits between them, in words.

use std::time::Duration;

use semel_core::duration::show;
use semel_inbox::Retry;

/// How many waits are listed before the rest is summed up.
const LISTED_MAX: u32 = 4;

/// How often, after which waits, and how long that takes in all.
pub(super) fn attempts(retry: &Retry) -> String {
    let attempts = retry.attempts_max();
    match attempts {
        1 => "1".to_owned(),
        _ => {
            let all = show(retry.horizon());
            format!(
                "{attempts}, after waits of {}; {all} of waiting at most",
                waits(retry)
            )
        }
    }
}

fn waits(retry: &Retry) -> String {
    let backoff = retry.backoff();
    let jitter = match backoff.jitter {
        true => ", each drawn between half of it and all of it",
        false => "",
    };
    let last = retry.attempts_max() - 1;
    let longest = retry.delay_max(last);
    if longest == backoff.first {
        return format!("{} each{jitter}", exact(longest));
    }
    let listed: Vec<_> = (1..=last.min(LISTED_MAX))
        .map(|attempt| exact(retry.delay_max(attempt)))
        .collect();
    let rest = match last > LISTED_MAX {
        true => format!(" … {}", exact(longest)),
        false => String::new(),
    };
    format!("{}{rest}{jitter}", listed.join(" "))
}

/// In one word, so that waits can stand in a row.
fn exact(wait: Duration) -> String {
    show(wait).replace(' ', "")
}
