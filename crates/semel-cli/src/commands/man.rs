//! `semel man`: manual pages, derived from what `--help` says.

use std::path::{Path, PathBuf};

use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::Cli;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write a page for each verb into this directory, which is made if need be, instead of printing semel(1)
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let Some(dir) = &args.out else {
        let mut page = Vec::new();
        // As in the pages that are written: the verb `help` has none.
        let program = Cli::command().disable_help_subcommand(true);
        let rendered = Man::new(program).render(&mut page);
        rendered.map_err(|error| unwritten(Path::new("stdout"), &error))?;
        return output::data(&String::from_utf8_lossy(&page));
    };
    std::fs::create_dir_all(dir).map_err(|error| unwritten(dir, &error))?;
    clap_mangen::generate_to(Cli::command(), dir).map_err(|error| unwritten(dir, &error))
}

fn unwritten(to: &Path, error: &std::io::Error) -> Error {
    let message = format!("cannot write manual pages to {}: {error}", to.display());
    Error::new(Exit::Io, message)
}
