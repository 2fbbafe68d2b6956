//! A store under measurement: filled, paired, replayed, closed and weighed.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use semel_core::store::{ClaimAnswer, SettleAnswer};
use semel_core::{Result, Store, StoreExt};

use crate::load::{Measured, drive};
use crate::machine::{self, io};
use crate::prefill::{prefill, unexpected};
use crate::sample::{Sample, mix};
use crate::store::StoreOptions;

/// A store under measurement: which records it holds follows from how far the numbers went.
#[derive(Debug, Clone)]
pub(crate) struct Subject {
    store: Arc<dyn Store>,
    dir: PathBuf,
    seed: u64,
    numbers: Arc<AtomicU64>,
    bytes_before: u64,
}

impl Subject {
    pub(crate) async fn open(
        options: &StoreOptions,
        dir: PathBuf,
        seed: u64,
        size: u64,
    ) -> Result<Self> {
        let store = (options.open)(dir.clone()).await?;
        let bytes_before = store.stats().await?.bytes.unwrap_or(0);
        let filled = |done: u64| {
            let what = format!("filling a store with {size} records");
            options.progress.step(done.min(size - 1), size, &what);
        };
        prefill(&store, mix(seed), size, filled).await?;
        Ok(Self {
            store,
            dir,
            seed: mix(seed),
            numbers: Arc::new(AtomicU64::new(size)),
            bytes_before,
        })
    }

    pub(crate) async fn pairs(&self, callers: usize, turn: Duration) -> Result<Measured> {
        let subject = self.clone();
        drive(callers, turn, move || {
            let subject = subject.clone();
            async move {
                let number = subject.numbers.fetch_add(1, Ordering::Relaxed);
                let sample = Sample::new(subject.seed, number)?;
                pair(subject.store.as_ref(), &sample).await
            }
        })
        .await
    }

    /// Replays records that were settled in any earlier turn, each as likely as any other.
    pub(crate) async fn replays(&self, callers: usize, turn: Duration) -> Result<Measured> {
        let settled = self.numbers.load(Ordering::Relaxed);
        let (subject, draws) = (self.clone(), Arc::new(AtomicU64::new(0)));
        drive(callers, turn, move || {
            let (subject, draw) = (subject.clone(), draws.fetch_add(1, Ordering::Relaxed));
            async move {
                let sample = Sample::new(subject.seed, mix(draw + 1) % settled)?;
                match subject.store.claim_one(sample.claim()).await? {
                    ClaimAnswer::Settled(_) => Ok(()),
                    other => Err(unexpected("a settled record", &other)),
                }
            }
        })
        .await
    }

    /// Closes the store, so that whatever it still has in logs is where it belongs, and looks.
    pub(crate) async fn close(self) -> Result<Option<f64>> {
        let stats = self.store.stats().await?;
        drop(self.store);
        let bytes = match machine::bytes_below(&self.dir).map_err(io("measuring the files"))? {
            0 => stats
                .bytes
                .map(|bytes| bytes.saturating_sub(self.bytes_before)),
            bytes => Some(bytes.saturating_sub(self.bytes_before)),
        };
        let records = self.numbers.load(Ordering::Relaxed).max(1);
        Ok(bytes.map(|bytes| bytes as f64 / records as f64))
    }
}

async fn pair(store: &dyn Store, sample: &Sample) -> Result<()> {
    let claim = match store.claim_one(sample.claim()).await? {
        ClaimAnswer::Granted(lease) => lease.claim,
        other => return Err(unexpected("a granted claim", &other)),
    };
    match store.settle_one(sample.settle(claim)).await? {
        SettleAnswer::Settled => Ok(()),
        other => Err(unexpected("a settled claim", &other)),
    }
}
