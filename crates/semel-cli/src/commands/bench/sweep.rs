//! `semel bench sweep`: whether the sweep keeps up with a store at full speed.

use std::path::PathBuf;
use std::time::Duration;

use semel_bench::SweepOptions;
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

    /// How long the load lasts
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "10m")]
    lasting: Duration,

    /// After how long it is looked at again
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "10s")]
    window: Duration,

    /// How long a record is kept
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "10s")]
    retention: Duration,

    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub(super) async fn run(args: Args, url: &StoreUrl, dir: PathBuf) -> Result<()> {
    let mut options = SweepOptions::new(dir, Box::new(super::open), Box::new(super::open));
    options.callers = args.callers;
    options.lasting = args.lasting;
    options.window = args.window;
    options.retention = args.retention;
    options.progress = Box::new(Bar::new());
    let servers = match (Servers::of(url)?, Servers::of(url)?) {
        (Some(swept), Some(kept)) => Some([swept.named("swept")?, kept.named("kept")?]),
        _ => None,
    };
    if let Some([swept, kept]) = &servers {
        options.open = swept.opening();
        options.open_kept = kept.opening();
        if let Some(count) = swept.counting() {
            options.count = count;
        }
    }
    let report = semel_bench::sweep::run(options).await;
    for servers in servers.iter().flatten() {
        servers.clean().await?;
    }
    let report = report?;
    match args.json {
        true => output::data(&report.json().to_string()),
        false => output::data(&report.table()),
    }
}
