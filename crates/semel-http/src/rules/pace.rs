//! How fast a request body must arrive.

use std::time::Duration;

use tokio::time::Instant;

/// The least that a body must bring. It may stand still for the grace; each byte that arrives buys a little more of
/// it, never beyond the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinRate {
    /// Bytes in a second, on average; at least 1.
    pub bytes_per_second: usize,
    /// How long a body may bring less, and how long it may stand still.
    pub grace: Duration,
}

impl Default for MinRate {
    /// 256 bytes a second after five seconds: no modem is so slow.
    fn default() -> Self {
        Self {
            bytes_per_second: 256,
            grace: Duration::from_secs(5),
        }
    }
}

impl MinRate {
    /// Watches a body that began to arrive at `began` and has brought `bytes` since.
    pub(crate) fn watch(self, began: Instant, bytes: usize) -> Option<Pace> {
        let mut pace = Pace {
            rate: self,
            deadline: began + self.grace,
        };
        pace.arrived(bytes, Instant::now());
        Some(pace)
    }
}

/// A body's pace.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    rate: MinRate,
    deadline: Instant,
}

impl Pace {
    /// When the body is too slow unless more of it has arrived.
    pub(crate) const fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(crate) fn arrived(&mut self, bytes: usize, now: Instant) {
        let rate = self.rate.bytes_per_second.max(1) as u64;
        let nanos = (bytes as u64).saturating_mul(1_000_000_000) / rate;
        // Never beyond the whole grace: bytes that came fast buy no long silence.
        let bought = Duration::from_nanos(nanos).min(self.rate.grace);
        self.deadline = (self.deadline + bought).min(now + self.rate.grace);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_must_keep_its_pace_and_cannot_save_up() {
        let rate = MinRate {
            bytes_per_second: 100,
            grace: Duration::from_secs(5),
        };
        let began = Instant::now();
        let mut pace = Pace {
            rate,
            deadline: began + rate.grace,
        };
        let now = began + Duration::from_secs(2);
        pace.arrived(1, now);
        assert_eq!(pace.deadline(), began + Duration::from_millis(5_010));
        pace.arrived(1_000_000, now);
        assert_eq!(pace.deadline(), began + Duration::from_secs(7));
    }
}
