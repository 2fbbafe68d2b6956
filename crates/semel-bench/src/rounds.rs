//! The turns: ours, the baseline, replays and lone callers, round after round.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use semel_core::Result;

use crate::baseline::Baseline;
use crate::load::{Measured, drive};
use crate::machine::io;
use crate::sample::Sample;
use crate::store::StoreOptions;
use crate::subject::Subject;

/// How much shorter the turn is that warms everything up.
const WARM_UP: u32 = 5;

/// The stores, the smallest first, and what they are compared to.
pub(crate) struct Bench<'a> {
    options: &'a StoreOptions,
    subjects: Vec<Subject>,
    baseline: Arc<dyn Baseline>,
    /// How far the baseline's records went: a record that is there already would cost it nothing.
    raw_numbers: Arc<AtomicU64>,
}

/// What one round measured.
pub(crate) struct Round {
    pub(crate) pairs: Measured,
    pub(crate) pairs_at_largest: Option<Measured>,
    pub(crate) raw: Measured,
    pub(crate) replays: Measured,
    pub(crate) lone: Measured,
    pub(crate) lone_raw: Measured,
}

impl<'a> Bench<'a> {
    pub(crate) async fn open(options: &'a StoreOptions, scratch: &Path) -> Result<Self> {
        let made = |name: &str| {
            let dir = scratch.join(name);
            let made = std::fs::create_dir(&dir);
            made.map(|()| dir)
                .map_err(io("making a directory for the benchmark"))
        };
        let mut sizes = options.prefill.clone();
        sizes.sort_unstable();
        if sizes.is_empty() {
            sizes.push(0);
        }
        let mut subjects = Vec::new();
        for (i, size) in sizes.into_iter().enumerate() {
            let dir = made(&format!("store-{i}"))?;
            subjects.push(Subject::open(options, dir, i as u64, size).await?);
        }
        Ok(Self {
            options,
            subjects,
            baseline: (options.open_baseline)(made("baseline")?).await?,
            raw_numbers: Arc::default(),
        })
    }

    pub(crate) fn sizes(&self) -> String {
        let sizes: Vec<_> = self.options.prefill.iter().map(u64::to_string).collect();
        sizes.join(", ")
    }

    /// Warms up, and then takes the turns.
    pub(crate) async fn rounds(&self) -> Result<Vec<Round>> {
        let total = self.options.rounds as u64 + 1;
        self.options.progress.step(0, total, "warming up");
        self.round(self.options.turn / WARM_UP, false).await?;
        let mut rounds = Vec::new();
        for i in 0..self.options.rounds {
            let what = format!("round {} of {}", i + 1, self.options.rounds);
            self.options.progress.step(i as u64 + 1, total, &what);
            rounds.push(self.round(self.options.turn, i % 2 == 1).await?);
        }
        Ok(rounds)
    }

    async fn round(&self, turn: Duration, raw_first: bool) -> Result<Round> {
        let callers = self.options.callers;
        let subject = &self.subjects[0];
        let (pairs, raw, lone, lone_raw);
        if raw_first {
            raw = self.raw(callers, turn).await?;
            pairs = subject.pairs(callers, turn).await?;
            lone_raw = self.raw(1, turn).await?;
            lone = subject.pairs(1, turn).await?;
        } else {
            pairs = subject.pairs(callers, turn).await?;
            raw = self.raw(callers, turn).await?;
            lone = subject.pairs(1, turn).await?;
            lone_raw = self.raw(1, turn).await?;
        }
        let pairs_at_largest = match &self.subjects[1..] {
            [.., largest] => Some(largest.pairs(callers, turn).await?),
            [] => None,
        };
        Ok(Round {
            replays: subject.replays(callers, turn).await?,
            pairs,
            pairs_at_largest,
            raw,
            lone,
            lone_raw,
        })
    }

    /// What the baseline is called.
    pub(crate) fn baseline(&self) -> &str {
        self.baseline.name()
    }

    async fn raw(&self, callers: usize, turn: Duration) -> Result<Measured> {
        let (baseline, numbers) = (self.baseline.clone(), self.raw_numbers.clone());
        drive(callers, turn, move || {
            let (baseline, number) = (baseline.clone(), numbers.fetch_add(1, Ordering::Relaxed));
            async move { baseline.pair(&Sample::new(u64::MAX, number)?).await }
        })
        .await
    }

    /// Closes every store; the bytes per record of the largest, if it knows.
    pub(crate) async fn close(self) -> Result<Option<f64>> {
        let mut found = None;
        for subject in self.subjects {
            found = subject.close().await?;
        }
        Ok(found)
    }
}
