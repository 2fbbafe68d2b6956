//! How often the process asks its store for counts by itself: some stores count by walking over an index, which takes seconds at
//! ten million records.

use std::time::Duration;

/// Counting takes at most this part of the time.
const PART: u32 = 20;

/// How long counts that took so long to come are good for, at least `least`.
pub(crate) fn good_for(took: Duration, least: Duration) -> Duration {
    least.max(took.saturating_mul(PART))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_counts_slowly_is_asked_rarely() {
        let least = Duration::from_secs(2);
        assert_eq!(good_for(Duration::from_millis(1), least), least);
        let minute = Duration::from_secs(60);
        assert_eq!(good_for(Duration::from_secs(3), least), minute);
    }
}
