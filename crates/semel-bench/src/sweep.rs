//! A store at full speed whose records expire soon: whether the sweep keeps up, whether the store stays as large as it is, and
//! whether claims notice.
//!
//! The load does not pause, so the sweep has no turn of its own to catch up in. A second store, whose records are kept, is
//! loaded for one window before and one after, to know what the same load does where nothing is deleted.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use semel_core::store::{ClaimAnswer, SettleAnswer};
use semel_core::{Error, Result, Retention, Store, StoreExt};
use serde_json::{Value, json};

use crate::load::{Measured, drive};
use crate::machine::{self, io};
use crate::prefill::unexpected;
use crate::progress::{Progress, Silent};
use crate::report::{Machine, Measurement, Report, Turn};
use crate::sample::Sample;
use crate::store::OpenStore;

/// The most callers and windows; beyond these a run tells nothing more.
const CALLERS_MAX: usize = 10_000;
const WINDOWS_MAX: u32 = 10_000;

/// What a store holds at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Records, expired ones included.
    pub records: u64,
    /// Bytes on disk.
    pub bytes: u64,
}

/// What is being counted.
pub type Counting = Pin<Box<dyn Future<Output = Result<Held>> + Send>>;
/// Counts what a store holds.
pub type Count = Box<dyn Fn(Arc<dyn Store>) -> Counting + Send + Sync>;

/// What to measure, and for how long.
#[non_exhaustive]
pub struct SweepOptions {
    /// Opens the store whose records expire.
    pub open: OpenStore,
    /// Opens another one, whose records are kept.
    pub open_kept: OpenStore,
    /// Counts what the first one holds; asks for its `stats` unless said otherwise.
    pub count: Count,
    /// Where both keep their files, which are removed afterwards. It must be on the disk that counts.
    pub dir: PathBuf,
    /// How many callers there are at once.
    pub callers: usize,
    /// How long the load lasts.
    pub lasting: Duration,
    /// After how long it is looked at again.
    pub window: Duration,
    /// How long a record is kept.
    pub retention: Duration,
    /// Where progress is reported.
    pub progress: Box<dyn Progress>,
}

impl SweepOptions {
    /// The usual run: 64 callers, ten minutes, a retention of ten seconds.
    pub fn new(dir: impl Into<PathBuf>, open: OpenStore, open_kept: OpenStore) -> Self {
        Self {
            open,
            open_kept,
            count: Box::new(|store| {
                Box::pin(async move {
                    let stats = store.stats().await?;
                    Ok(Held {
                        records: stats.settled,
                        bytes: stats.bytes.unwrap_or(0),
                    })
                })
            }),
            dir: dir.into(),
            callers: 64,
            lasting: Duration::from_secs(600),
            window: Duration::from_secs(10),
            retention: Duration::from_secs(10),
            progress: Box::new(Silent),
        }
    }

    /// Whole windows, four at least: one for each quarter of the run.
    fn windows(&self) -> Result<u32> {
        let windows = self.lasting.as_nanos() / self.window.as_nanos().max(1);
        let windows = u32::try_from(windows).unwrap_or(u32::MAX);
        for (what, found, range) in [
            ("windows", u64::from(windows), 4..=u64::from(WINDOWS_MAX)),
            ("callers", self.callers as u64, 1..=CALLERS_MAX as u64),
        ] {
            if !range.contains(&found) {
                let (min, max) = range.into_inner();
                let message = format!("{what} must be {min} to {max}, found {found}");
                return Err(Error::invalid(message));
            }
        }
        Ok(windows)
    }
}

impl std::fmt::Debug for SweepOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SweepOptions")
            .field("dir", &self.dir)
            .field("callers", &self.callers)
            .field("lasting", &self.lasting)
            .field("retention", &self.retention)
            .finish_non_exhaustive()
    }
}

/// What was seen in one window: the load in it, and what the store held when it began.
#[derive(Debug, Clone)]
struct Window {
    load: Measured,
    held: Held,
}

/// What a run found.
#[derive(Debug)]
pub struct SweepReport {
    /// The figures.
    pub report: Report,
    windows: Vec<Window>,
}

impl SweepReport {
    /// The figures as a table for a terminal, and what the store held over time.
    pub fn table(&self) -> String {
        let every = self.windows.len().div_ceil(20).max(1);
        let seen = self.windows.iter().enumerate().step_by(every);
        let lines = seen.map(|(n, window)| {
            let at = n as f64 * self.report.seconds;
            let (rate, mib) = (window.load.per_second, window.held.bytes >> 20);
            let (records, p99) = (window.held.records, window.load.p99_us);
            format!("\n{at:>6.0} s {rate:>8.0} pairs/s, p99 {p99:>7.0} µs, {records:>9} records, {mib:>6} MiB")
        });
        format!("{}{}", self.report.table(), lines.collect::<String>())
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        let mut json = self.report.json();
        let windows = self.windows.iter().map(|window| {
            json!({
                "pairs_per_second": window.load.per_second,
                "p50_us": window.load.p50_us,
                "p99_us": window.load.p99_us,
                "records": window.held.records,
                "bytes": window.held.bytes,
            })
        });
        json["windows"] = windows.collect();
        json
    }
}

