//! A store against its raw baseline, in turns.
//!
//! Each round measures pairs of ours and of the baseline, replays, and a lone caller of each;
//! every other round begins with the baseline, so that neither always comes first.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use semel_core::store::{ClaimAnswer, SettleAnswer};
use semel_core::{Error, Kind, Result, Store, StoreExt};

use crate::baseline::{Baseline, RawLog};
use crate::load::{Measured, drive};
use crate::machine;
use crate::prefill::{prefill, unexpected};
use crate::progress::{Progress, Silent};
use crate::report::{Machine, Measurement, Report, Turn};
use crate::sample::{RECORD_BYTES, Sample, mix};

/// The most rounds, callers and prefilled stores; beyond these a run tells nothing more.
const ROUNDS_MAX: usize = 100;
const CALLERS_MAX: usize = 10_000;
const STORES_MAX: usize = 4;
/// How much shorter the turn is that warms everything up.
const WARM_UP: u32 = 5;

/// Opens a store that keeps its files in the given empty directory.
pub type OpenStore = Box<dyn Fn(&Path) -> Result<Arc<dyn Store>> + Send + Sync>;
/// Opens a baseline that keeps its files in the given empty directory.
pub type OpenBaseline = Box<dyn Fn(&Path) -> Result<Arc<dyn Baseline>> + Send + Sync>;

/// What to measure, and for how long.
#[non_exhaustive]
pub struct StoreOptions {
    /// Opens the store to be measured.
    pub open: OpenStore,
    /// Opens what it is compared to; a [`RawLog`] unless said otherwise.
    pub open_baseline: OpenBaseline,
    /// Where both keep their files, which are removed afterwards. It must be on the disk that counts.
    pub dir: PathBuf,
    /// How many callers there are at once.
    pub callers: usize,
    /// How many rounds; three at least make a range.
    pub rounds: usize,
    /// How long each turn of a round lasts.
    pub turn: Duration,
    /// How many records the store holds before. Several sizes are several stores that take turns, and
    /// the largest is compared to the smallest.
    pub prefill: Vec<u64>,
    /// Who is told how far it is.
    pub progress: Box<dyn Progress>,
}

impl StoreOptions {
    /// The usual run: 64 callers, three rounds, five seconds a turn, an empty store.
    pub fn new(dir: impl Into<PathBuf>, open: OpenStore) -> Self {
        Self {
            open,
            open_baseline: Box::new(|dir| Ok(Arc::new(RawLog::create(&dir.join("raw.log"))?))),
            dir: dir.into(),
            callers: 64,
            rounds: 3,
            turn: Duration::from_secs(5),
            prefill: Vec::new(),
            progress: Box::new(Silent),
        }
    }

    /// A run so short that its figures mean nothing; for tests.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.turn = Duration::from_millis(20);
        self.callers = 8;
        self
    }

    fn check(&self) -> Result<()> {
        for (what, found, max) in [
            ("rounds", self.rounds, ROUNDS_MAX),
            ("callers", self.callers, CALLERS_MAX),
            (
                "sizes to prefill, plus one,",
                self.prefill.len() + 1,
                STORES_MAX + 1,
            ),
        ] {
            if found == 0 || found > max {
                return Err(Error::invalid(format!(
                    "{what} must be 1 to {max}, found {found}"
                )));
            }
        }
        Ok(())
    }
}

impl std::fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreOptions")
            .field("dir", &self.dir)
            .field("callers", &self.callers)
            .field("rounds", &self.rounds)
            .field("turn", &self.turn)
            .field("prefill", &self.prefill)
            .finish_non_exhaustive()
    }
}

/// Measures. It must be called inside a tokio runtime; one with several threads gives the usual figures.
pub async fn run(options: StoreOptions) -> Result<Report> {
    options.check()?;
    let scratch = tempfile::Builder::new()
        .prefix("semel-bench-")
        .tempdir_in(&options.dir)
        .map_err(io("making a directory for the benchmark"))?;
    let fdatasync_p50_us =
        machine::fdatasync_p50_us(scratch.path()).map_err(io("measuring the disk"))?;
    let bench = Bench::open(&options, scratch.path()).await?;
    let rounds = bench.rounds().await?;
    let (size, baseline) = (bench.sizes(), bench.baseline.name().to_owned());
    let bytes_per_record = bench.close().await?;
    options.progress.step(1, 1, "done");
    Ok(Report {
        machine: Machine {
            cores: machine::cores(),
            fdatasync_p50_us,
            bytes_per_record,
        },
        callers: options.callers,
        seconds: options.turn.as_secs_f64(),
        results: results(&rounds, bytes_per_record, &baseline, &size),
    })
}

