//! `semel demo`: a pretend payment service under a storm of duplicates, races, cut connections and
//! real process kills, and a count of what happened to the money.
//!
//! The service is a process of its own that is killed with SIGKILL again and again. What was paid is
//! counted at the provider, a ledger outside of that process, so both kinds of damage could show:
//! `--unguarded` sends the same storm at the same service without Semel, and they do. `--serve` is another play: all of Semel at work behind
//! its dashboard.

mod line;
mod process;
mod serve;
mod service;
mod storm;
mod tally;

pub(crate) use service::ServiceArgs;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use semel_core::store::{Query, StateFilter};
use semel_core::{Error, Kind, Result, Store};
use semel_sqlite::Config;
use semel_testkit::ledger::Ledger;
use semel_testkit::random;
use tempfile::TempDir;

use crate::output;
use process::Service;
use storm::Storm;
use tally::Outcome;

/// What the demo is asked to do.
#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Run the same storm without Semel and see the damage
    #[arg(long)]
    unguarded: bool,

    /// How often the service is killed
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=40))]
    kills: u32,

    /// Repeat the random choices of an earlier run
    #[arg(long)]
    seed: Option<u64>,

    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    serve: serve::ServeArgs,
}

/// Runs the storm, or all of Semel behind its dashboard.
pub(crate) async fn run(args: &DemoArgs) -> crate::error::Result<()> {
    match args.serve.is_wanted() {
        true => serve::run(&args.serve, args.seed).await,
        false => output::data(&storm(args).await?),
    }
}

/// Runs the storm and returns what to print.
async fn storm(args: &DemoArgs) -> Result<String> {
    let seed = args.seed.unwrap_or_else(random::fresh_seed);
    let dir = directory()?;
    let ledger = Ledger::open(dir.path().join("provider")).map_err(io)?;
    let mut options = vec!["--dir".into(), dir.path().into()];
    if args.unguarded {
        options.push("--unguarded".into());
    }
    let service = Service::start(options).await?;
    let storm = Storm::new(service, seed, args.kills);
    let progress = progress(args.kills);
    let counts = storm.rage(&progress).await?;
    progress.finish_and_clear();
    let outcome = Outcome {
        unguarded: args.unguarded,
        seed,
        unresolved: unresolved(dir.path(), args.unguarded).await?,
        counts,
        paid: ledger.counts().map_err(io)?,
    };
    Ok(if args.json {
        outcome.json().to_string()
    } else {
        outcome.table()
    })
}

/// A directory of the demo's own, which nothing else can name beforehand or read. It is removed when this is dropped; one that cannot be is litter,
/// not a failure of the demo.
fn directory() -> Result<TempDir> {
    tempfile::Builder::new()
        .prefix("semel-demo-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir()
        .map_err(io)
}

/// How many operations still wait for somebody to decide; zero when the provider could always tell.
async fn unresolved(dir: &std::path::Path, unguarded: bool) -> Result<usize> {
    if unguarded {
        return Ok(0);
    }
    let store = Config::new(dir.join(service::STORE)).open()?;
    let state = Some(StateFilter::Unknown);
    let page = store
        .list(Query {
            state,
            ..Query::default()
        })
        .await?;
    Ok(page.records.len())
}

/// Runs the process that the demo kills.
pub(crate) async fn serve(args: &ServiceArgs) -> crate::error::Result<()> {
    let ready = |address: String| output::data(&address);
    service::run(args, ready).await
}

fn progress(kills: u32) -> ProgressBar {
    let style = ProgressStyle::with_template("  {msg}\n  {bar:40} killed {pos} of {len} times");
    let bar = ProgressBar::new(u64::from(kills));
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn io(error: std::io::Error) -> Error {
    Error::new(Kind::Unavailable, "the demo cannot use its directory").caused_by(error)
}