/// Measures. It must be called inside a tokio runtime; one with several threads gives the usual figures.
pub async fn run(options: SweepOptions) -> Result<SweepReport> {
    let windows = options.windows()?;
    let scratch = machine::scratch(&options.dir)?;
    let fdatasync_p50_us =
        machine::fdatasync_p50_us(scratch.path()).map_err(io("measuring the disk"))?;
    let made = |name: &str| {
        let dir = scratch.path().join(name);
        let made = std::fs::create_dir(&dir);
        made.map(|()| dir)
            .map_err(io("making a directory for the benchmark"))
    };
    let kept = Loaded::new((options.open_kept)(made("kept")?).await?, 1, None)?;
    let swept = (options.open)(made("swept")?).await?;
    let swept = Loaded::new(swept, 2, Some(options.retention))?;
    let total = u64::from(windows) + 2;
    let step = |done: u64, what: &str| options.progress.step(done, total, what);
    step(0, "a store whose records are kept");
    let before = kept.pairs(options.callers, options.window).await?;
    let mut seen = Vec::new();
    for n in 0..windows {
        step(u64::from(n) + 1, "a store whose records expire");
        let load = swept.pairs(options.callers, options.window);
        let (load, held) = tokio::join!(load, (options.count)(swept.store.clone()));
        seen.push(Window {
            load: load?,
            held: held?,
        });
    }
    step(total - 1, "a store whose records are kept");
    let after = kept.pairs(options.callers, options.window).await?;
    step(total, "done");
    Ok(SweepReport {
        report: Report {
            machine: Machine {
                cores: machine::cores(),
                fdatasync_p50_us,
                bytes_per_record: None,
            },
            callers: options.callers,
            seconds: options.window.as_secs_f64(),
            results: results(&seen, &[before, after], options.retention),
            gateway_memory: None,
        },
        windows: seen,
    })
}

fn results(windows: &[Window], kept: &[Measured], retention: Duration) -> Vec<Measurement> {
    let quarter = windows.len() / 4;
    let (second, last) = (
        &windows[quarter..2 * quarter],
        &windows[windows.len() - quarter..],
    );
    let bytes = |windows: &[Window]| median(windows, |w| w.held.bytes as f64);
    let rate = |windows: &[Window]| median(windows, |w| w.load.per_second);
    let within = rate(last) * retention.as_secs_f64();
    let pairs = |kept: &Measured| Turn {
        ours: rate(windows),
        baseline: kept.per_second,
        p50_us: Some(median(windows, |w| w.load.p50_us)),
        p99_us: Some(median(windows, |w| w.load.p99_us)),
    };
    let found = [
        Measurement::of(
            "G3d",
            "bytes on disk, last quarter of the run by its second".into(),
            &[Turn::plain(bytes(last), bytes(second))],
        ),
        Measurement::of(
            "backlog",
            "records held by those within their retention".into(),
            &[Turn::plain(
                median(last, |w| w.held.records as f64),
                within.max(1.0),
            )],
        ),
        Measurement::of(
            "undisturbed",
            "pairs/s while records expire by pairs/s while they are kept".into(),
            &kept.iter().map(pairs).collect::<Vec<_>>(),
        ),
    ];
    found.into_iter().flatten().collect()
}

fn median(windows: &[Window], of: impl Fn(&Window) -> f64) -> f64 {
    let mut values: Vec<f64> = windows.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// A store under load.
#[derive(Clone)]
struct Loaded {
    store: Arc<dyn Store>,
    seed: u64,
    numbers: Arc<AtomicU64>,
    retention: Retention,
}

impl Loaded {
    fn new(store: Arc<dyn Store>, seed: u64, keep: Option<Duration>) -> Result<Self> {
        Ok(Self {
            store,
            seed,
            numbers: Arc::default(),
            retention: match keep {
                Some(keep) => Retention::delete_after(keep)?,
                None => Retention::default(),
            },
        })
    }

    async fn pairs(&self, callers: usize, turn: Duration) -> Result<Measured> {
        let loaded = self.clone();
        drive(callers, turn, move || {
            let loaded = loaded.clone();
            async move { loaded.pair().await }
        })
        .await
    }

    async fn pair(&self) -> Result<()> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let sample = Sample::new(self.seed, number)?;
        let claim = match self.store.claim_one(sample.claim()).await? {
            ClaimAnswer::Granted(lease) => lease.claim,
            other => return Err(unexpected("a granted claim", &other)),
        };
        let mut settle = sample.settle(claim);
        settle.retention = self.retention;
        match self.store.settle_one(settle).await? {
            SettleAnswer::Settled => Ok(()),
            other => Err(unexpected("a settled claim", &other)),
        }
    }
}
