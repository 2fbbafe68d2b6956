//! The command line of Semel: looks into a store and decides what only a person can decide.
//!
//! Read it in this order: `cli` says what can be asked; `discovery` finds the configuration file and the store that are meant; `stores` opens it;
//! `commands` has one file per verb; `serving` puts the parts of a serving process together; `output` is the only place that prints; `exit` lists the
//! exit codes. Commands speak to [`semel_core::Store`] and never to a driver.

mod cli;
mod commands;
mod discovery;
mod error;
mod exit;
mod output;
mod serving;
mod stores;
mod text;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::Cli;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// A request is some fifty small allocations, made on one thread and freed on another: what the
/// system's allocator is slowest at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(()) => Exit::Done.into(),
        Err(error) => {
            output::error(&error);
            error.exit().into()
        }
    }
}

fn run(cli: Cli) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()
        .map_err(|e| Error::new(Exit::Unavailable, format!("cannot start threads: {e}")))?;
    runtime.block_on(commands::run(cli.command, cli.store, &cli.config))
}
