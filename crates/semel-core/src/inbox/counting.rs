//! Counts of large inboxes: counting a million rows every few seconds, in every process, would be a load of its own.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::seen::Counts;
use crate::error::Result;

/// Up to so many messages are always counted anew.
const SMALL: u64 = 100_000;
/// How much longer than counting took the counts are told again, so that counting takes at most a twentieth of the time.
const REST: u32 = 20;

/// The last counts, while they are told again.
#[derive(Debug, Default)]
pub struct CountsCache(Mutex<Option<Counted>>);

#[derive(Debug)]
struct Counted {
    until: Instant,
    counts: Vec<Counts>,
}

impl CountsCache {
    /// The last counts if there are many messages and they were counted just now; otherwise what `count` says.
    pub async fn counts(
        &self,
        count: impl Future<Output = Result<Vec<Counts>>>,
    ) -> Result<Vec<Counts>> {
        if let Some(counts) = self.remembered() {
            return Ok(counts);
        }
        let began = Instant::now();
        let counts = count.await?;
        let took = began.elapsed();
        let all: u64 = counts.iter().map(Counts::all).sum();
        self.remember((all > SMALL).then(|| Counted {
            until: Instant::now() + took.saturating_mul(REST).min(Duration::from_secs(60)),
            counts: counts.clone(),
        }));
        Ok(counts)
    }

    fn remembered(&self) -> Option<Vec<Counts>> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let last = last.as_ref().filter(|last| Instant::now() < last.until)?;
        Some(last.counts.clone())
    }

    fn remember(&self, counted: Option<Counted>) {
        // One value is replaced at once, so a poisoned lock protects nothing.
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = counted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(received: u64) -> Vec<Counts> {
        let mut counts = Counts::none("mailer".parse().unwrap());
        counts.received = received;
        vec![counts]
    }

    async fn counted(cache: &CountsCache, received: u64) -> u64 {
        let slow = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok(counts(received))
        };
        cache.counts(slow).await.unwrap()[0].received
    }

    #[tokio::test(start_paused = true)]
    async fn many_messages_are_counted_a_twentieth_of_the_time_and_few_always() {
        let cache = CountsCache::default();
        for few in [7, 8] {
            assert_eq!(counted(&cache, few).await, few);
        }
        assert_eq!(counted(&cache, 1_000_000).await, 1_000_000);
        assert_eq!(counted(&cache, 2_000_000).await, 1_000_000);
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(counted(&cache, 2_000_000).await, 2_000_000);
    }
}
