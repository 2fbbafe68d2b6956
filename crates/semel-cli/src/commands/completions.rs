//! `semel completions`: what makes a shell complete verbs and options, derived from them.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::error::Result;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which shell
    shell: Shell,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "semel", &mut script);
    output::data(&String::from_utf8_lossy(&script))
}
