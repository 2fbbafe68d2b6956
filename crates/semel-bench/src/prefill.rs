//! Fills a store with settled records as fast as it takes them: full batches, a few in flight.

use std::ops::Range;
use std::sync::Arc;

use semel_core::store::{BATCH_MAX, ClaimAnswer, all};
use semel_core::{Error, Kind, Result, Store};
use tokio::task::JoinSet;

use crate::sample::Sample;

/// Enough that the store always has the next batch at hand.
const IN_FLIGHT: usize = 4;

/// Settles the records with the numbers `0..count`; `filled` is told how many there are so far.
pub(crate) async fn prefill(
    store: &Arc<dyn Store>,
    seed: u64,
    count: u64,
    filled: impl Fn(u64),
) -> Result<()> {
    let mut tasks = JoinSet::new();
    let mut next = 0;
    let mut done = 0;
    while done < count {
        while tasks.len() < IN_FLIGHT && next < count {
            let end = count.min(next + BATCH_MAX as u64);
            tasks.spawn(batch(store.clone(), seed, next..end));
            next = end;
        }
        let Some(finished) = tasks.join_next().await else {
            break;
        };
        let crashed = |e| Error::new(Kind::Internal, "a filling task panicked").caused_by(e);
        done += finished.map_err(crashed)??;
        filled(done);
    }
    Ok(())
}

async fn batch(store: Arc<dyn Store>, seed: u64, numbers: Range<u64>) -> Result<u64> {
    let count = numbers.end - numbers.start;
    let samples: Vec<_> = numbers
        .map(|n| Sample::new(seed, n))
        .collect::<Result<_>>()?;
    let answers = store.claim(samples.iter().map(Sample::claim).collect());
    let settles = samples
        .iter()
        .zip(answers.await)
        .map(|(sample, answer)| match answer? {
            ClaimAnswer::Granted(lease) => Ok(sample.settle(lease.claim)),
            other => Err(unexpected("a granted claim", &other)),
        });
    all(store.settle(settles.collect::<Result<_>>()?).await)?;
    Ok(count)
}

/// A store that answers otherwise is not empty or not right, and its figures mean nothing.
pub(crate) fn unexpected(expected: &str, found: &dyn std::fmt::Debug) -> Error {
    let message = format!("the store must answer with {expected}, found {found:?}");
    Error::new(Kind::Internal, message)
}
