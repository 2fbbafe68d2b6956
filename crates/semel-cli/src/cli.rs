//! What can be asked: the options that every verb shares. Each verb has its own next to its code.

use clap::Parser;

use crate::commands::Command;
use crate::discovery::ConfigArg;
use crate::exit;
use crate::stores::StoreArgs;

/// Makes a request or a message take effect once
#[derive(Debug, Parser)]
#[command(
    name = "semel",
    version,
    after_help = exit::help(),
    subcommand_required = true,
    arg_required_else_help = true,
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) store: StoreArgs,

    #[command(flatten)]
    pub(crate) config: ConfigArg,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_options_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }
}
