//! `semel inbox`: list messages, retry, park or skip them.

mod act;
mod counts;
mod edit;
mod failures;
mod gaps;
mod import;
mod list;
mod pause;
mod send;
mod show;

pub(crate) use list::{Listing, Page};

use clap::Subcommand;

use super::messages::{OpenInbox, Purpose};
use crate::discovery::ConfigArg;
use crate::error::Result;
use crate::stores::StoreArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

/// What to do with messages.
#[derive(Debug, Subcommand)]
enum Command {
    /// List messages, the newest first
    List(list::Args),
    /// Show one message: where it stands, its timeline, its attempts and steps
    Show(show::Args),
    /// Count the messages of each consumer by state
    Counts(counts::Args),
    /// Say which versions the keys of a consumer wait for
    Gaps(gaps::Args),
    /// Say what is wrong with failed and parked messages, in groups of cause and error
    Failures(failures::Args),
    /// Run messages again that failed or are parked: attempts are counted anew, done steps stay done
    Retry(act::RetryArgs),
    /// Run one message again that failed or is parked, with another payload; the original is kept beside it
    Edit(edit::Args),
    /// Set messages aside until somebody decides
    Park(act::Args),
    /// Let parked messages go on, with the attempts that they had
    Unpark(act::Args),
    /// Pass messages over for good: they never run, and duplicates of them are suppressed
    Skip(act::Args),
    /// Erase what messages hold; their records stay, so that a redelivery is still a duplicate
    Erase(act::Args),
    /// Stop running the messages of a consumer, in all processes; they are received all the same
    Pause(pause::Args),
    /// Let a paused consumer go on
    Resume(pause::Args),
    /// Receive one message from a file or from stdin
    Send(send::Args),
    /// Receive messages from a file of JSON lines
    Import(import::Args),
}

pub(crate) async fn run(args: Args, store: StoreArgs, config: &ConfigArg) -> Result<()> {
    let purpose = match &args.command {
        Command::List(_)
        | Command::Show(_)
        | Command::Counts(_)
        | Command::Gaps(_)
        | Command::Failures(_) => Purpose::Look,
        _ => Purpose::Act,
    };
    let open = OpenInbox::open(config, store, purpose).await?;
    match args.command {
        Command::List(args) => list::run(&args, &open).await,
        Command::Show(args) => show::run(&args, &open).await,
        Command::Counts(args) => counts::run(&args, &open).await,
        Command::Gaps(args) => gaps::run(&args, &open).await,
        Command::Failures(args) => failures::run(&args, &open).await,
        Command::Edit(args) => edit::run(&args, &open).await,
        Command::Retry(args) => act::retry(&args, &open).await,
        Command::Park(args) => act::park(&args, &open).await,
        Command::Unpark(args) => act::unpark(&args, &open).await,
        Command::Skip(args) => act::skip(&args, &open).await,
        Command::Erase(args) => act::erase(&args, &open).await,
        Command::Pause(args) => pause::run(&args, true, &open).await,
        Command::Resume(args) => pause::run(&args, false, &open).await,
        Command::Send(args) => send::run(&args, &open).await,
        Command::Import(args) => import::run(&args, &open).await,
    }
}
