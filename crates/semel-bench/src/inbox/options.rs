//! What to measure of an inbox, and for how long.

use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use semel_core::inbox::{BATCH_MAX, Inbox};
use semel_core::{Error, Result};

use crate::baseline::inbox::Queue;
use crate::progress::{Progress, Silent};
use crate::store::Opening;

/// The most of everything; beyond these a run tells nothing more.
const ROUNDS_MAX: usize = 100;
const WORKERS_MAX: usize = 64;
const MESSAGES_MAX: usize = 10_000_000;

/// Where one of several stores of a run keeps what it holds.
#[derive(Debug, Clone)]
pub struct Scratch {
    /// An empty directory, for those that have files.
    pub dir: PathBuf,
    /// A name that no other store of the run has, for those that share a server; one of [`Scratch::NAMES`].
    pub name: &'static str,
}

impl Scratch {
    /// The names of all stores of a run.
    pub const NAMES: [&'static str; 3] = ["plain", "parked", "raw"];
}

/// Opens a new inbox at a place.
pub type OpenInbox = Box<dyn Fn(Scratch) -> Opening<dyn Inbox> + Send + Sync>;
/// Opens a new baseline at a place.
pub type OpenRaw = Box<dyn Fn(Scratch) -> Opening<dyn Queue> + Send + Sync>;
/// Lets a server put its tables in order between two turns.
pub type Rest = Box<dyn Fn() -> Pin<Box<dyn Future<Output = Result<()>> + Send>> + Send + Sync>;

/// Which goals an inbox is held to: they differ by what it is compared to.
#[derive(Debug, Clone, Copy)]
pub struct Goals {
    /// Claims with their completions per second by the baseline's.
    pub claims: &'static str,
    /// The same with many parked messages by the same without.
    pub parked: &'static str,
}

impl Goals {
    /// An embedded store, for which no goals are set.
    pub const EMBEDDED: Self = Self {
        claims: "claims",
        parked: "parked",
    };
    /// PostgreSQL against plain statements.
    pub const POSTGRES: Self = Self {
        claims: "G7",
        parked: "G7b",
    };
}

/// What to measure, and for how long.
#[non_exhaustive]
pub struct InboxOptions {
    /// Opens the inbox to be measured.
    pub open: OpenInbox,
    /// Opens what it is compared to.
    pub open_raw: OpenRaw,
    /// Comes before each turn and is not measured.
    pub rest: Rest,
    /// Which goals the figures answer.
    pub goals: Goals,
    /// Where all keep their files, which are removed afterwards. It must be on the disk that counts.
    pub dir: PathBuf,
    /// How many workers there are at once.
    pub workers: usize,
    /// How many messages a batch has.
    pub batch: usize,
    /// How many messages wait when a turn of claims begins, and how many are received at most in a turn.
    pub messages: usize,
    /// How many messages are parked in the inbox that is compared to one without.
    pub parked: usize,
    /// How many rounds; three at least make a range.
    pub rounds: usize,
    /// How long each turn of a round lasts at most.
    pub turn: Duration,
    /// Who is told how far it is.
    pub progress: Box<dyn Progress>,
}

impl InboxOptions {
    /// The usual run: four workers, batches of 100, a hundred thousand messages, a million parked ones, three rounds of five seconds.
    pub fn new(dir: impl Into<PathBuf>, open: OpenInbox, open_raw: OpenRaw) -> Self {
        Self {
            open,
            open_raw,
            rest: Box::new(|| Box::pin(async { Ok(()) })),
            goals: Goals::EMBEDDED,
            dir: dir.into(),
            workers: 4,
            batch: 100,
            messages: 100_000,
            parked: 1_000_000,
            rounds: 3,
            turn: Duration::from_secs(5),
            progress: Box::new(Silent),
        }
    }

    /// A run so short that its figures mean nothing; for tests.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.turn = Duration::from_millis(20);
        self.messages = 500;
        self.parked = 1_000;
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        for (what, found, range) in [
            ("rounds", self.rounds, 1..=ROUNDS_MAX),
            ("workers", self.workers, 1..=WORKERS_MAX),
            ("messages of a batch", self.batch, 1..=BATCH_MAX),
            ("messages", self.messages, 1..=MESSAGES_MAX),
            ("parked messages", self.parked, 0..=MESSAGES_MAX),
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

impl std::fmt::Debug for InboxOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InboxOptions")
            .field("dir", &self.dir)
            .field("workers", &self.workers)
            .field("batch", &self.batch)
            .field("messages", &self.messages)
            .field("parked", &self.parked)
            .field("rounds", &self.rounds)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}
