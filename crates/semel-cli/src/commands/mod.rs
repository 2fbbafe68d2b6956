//! The verbs, one file or folder each; `by`, `input` and `messages` are what some of them share.

mod audit;
mod bench;
mod by;
mod check;
mod config;
mod demo;
mod dlq;
mod gateway;
mod inbox;
mod input;
mod keys;
mod messages;
mod replay;
mod serve;
mod stats;

use clap::Subcommand;

use crate::error::Result;
use crate::output;
use crate::stores::StoreArgs;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a gateway in front of an HTTP service: requests that carry a key take effect once
    Gateway(Box<gateway::Args>),
    /// Run everything that a configuration file names
    Serve(serve::Args),
    /// Look at keys, and decide about unknown outcomes
    #[command(subcommand)]
    Keys(keys::Command),
    /// Look at messages, run them again, set them aside
    Inbox(Box<inbox::Args>),
    /// Look at dead letters, and run them again
    Dlq(Box<dlq::Args>),
    /// Run messages once more that were dealt with
    Replay(Box<replay::Args>),
    /// Show what was done by hand, to keys and to messages
    Audit(audit::Args),
    /// Watch payments survive a storm of duplicates, races, cut connections and process kills
    Demo(demo::DemoArgs),
    /// The process that the demo kills
    #[command(hide = true)]
    DemoService(demo::ServiceArgs),
    /// Measure how fast this machine is, as ratios
    #[command(subcommand)]
    Bench(bench::Command),
    /// A process that takes part in a benchmark
    #[command(subcommand, hide = true)]
    BenchPeer(bench::Peer),
    /// Count what is in the store
    Stats(stats::Args),
    /// Check that a configuration file, the store and this machine are fit for use
    Check(check::Args),
    /// Help with configuration files
    #[command(subcommand)]
    Config(config::Command),
}

/// Does it.
pub(crate) async fn run(command: Command, store: StoreArgs) -> Result<()> {
    match command {
        Command::Gateway(args) => gateway::run(*args, store).await,
        Command::Serve(args) => serve::run(args, store).await,
        Command::Config(command) => config::run(&command),
        Command::Keys(command) => keys::run(command, &store).await,
        Command::Inbox(args) => inbox::run(*args, store).await,
        Command::Dlq(args) => dlq::run(*args, store).await,
        Command::Replay(args) => replay::run(*args, store).await,
        Command::Audit(args) => audit::run(args, store).await,
        Command::Bench(command) => bench::run(command, &store).await,
        Command::BenchPeer(peer) => bench::serve_peer(peer).await,
        Command::Demo(args) => output::data(&demo::run(&args).await?),
        Command::DemoService(args) => demo::serve(&args).await,
        Command::Stats(args) => stats::run(&args, &store).await,
        Command::Check(args) => check::run(&args, store).await,
    }
}
