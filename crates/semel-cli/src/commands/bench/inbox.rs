//! `semel bench inbox`: how fast messages are received and dealt with, as ratios against a plain table in the same run.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use semel_bench::InboxOptions;
use semel_bench::baseline::inbox::Queue;
use semel_bench::baseline::inbox::postgres::{RawPostgresInbox, rest};
use semel_bench::baseline::inbox::sqlite::RawSqliteInbox;
use semel_bench::baseline::postgres::clean;
use semel_bench::inbox::{Goals, OpenInbox, OpenRaw, Scratch};
use semel_bench::progress::Bar;
use semel_core::duration;
use semel_core::inbox::Inbox;
use semel_policy::value::{Engine, StoreUrl};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output;

/// For how long, and with how much.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many workers there are at once
    #[arg(long, default_value_t = 4)]
    workers: usize,

    /// How many messages a batch has
    #[arg(long, default_value_t = 100)]
    batch: usize,

    /// How many messages wait when a turn begins
    #[arg(long, default_value_t = 100_000)]
    messages: usize,

    /// How many messages are parked in the inbox that is compared to one without them; 0 leaves that out
    #[arg(long, default_value_t = 1_000_000)]
    parked: usize,

    /// How many rounds; in each, ours and the baseline take turns
    #[arg(long, default_value_t = 3)]
    rounds: usize,

    /// How long each turn of a round lasts at most
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "5s")]
    turn: Duration,

    /// Only see whether it runs; the figures mean nothing
    #[arg(long, conflicts_with_all = ["messages", "parked", "turn"])]
    quick: bool,

    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub(super) async fn run(args: Args, url: &StoreUrl, dir: PathBuf) -> Result<()> {
    let schemas = Schemas::of(url)?;
    let mut options = match &schemas {
        Some(schemas) => schemas.measured(dir, args.workers),
        None => InboxOptions::new(dir, open_sqlite(), open_raw_sqlite()),
    };
    options.workers = args.workers;
    options.batch = args.batch;
    options.messages = args.messages;
    options.parked = args.parked;
    options.rounds = args.rounds;
    options.turn = args.turn;
    options.progress = Box::new(Bar::new());
    if args.quick {
        options = options.quick();
    }
    let report = semel_bench::inbox::run(options).await;
    if let Some(schemas) = &schemas {
        schemas.clean().await?;
    }
    let report = report?;
    match args.json {
        true => output::data(&report.json().to_string()),
        false => output::data(&report.table()),
    }
}

/// Opens a new embedded inbox in an empty directory.
pub(super) fn open_sqlite() -> OpenInbox {
    Box::new(|place| {
        Box::pin(async move {
            let store = semel_sqlite::Config::new(place.dir.join("semel.db")).open()?;
            Ok(Arc::new(store) as Arc<dyn Inbox>)
        })
    })
}

fn open_raw_sqlite() -> OpenRaw {
    Box::new(|place| {
        Box::pin(async move {
            let raw = RawSqliteInbox::create(&place.dir.join("raw.db"))?;
            Ok(Arc::new(raw) as Arc<dyn Queue>)
        })
    })
}

/// Schemas on the server that is named, removed afterwards.
pub(super) struct Schemas {
    server: semel_postgres::Config,
    name: String,
}

impl Schemas {
    /// The server that `url` names; `None` if it names a file.
    pub(super) fn of(url: &StoreUrl) -> Result<Option<Self>> {
        match url {
            StoreUrl::One(address) if address.engine() == Engine::Sqlite => Ok(None),
            StoreUrl::One(address) if address.engine() == Engine::Postgres => Ok(Some(Self {
                server: semel_postgres::Config::from_url(address.as_str())?,
                name: format!("semel_bench_{}", std::process::id()),
            })),
            StoreUrl::One(_) | StoreUrl::Hybrid { .. } => Err(Error::new(
                Exit::Usage,
                format!("messages are kept in sqlite:PATH or postgres://…, found {url}"),
            )),
        }
    }

    fn schema(&self, place: &str) -> String {
        format!("{}_{place}", self.name)
    }

    fn all(&self) -> Vec<String> {
        Scratch::NAMES
            .iter()
            .map(|place| self.schema(place))
            .collect()
    }

    /// Opens inboxes in them.
    pub(super) fn opening(&self) -> OpenInbox {
        let (server, name) = (self.server.clone(), self.name.clone());
        Box::new(move |place| {
            let config = server.clone().schema(&format!("{name}_{}", place.name));
            Box::pin(async move { Ok(Arc::new(config?.connect().await?) as Arc<dyn Inbox>) })
        })
    }

    fn measured(&self, dir: PathBuf, workers: usize) -> InboxOptions {
        let (server, name) = (self.server.server().clone(), self.name.clone());
        let open_raw: OpenRaw = Box::new(move |place| {
            let (server, schema) = (server.clone(), format!("{name}_{}", place.name));
            Box::pin(async move {
                // Workers and those who bring messages, each on a connection of its own.
                let raw = RawPostgresInbox::connect(&server, &schema, 2 * workers).await?;
                Ok(Arc::new(raw) as Arc<dyn Queue>)
            })
        });
        let mut options = InboxOptions::new(dir, self.opening(), open_raw);
        let (server, schemas) = (self.server.server().clone(), self.all());
        options.rest = Box::new(move || {
            let (server, schemas) = (server.clone(), schemas.clone());
            Box::pin(async move { rest(&server, &schemas).await })
        });
        options.goals = Goals::POSTGRES;
        options
    }

    pub(super) async fn clean(&self) -> Result<()> {
        for schema in self.all() {
            clean(self.server.server(), &schema).await?;
        }
        Ok(())
    }
}
