//! The verbs, one file each.

mod bench;
mod check;
mod demo;
mod keys;
mod stats;

use clap::Subcommand;

use crate::error::Result;
use crate::output;
use crate::stores::StoreArgs;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Look at keys, and decide about those that nobody else can decide
    #[command(subcommand)]
    Keys(keys::Command),
    /// Watch payments survive a storm of duplicates, races, cut connections and process kills
    Demo(demo::DemoArgs),
    /// The process that the demo kills
    #[command(hide = true)]
    DemoService(demo::ServiceArgs),
    /// Measure how fast this machine is, as ratios
    #[command(subcommand)]
    Bench(bench::Command),
    /// Count what is in the store
    Stats(stats::Args),
    /// Check that the store and this machine are fit for use
    Check(check::Args),
}

/// Does it.
pub(crate) async fn run(command: Command, store: &StoreArgs) -> Result<()> {
    match command {
        Command::Keys(command) => keys::run(command, store).await,
        Command::Bench(command) => bench::run(command, store).await,
        Command::Demo(args) => output::data(&demo::run(&args).await?),
        Command::DemoService(args) => demo::serve(&args).await,
        Command::Stats(args) => stats::run(&args, store).await,
        Command::Check(args) => check::run(&args, store).await,
    }
}
