//! `semel bench`: how fast a store is, as ratios against a raw baseline in the same run.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Subcommand;
use semel_bench::StoreOptions;
use semel_bench::progress::Bar;

use crate::error::Result;
use crate::stores::StoreArgs;
use crate::{duration, output};

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Durable claims and settles, and replays, against a raw log on the same disk
    ///
    /// The store that --store names is not touched: a new one is made beside it and removed afterwards.
    Store(Args),
}

/// For how long, and with how much.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many callers there are at once
    #[arg(long, default_value_t = 64)]
    callers: usize,

    /// How many rounds; in each, ours and the baseline take turns
    #[arg(long, default_value_t = 3)]
    rounds: usize,

    /// How long each turn of a round lasts
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "5s")]
    turn: Duration,

    /// How many records the store holds before; two sizes are compared with each other
    #[arg(long, value_name = "RECORDS", value_delimiter = ',')]
    prefill: Vec<u64>,

    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub(crate) async fn run(command: Command, store: &StoreArgs) -> Result<()> {
    let Command::Store(args) = command;
    let open = |dir: &Path| -> semel_core::Result<Arc<dyn semel_core::Store>> {
        Ok(Arc::new(
            semel_sqlite::Config::new(dir.join("semel.db")).open()?,
        ))
    };
    let mut options = StoreOptions::new(directory_of(&store.path()?), Box::new(open));
    options.callers = args.callers;
    options.rounds = args.rounds;
    options.turn = args.turn;
    options.prefill = args.prefill;
    options.progress = Box::new(Bar::new());
    let report = semel_bench::store::run(options).await?;
    match args.json {
        true => output::data(&report.json().to_string()),
        false => output::data(&report.table()),
    }
}

/// The directory of a file, which is on the disk that counts.
fn directory_of(file: &Path) -> PathBuf {
    match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}
