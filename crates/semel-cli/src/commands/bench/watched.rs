//! `semel bench watched`: what the dashboard and traces cost this very program as a gateway.

use std::path::PathBuf;
use std::time::Duration;

use semel_bench::gateway::{GatewayOptions, watched};
use semel_bench::progress::Bar;
use semel_core::duration;

use super::gateway::{gateway_command, peer_command, program};
use crate::error::Result;
use crate::output;

/// For how long, and with how much.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many connections there are at once, each with one request in flight
    #[arg(long, default_value_t = 64)]
    connections: usize,

    /// How many rounds; in each, every way to watch and none take turns
    #[arg(long, default_value_t = 3)]
    rounds: usize,

    /// How long each turn of a round lasts
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "5s")]
    turn: Duration,

    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// Measures and prints.
pub(super) async fn run(args: Args, dir: PathBuf) -> Result<()> {
    let program = program()?;
    let peers = program.clone();
    let mut options = GatewayOptions::new(
        dir,
        Box::new(move |places| gateway_command(program.clone().into(), places)),
        Box::new(move |peer| peer_command(peers.clone().into(), peer)),
    );
    options.connections = args.connections;
    options.rounds = args.rounds;
    options.turn = args.turn;
    options.progress = Box::new(Bar::new());
    let report = watched::run(options).await?;
    match args.json {
        true => output::data(&report.json().to_string()),
        false => output::data(&report.table()),
    }
}
