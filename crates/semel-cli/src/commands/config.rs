//! `semel config`: help with configuration files.

use clap::Subcommand;

use crate::error::Result;
use crate::output;

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print the JSON schema of configuration files, for editors
    Schema,
}

pub(crate) fn run(command: &Command) -> Result<()> {
    match command {
        Command::Schema => output::json(&semel_policy::schema()),
    }
}
