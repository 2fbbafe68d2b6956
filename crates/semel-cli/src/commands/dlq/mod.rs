//! `semel dlq`: the dead letters, which are the messages that failed for good or are parked.
//!
//! Nothing is copied: a dead letter is its message in another state, with the same id and headers, and replaying
//! it is a change of state with a line in the audit.

mod import;
mod list;
mod replay;

use clap::Subcommand;
use semel_core::inbox::State;

use super::messages::{OpenInbox, Purpose};
use crate::discovery::ConfigArg;
use crate::error::Result;
use crate::stores::StoreArgs;

/// The states that are dead letters.
const DEAD: [State; 2] = [State::FailedTerminal, State::Parked];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

/// What to do with dead letters.
#[derive(Debug, Subcommand)]
enum Command {
    /// List dead letters, the newest first
    List(list::Args),
    /// Run dead letters again, with the same ids and headers
    Replay(replay::Args),
    /// Bring the dead letters of a broker into the inbox, with the same ids and headers
    Import(import::Args),
}

pub(crate) async fn run(args: Args, store: StoreArgs, config: &ConfigArg) -> Result<()> {
    let purpose = match &args.command {
        Command::List(_) => Purpose::Look,
        Command::Replay(_) | Command::Import(_) => Purpose::Act,
    };
    let open = OpenInbox::open(config, store, purpose).await?;
    match args.command {
        Command::List(args) => list::run(&args, &open).await,
        Command::Replay(args) => replay::run(&args, &open).await,
        Command::Import(args) => import::run(&args, &open).await,
    }
}
