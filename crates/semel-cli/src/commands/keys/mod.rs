//! `semel keys`: look at records, and decide about unknown ones.
//!
//! A deciding verb looks first and refuses with an explanation, then names the claim that it saw
//! in its decision: if another process was faster, the store refuses and nothing changes.

mod decide;
mod erase;
mod find;
mod history;
mod late;
mod list;
mod many;
mod missing;
mod near;
mod purge;
mod reconcile;
mod release;
mod resolve;
mod show;
mod standing;
mod target;
mod which;

pub(crate) use standing::summary;

use clap::Subcommand;

use crate::discovery::ConfigArg;
use crate::error::Result;
use crate::stores::StoreArgs;

/// What to do with keys.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List records, the newest claim first
    List(Box<list::Args>),
    /// Find a record by its key; show it, its outcome and its history
    Show(show::Args),
    /// Say that an unknown operation did not happen, or that many did not: the next request runs
    Release(Box<release::Args>),
    /// Say that an unknown operation happened, or that many did, and with what outcome
    Resolve(Box<resolve::Args>),
    /// Ask the reconcile URL of an unknown operation's route whether it happened, or of many: the answer is put on record
    Reconcile(Box<reconcile::Args>),
    /// Erase the contents of a settled record, or of many; the records stay and go on suppressing duplicates
    Erase(Box<erase::Args>),
    /// Forget a settled record before its retention ends, so that a request that comes again runs; or sweep what has expired
    Purge(purge::Args),
}

pub(crate) async fn run(command: Command, store: StoreArgs, config: &ConfigArg) -> Result<()> {
    match command {
        Command::List(args) => list::run(&args, &config.store(store)?).await,
        Command::Show(args) => show::run(&args, &config.store(store)?).await,
        Command::Release(args) => release::run(&args, &config.store(store)?).await,
        Command::Resolve(args) => resolve::run(&args, &config.store(store)?).await,
        // A process is asked, which has the store.
        Command::Reconcile(args) => reconcile::run(&args, &store, config).await,
        Command::Erase(args) => erase::run(&args, &config.store(store)?).await,
        Command::Purge(args) => purge::run(&args, &config.store(store)?).await,
    }
}
