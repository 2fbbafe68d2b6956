//! `semel bench store`: how fast a store is, as ratios against a raw baseline in the same run.

use std::path::PathBuf;
use std::time::Duration;

use semel_bench::StoreOptions;
use semel_bench::progress::Bar;
use semel_core::duration;
use semel_policy::value::StoreUrl;

use super::servers::Servers;
use crate::error::Result;
use crate::output;

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
pub(super) async fn run(args: Args, url: &StoreUrl, dir: PathBuf) -> Result<()> {
    let mut options = StoreOptions::new(dir, Box::new(super::open));
    options.callers = args.callers;
    options.rounds = args.rounds;
    options.turn = args.turn;
    options.prefill = args.prefill;
    options.progress = Box::new(Bar::new());
    let servers = Servers::of(url)?;
    if let Some(servers) = &servers {
        servers.measured_by(&mut options);
    }
    let report = semel_bench::store::run(options).await;
    if let Some(servers) = &servers {
        servers.clean().await?;
    }
    let report = report?;
    match args.json {
        true => output::data(&report.json().to_string()),
        false => output::data(&report.table()),
    }
}
