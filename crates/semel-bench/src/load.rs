//! Many callers at once, for a while: how much got done, and how long each piece took.

use std::time::Duration;

use semel_core::{Error, Kind, Result};
use tokio::task::JoinSet;

use crate::latency::Latencies;
use crate::timing::Stopwatch;

/// What a load measured.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(crate) per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

impl Measured {
    /// What so many latencies in so much time come to.
    pub(crate) fn of(all: &Latencies, elapsed: Duration) -> Self {
        Self {
            per_second: all.count() as f64 / elapsed.as_secs_f64(),
            p50_us: all.percentile_us(50),
            p99_us: all.percentile_us(99),
        }
    }
}

/// Lets `callers` repeat `work`, each waiting for its own, until `duration` has passed.
pub(crate) async fn drive<W, F>(callers: usize, duration: Duration, work: W) -> Result<Measured>
where
    W: Fn() -> F + Clone + Send + 'static,
    F: Future<Output = Result<()>> + Send + 'static,
{
    let clock = Stopwatch::start();
    let mut tasks = JoinSet::new();
    for _ in 0..callers {
        tasks.spawn(repeat(clock, duration, work.clone()));
    }
    let mut all = Latencies::new();
    while let Some(finished) = tasks.join_next().await {
        let crashed = |e| Error::new(Kind::Internal, "a caller panicked").caused_by(e);
        all.merge(&finished.map_err(crashed)??);
    }
    Ok(Measured::of(&all, clock.elapsed()))
}

async fn repeat<W, F>(clock: Stopwatch, duration: Duration, work: W) -> Result<Latencies>
where
    W: Fn() -> F,
    F: Future<Output = Result<()>>,
{
    let mut latencies = Latencies::new();
    // Each caller works at least once, so that no figure is zero.
    loop {
        let one = Stopwatch::start();
        work().await?;
        latencies.record(one.elapsed());
        if clock.elapsed() >= duration {
            return Ok(latencies);
        }
    }
}
