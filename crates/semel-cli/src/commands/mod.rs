//! The verbs, one file or folder each; `ask`, `by`, `input` and `messages` are what some of them share.

mod ask;
mod audit;
mod bench;
mod by;
mod check;
mod completions;
mod config;
mod demo;
mod dlq;
mod duplicates;
mod encryption;
mod gateway;
mod health;
mod inbox;
mod input;
mod keys;
mod man;
mod messages;
mod observe;
mod policy;
mod replay;
mod serve;
mod stats;
mod token;
mod top;

use clap::Subcommand;

use crate::discovery::ConfigArg;
use crate::error::Result;
use crate::stores::StoreArgs;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a gateway in front of an HTTP service: requests that carry a key take effect once
    Gateway(Box<gateway::Args>),
    /// Run everything that a configuration file names
    Serve(serve::Args),
    /// Find idempotency records by key, and decide about unknown outcomes
    #[command(subcommand)]
    Keys(keys::Command),
    /// List messages of the inbox, retry, park or skip them
    Inbox(Box<inbox::Args>),
    /// List dead letters, and replay them
    Dlq(Box<dlq::Args>),
    /// Replay messages that are completed
    Replay(Box<replay::Args>),
    /// Show what operators did to keys and messages: who, when, why
    Audit(audit::Args),
    /// Show what a gateway in observe mode has found: duplicates, mismatches, new keys for the same request
    Observe(observe::Args),
    /// Show what came again: how late, from where, what that saved, and how long outcomes must be remembered
    Duplicates(duplicates::Args),
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
    /// Make, list and hash the tokens of the admin side
    #[command(subcommand)]
    Token(token::Command),
    /// Wrap the data keys of tenants anew, or destroy one
    #[command(subcommand)]
    Encryption(encryption::Command),
    /// Ask a running process whether it can do its work; ends with 1 if it cannot
    Health(health::Args),
    /// Watch a running process: what arrives, what repeats, what waits
    Top(top::Args),
    /// Count what is in the store
    Stats(stats::Args),
    /// Check that a configuration file, the store and this machine are fit for use
    Check(check::Args),
    /// Show the idempotency policy that a configuration file makes, as the gateway publishes it
    Policy(policy::Args),
    /// Help with configuration files
    #[command(subcommand)]
    Config(config::Command),
    /// Print what makes a shell complete the verbs and options of this program
    Completions(completions::Args),
    /// Print the manual page, or write one for each verb
    Man(man::Args),
}

/// Does it.
pub(crate) async fn run(command: Command, store: StoreArgs, config: &ConfigArg) -> Result<()> {
    match command {
        Command::Gateway(args) => gateway::run(*args, store, config).await,
        Command::Serve(args) => serve::run(&args, store, config).await,
        Command::Policy(args) => policy::run(&args, config),
        Command::Config(command) => config::run(&command),
        Command::Keys(command) => keys::run(command, store, config).await,
        Command::Inbox(args) => inbox::run(*args, store, config).await,
        Command::Dlq(args) => dlq::run(*args, store, config).await,
        Command::Replay(args) => replay::run(*args, store, config).await,
        Command::Observe(args) => observe::run(&args, config).await,
        Command::Duplicates(args) => duplicates::run(&args, config).await,
        Command::Audit(args) => audit::run(&args, store, config).await,
        Command::Bench(command) => bench::run(command, &store).await,
        Command::BenchPeer(peer) => bench::serve_peer(peer).await,
        Command::Demo(args) => {
            config.must_not_be_said(
                &store,
                "demo",
                "it has a store of its own, which it removes",
            )?;
            demo::run(&args).await
        }
        Command::DemoService(args) => demo::serve(&args).await,
        Command::Token(command) => token::run(&command, config),
        Command::Encryption(command) => encryption::run(&command, store, config).await,
        Command::Health(args) => health::run(&args, config).await,
        Command::Top(args) => top::run(&args, config).await,
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
        Command::Stats(args) => stats::run(&args, &config.store(store)?).await,
        Command::Check(args) => check::run(&args, store, config).await,
    }
}
