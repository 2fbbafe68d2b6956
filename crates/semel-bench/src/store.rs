//! A store against its raw baseline, in turns.
//!
//! Each round measures pairs of ours and of the baseline, replays, and a lone caller of each;
//! every other round begins with the baseline, so that neither always comes first.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use semel_core::{Error, Result, Store};

use crate::baseline::{Baseline, RawLog};
use crate::machine::{self, io};
use crate::progress::{Progress, Silent};
use crate::report::{Machine, Measurement, Report, Turn};
use crate::rounds::{Bench, Round};
use crate::sample::RECORD_BYTES;

/// The most rounds, callers and prefilled stores; beyond these a run tells nothing more.
const ROUNDS_MAX: usize = 100;
const CALLERS_MAX: usize = 10_000;
const STORES_MAX: usize = 4;

/// What is being opened: servers are connected to, files are not waited for.
pub type Opening<T> = Pin<Box<dyn Future<Output = Result<Arc<T>>> + Send>>;
/// Opens a store that keeps its files, if it has any, in the given empty directory.
pub type OpenStore = Box<dyn Fn(PathBuf) -> Opening<dyn Store> + Send + Sync>;
/// Opens a baseline that keeps its files, if it has any, in the given empty directory.
pub type OpenBaseline = Box<dyn Fn(PathBuf) -> Opening<dyn Baseline> + Send + Sync>;

/// Which goals a store is held to: they differ by what it is compared to.
#[derive(Debug, Clone, Copy)]
pub struct Goals {
    /// Pairs per second by the baseline's.
    pub pairs: &'static str,
    /// The same of a lone caller.
    pub lone: &'static str,
    /// Replays per second by pairs per second.
    pub replays: &'static str,
    /// The 99th percentile of a pair by its median.
    pub spread: &'static str,
    /// Bytes on disk by logical bytes.
    pub disk: &'static str,
}

impl Goals {
    /// An embedded store against a raw log.
    pub const EMBEDDED: Self = Self {
        pairs: "G1",
        lone: "lone",
        replays: "G2",
        spread: "G1b",
        disk: "G8b",
    };
    /// PostgreSQL against plain statements.
    pub const POSTGRES: Self = Self {
        pairs: "G3",
        lone: "G3b",
        ..Self::SERVER
    };
    /// Redis against plain commands.
    pub const REDIS: Self = Self {
        pairs: "G4",
        ..Self::SERVER
    };
    /// No goals are set for the rest.
    const SERVER: Self = Self {
        pairs: "pairs",
        lone: "lone",
        replays: "replays",
        spread: "spread",
        disk: "disk",
    };
}

/// What to measure, and for how long.
#[non_exhaustive]
pub struct StoreOptions {
    /// Opens the store to be measured.
    pub open: OpenStore,
    /// Opens what it is compared to; a [`RawLog`] unless said otherwise.
    pub open_baseline: OpenBaseline,
    /// Which goals the figures answer.
    pub goals: Goals,
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
            open_baseline: Box::new(|dir| {
                let log = RawLog::create(&dir.join("raw.log"));
                Box::pin(async move { Ok(Arc::new(log?) as Arc<dyn Baseline>) })
            }),
            goals: Goals::EMBEDDED,
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
        for (what, found, range) in [
            ("rounds", self.rounds, 1..=ROUNDS_MAX),
            ("callers", self.callers, 1..=CALLERS_MAX),
            ("sizes to prefill", self.prefill.len(), 0..=STORES_MAX),
        ] {
            if !range.contains(&found) {
                let (min, max) = range.into_inner();
                let message = format!("{what} must be {min} to {max}, found {found}");
                return Err(Error::invalid(message));
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
    let scratch = machine::scratch(&options.dir)?;
    let fdatasync_p50_us =
        machine::fdatasync_p50_us(scratch.path()).map_err(io("measuring the disk"))?;
    let bench = Bench::open(&options, scratch.path()).await?;
    let rounds = bench.rounds().await?;
    let (size, baseline) = (bench.sizes(), bench.baseline().to_owned());
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
        results: results(&rounds, bytes_per_record, &baseline, &size, options.goals),
        gateway_memory: None,
    })
}

fn results(
    rounds: &[Round],
    bytes_per_record: Option<f64>,
    baseline: &str,
    sizes: &str,
    goals: Goals,
) -> Vec<Measurement> {
    let over = |goal, name: String, turn: &dyn Fn(&Round) -> Option<Turn>| {
        let turns: Vec<_> = rounds.iter().filter_map(turn).collect();
        Measurement::of(goal, name, &turns)
    };
    let disk = bytes_per_record.map(|ours| Turn::plain(ours, RECORD_BYTES as f64));
    let found = [
        over(goals.pairs, format!("pairs/s by {baseline}"), &|r| {
            Some(Turn::of(&r.pairs, &r.raw))
        }),
        over(goals.spread, "p99 of a pair by its p50, µs".into(), &|r| {
            let (ours, baseline) = (r.pairs.p99_us, r.pairs.p50_us.max(1.0));
            Some(Turn {
                ours,
                baseline,
                ..Turn::of(&r.pairs, &r.raw)
            })
        }),
        over(goals.replays, "replays/s by pairs/s".into(), &|r| {
            Some(Turn::of(&r.replays, &r.pairs))
        }),
        over(
            goals.lone,
            format!("pairs/s of a lone caller by {baseline}"),
            &|r| Some(Turn::of(&r.lone, &r.lone_raw)),
        ),
        over(
            "G8",
            format!("pairs/s, largest by smallest of {sizes} records"),
            &|r| {
                r.pairs_at_largest
                    .as_ref()
                    .map(|largest| Turn::of(largest, &r.pairs))
            },
        ),
        disk.and_then(|disk| {
            Measurement::of(goals.disk, "bytes on disk per record".into(), &[disk])
        }),
    ];
    found.into_iter().flatten().collect()
}
