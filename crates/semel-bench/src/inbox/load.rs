//! Several workers at once, batch after batch: how many messages got done, and how long a batch took.

use std::time::Duration;

use semel_core::{Error, Kind, Result};
use tokio::task::JoinSet;

use crate::latency::Latencies;
use crate::load::Measured;
use crate::timing::Stopwatch;

/// Lets `workers` repeat `work`, which says how many messages it dealt with, until it finds none or `turn` has passed.
pub(crate) async fn drive<W, F>(workers: usize, turn: Duration, work: W) -> Result<Measured>
where
    W: Fn() -> F + Clone + Send + 'static,
    F: Future<Output = Result<usize>> + Send + 'static,
{
    let clock = Stopwatch::start();
    let mut tasks = JoinSet::new();
    for _ in 0..workers {
        tasks.spawn(repeat(clock, turn, work.clone()));
    }
    let (mut batches, mut messages) = (Latencies::new(), 0);
    while let Some(finished) = tasks.join_next().await {
        let crashed = |e| Error::new(Kind::Internal, "a worker panicked").caused_by(e);
        let (latencies, count) = finished.map_err(crashed)??;
        batches.merge(&latencies);
        messages += count;
    }
    let batches = Measured::of(&batches, clock.elapsed());
    Ok(Measured {
        per_second: messages as f64 / clock.elapsed().as_secs_f64(),
        ..batches
    })
}

async fn repeat<W, F>(clock: Stopwatch, turn: Duration, work: W) -> Result<(Latencies, u64)>
where
    W: Fn() -> F,
    F: Future<Output = Result<usize>>,
{
    let (mut latencies, mut messages) = (Latencies::new(), 0);
    loop {
        let one = Stopwatch::start();
        let count = work().await?;
        if count > 0 {
            latencies.record(one.elapsed());
            messages += count as u64;
        }
        if count == 0 || clock.elapsed() >= turn {
            return Ok((latencies, messages));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test]
    async fn messages_are_counted_rather_than_batches_and_an_empty_batch_is_the_end() {
        let left = Arc::new(AtomicUsize::new(10));
        let work = move || {
            let batch =
                left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1));
            async move { Ok(batch.map_or(0, |_| 100)) }
        };
        let (counted, clock) = (work.clone(), Stopwatch::start());
        let measured = drive(2, Duration::MAX, counted).await.unwrap();
        let most = measured.per_second * clock.elapsed().as_secs_f64();
        assert!(most >= 1_000.0, "{most}");
        assert_eq!(work().await.unwrap(), 0);
    }
}
