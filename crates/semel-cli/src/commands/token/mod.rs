//! `semel token`: who may call the admin side. Tokens are lines of the file; here they are made, listed and hashed.

mod hash;
mod list;
mod new;

use clap::Subcommand;

use crate::discovery::ConfigArg;
use crate::error::Result;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a token: its secret on stdout, once; the lines for the configuration file on stderr
    New(new::Args),
    /// Show the tokens of a configuration file, without their secrets
    List(list::Args),
    /// Print the hash of a token that is read from stdin
    Hash,
}

pub(crate) fn run(command: &Command, config: &ConfigArg) -> Result<()> {
    match command {
        Command::New(args) => new::run(args),
        Command::List(args) => list::run(args, config),
        Command::Hash => hash::run(),
    }
}
