//! Opens the store that is meant. The only place of this program that names concrete stores.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use semel_core::store::Watch;
use semel_core::{Clock, Identity, Record, Store, StoreExt, SystemClock, Timestamp, duration};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::text;

/// The store that is used when none is named.
const DEFAULT: &str = "sqlite:semel.db";

/// Schemes that other builds of Semel can open.
const ELSEWHERE: [&str; 5] = ["postgres", "mysql", "redis", "redis-cluster", "dynamodb"];

/// Which store, and how patiently.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    /// The store, such as sqlite:PATH [default: sqlite:semel.db]
    #[arg(
        long = "store",
        global = true,
        help_heading = "Global options",
        value_name = "URL",
        env = "SEMEL_STORE",
        hide_env_values = true
    )]
    named: Option<String>,

    /// How long to wait for another process that writes to the store
    #[arg(
        long,
        global = true,
        hide = true,
        value_name = "DURATION",
        env = "SEMEL_BUSY_TIMEOUT",
        value_parser = duration::parse,
        default_value = "5s"
    )]
    busy_timeout: Duration,
}

impl StoreArgs {
    /// The URL of the store.
    pub(crate) fn url(&self) -> &str {
        self.named.as_deref().unwrap_or(DEFAULT)
    }

    /// The URL as far as it may be told: other schemes may carry passwords.
    pub(crate) fn shown(&self) -> &str {
        match self.url().split_once(':') {
            Some(("sqlite", _)) | None => self.url(),
            Some((scheme, _)) => scheme,
        }
    }

    /// The same, but `url` where the command line and the environment name none.
    pub(crate) fn or(self, url: Option<&str>) -> Self {
        Self {
            named: self.named.or_else(|| url.map(ToOwned::to_owned)),
            ..self
        }
    }

    /// Opens a store to work with it: it is created if need be, and swept.
    pub(crate) fn open_serving(&self, watch: Arc<dyn Watch>) -> Result<Opened> {
        let path = self.path()?;
        let clock = Arc::new(SystemClock::new());
        let store = semel_sqlite::Config::new(&path)
            .clock(clock.clone())
            .busy_timeout(self.busy_timeout)
            .watch(watch)
            .open()
            .map_err(|error| Error::from(error).when(&format!("cannot open {}", path.display())))?;
        Ok(Opened {
            store: Arc::new(store),
            clock,
        })
    }

    /// Opens a store that exists, to look into it: nothing is created and nothing is swept.
    pub(crate) fn open_existing(&self) -> Result<Opened> {
        let path = self.path()?;
        must_be_a_file(&path)?;
        let clock = Arc::new(SystemClock::new());
        let store = semel_sqlite::Config::new(&path)
            .clock(clock.clone())
            .busy_timeout(self.busy_timeout)
            .readers(1)
            .sweep_every(None)
            .must_exist()
            .open()
            .map_err(|error| Error::from(error).when(&format!("cannot open {}", path.display())))?;
        Ok(Opened {
            store: Arc::new(store),
            clock,
        })
    }

    /// The file that the URL names. Other schemes may carry passwords, so only the scheme is told.
    pub(crate) fn path(&self) -> Result<PathBuf> {
        let bad = |message: String| Error::new(Exit::Configuration, message);
        match self.url().split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => Ok(PathBuf::from(path)),
            Some(("sqlite", _)) => Err(bad("expected sqlite:PATH, found no path".into())),
            Some((scheme, _)) if ELSEWHERE.contains(&scheme) => Err(bad(format!(
                "this build of semel cannot open {scheme} stores; it can open sqlite:PATH"
            ))),
            Some((scheme, _)) => Err(bad(format!(
                "expected a store URL such as {DEFAULT}, found the scheme {scheme:?}"
            ))
            .hint("this build of semel can open sqlite:PATH")),
            None => Err(bad(format!(
                "expected a store URL such as {DEFAULT}, found {:?}",
                self.url()
            ))
            .hint(format!(
                "for a SQLite file write {}",
                text::word(&format!("sqlite:{}", self.url()))
            ))),
        }
    }

    /// The option that makes another command use the same store; empty if it would by itself.
    pub(crate) fn option(&self) -> String {
        match self.url() {
            DEFAULT => String::new(),
            url => format!(" --store {}", text::word(url)),
        }
    }
}

fn must_be_a_file(path: &Path) -> Result<()> {
    let shown = path.display();
    let found = match path.metadata() {
        Ok(metadata) if metadata.is_dir() => format!("{shown} is a directory, expected a file"),
        Ok(_) => return Ok(()),
        Err(error) => format!("cannot find the store at {shown}: {error}"),
    };
    Err(Error::new(Exit::Configuration, found)
        .hint("name the store with --store sqlite:PATH or in SEMEL_STORE"))
}

/// The version of SQLite in this build.
pub(crate) fn sqlite_version() -> &'static str {
    semel_sqlite::sqlite_version()
}

/// An open store, and the clock that it judges by.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Opened {
    /// A store for tests, with the machine's time.
    #[cfg(test)]
    pub(crate) fn new(store: impl Store) -> Self {
        Self {
            store: Arc::new(store),
            clock: Arc::new(SystemClock::new()),
        }
    }

    /// The present instant.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The record as it stands now.
    pub(crate) async fn look_up(&self, identity: &Identity) -> Result<Option<Arc<Record>>> {
        Ok(self.store.look_up_one(identity.clone()).await?)
    }
}