/// A store under measurement: which records it holds follows from how far the numbers went.
#[derive(Debug, Clone)]
struct Subject {
    store: Arc<dyn Store>,
    dir: PathBuf,
    seed: u64,
    numbers: Arc<AtomicU64>,
    bytes_before: u64,
}

/// The stores, the smallest first, and what they are compared to.
struct Bench<'a> {
    options: &'a StoreOptions,
    subjects: Vec<Subject>,
    baseline: Arc<dyn Baseline>,
}

/// What one round measured.
struct Round {
    pairs: Measured,
    pairs_at_largest: Option<Measured>,
    raw: Measured,
    replays: Measured,
    lone: Measured,
    lone_raw: Measured,
}

impl<'a> Bench<'a> {
    async fn open(options: &'a StoreOptions, scratch: &Path) -> Result<Self> {
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
            baseline: (options.open_baseline)(&made("baseline")?)?,
        })
    }

    fn sizes(&self) -> String {
        let sizes: Vec<_> = self.options.prefill.iter().map(u64::to_string).collect();
        sizes.join(", ")
    }

    /// Warms up, and then takes the turns.
    async fn rounds(&self) -> Result<Vec<Round>> {
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

    async fn raw(&self, callers: usize, turn: Duration) -> Result<Measured> {
        let (baseline, numbers) = (self.baseline.clone(), Arc::new(AtomicU64::new(0)));
        drive(callers, turn, move || {
            let (baseline, number) = (baseline.clone(), numbers.fetch_add(1, Ordering::Relaxed));
            async move { baseline.pair(&Sample::new(u64::MAX, number)?).await }
        })
        .await
    }

    /// Closes every store; the bytes per record of the largest, if it knows.
    async fn close(self) -> Result<Option<f64>> {
        let mut found = None;
        for subject in self.subjects {
            found = subject.close().await?;
        }
        Ok(found)
    }
}

impl Subject {
    async fn open(options: &StoreOptions, dir: PathBuf, seed: u64, size: u64) -> Result<Self> {
        let store = (options.open)(&dir)?;
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

    async fn pairs(&self, callers: usize, turn: Duration) -> Result<Measured> {
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
    async fn replays(&self, callers: usize, turn: Duration) -> Result<Measured> {
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
    async fn close(self) -> Result<Option<f64>> {
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
        SettleAnswer::Late => Err(unexpected("a settled claim", &SettleAnswer::Late)),
    }
}

fn results(
    rounds: &[Round],
    bytes_per_record: Option<f64>,
    baseline: &str,
    sizes: &str,
) -> Vec<Measurement> {
    let over = |goal, name: String, turn: &dyn Fn(&Round) -> Option<Turn>| {
        let turns: Vec<_> = rounds.iter().filter_map(turn).collect();
        Measurement::of(goal, name, &turns)
    };
    let disk = bytes_per_record.map(|ours| Turn {
        ours,
        baseline: RECORD_BYTES as f64,
        p50_us: None,
        p99_us: None,
    });
    let found = [
        over("G1", format!("pairs/s by {baseline}"), &|r| {
            Some(turn(&r.pairs, &r.raw))
        }),
        over("G1b", "p99 of a pair by its p50, µs".into(), &|r| {
            let (ours, baseline) = (r.pairs.p99_us, r.pairs.p50_us.max(1.0));
            Some(Turn {
                ours,
                baseline,
                ..turn(&r.pairs, &r.raw)
            })
        }),
        over("G2", "replays/s by pairs/s".into(), &|r| {
            Some(turn(&r.replays, &r.pairs))
        }),
        over(
            "lone",
            format!("pairs/s of a lone caller by {baseline}"),
            &|r| Some(turn(&r.lone, &r.lone_raw)),
        ),
        over(
            "G8",
            format!("pairs/s, largest by smallest of {sizes} records"),
            &|r| {
                r.pairs_at_largest
                    .as_ref()
                    .map(|largest| turn(largest, &r.pairs))
            },
        ),
        disk.and_then(|disk| Measurement::of("G8b", "bytes on disk per record".into(), &[disk])),
    ];
    found.into_iter().flatten().collect()
}

fn turn(ours: &Measured, baseline: &Measured) -> Turn {
    Turn {
        ours: ours.per_second,
        baseline: baseline.per_second,
        p50_us: Some(ours.p50_us),
        p99_us: Some(ours.p99_us),
    }
}

fn io(doing: &'static str) -> impl Fn(std::io::Error) -> Error {
    move |error| Error::new(Kind::Unavailable, doing).caused_by(error)
}
