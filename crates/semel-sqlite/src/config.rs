//! How to open a store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use semel_core::store::StoreObserver;
use semel_core::{Clock, Error, Result, SystemClock};

use crate::store::SqliteStore;

/// The prefix of store URLs that name a SQLite file.
pub const URL_PREFIX: &str = "sqlite:";

/// Where the file is and how the store behaves; the defaults suit most users.
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) path: PathBuf,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) busy_timeout: Duration,
    pub(crate) readers: usize,
    pub(crate) wal_bytes: u64,
    pub(crate) sweep_every: Option<Duration>,
    pub(crate) history_keep: Duration,
    pub(crate) create: bool,
    pub(crate) page_bytes: u32,
    pub(crate) bytes_max: Option<u64>,
    pub(crate) watch: Option<Arc<dyn StoreObserver>>,
}

impl Config {
    /// The store in the file at `path`, which is created if it does not exist.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            clock: Arc::new(SystemClock::new()),
            busy_timeout: Duration::from_secs(5),
            readers: 2,
            wal_bytes: 64 * 1024 * 1024,
            sweep_every: Some(Duration::from_secs(1)),
            history_keep: Duration::from_secs(90 * 24 * 60 * 60),
            create: true,
            page_bytes: 4096,
            bytes_max: None,
            watch: None,
        }
    }

    /// The store that a URL such as `sqlite:semel.db` names.
    pub fn from_url(url: &str) -> Result<Self> {
        match url.strip_prefix(URL_PREFIX) {
            Some(path) if !path.is_empty() => Ok(Self::new(path)),
            _ => Err(Error::invalid(format!(
                "a SQLite store is written sqlite:PATH, found {url:?}"
            ))),
        }
    }

    /// The clock that leases and retention are judged by.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// How long to wait for another process that writes, before the call fails as locked.
    #[must_use]
    pub const fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// How many threads answer look-ups; at least one.
    #[must_use]
    pub fn readers(mut self, threads: usize) -> Self {
        self.readers = threads.clamp(1, 64);
        self
    }

    /// How often the background sweep runs; `None` leaves it to the caller.
    #[must_use]
    pub const fn sweep_every(mut self, interval: Option<Duration>) -> Self {
        self.sweep_every = interval;
        self
    }

    /// How long events are kept for the audit.
    #[must_use]
    pub const fn history_keep(mut self, keep: Duration) -> Self {
        self.history_keep = keep;
        self
    }

    /// How large the write-ahead log may grow before it is copied into the file.
    #[must_use]
    pub const fn wal_bytes(mut self, bytes: u64) -> Self {
        self.wal_bytes = bytes;
        self
    }

    /// The page size of a file that is created; an existing file keeps its own.
    #[must_use]
    pub const fn page_bytes(mut self, bytes: u32) -> Self {
        self.page_bytes = bytes;
        self
    }

    /// The largest size of the file; at it, claims fail as on a full disk and nothing is lost.
    #[must_use]
    pub const fn bytes_max(mut self, bytes: u64) -> Self {
        self.bytes_max = Some(bytes);
        self
    }

    /// Fails instead of creating a file that does not exist, and leaves the layout of one that does as it is; for
    /// tools that only look. The file of a much older version is refused with what to do about it.
    #[must_use]
    pub const fn must_exist(mut self) -> Self {
        self.create = false;
        self
    }

    /// Who is told how many calls each commit carries, which leases ended, and what the sweep does.
    #[must_use]
    pub fn watch(mut self, watch: Arc<dyn StoreObserver>) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Opens the store.
    pub fn open(self) -> Result<SqliteStore> {
        SqliteStore::open(self)
    }
}
