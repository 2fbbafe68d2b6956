//! `semel bench memory`: what hostile bodies cost this very program as a gateway.

use std::path::PathBuf;

use semel_bench::gateway::{GatewayOptions, hostile};
use semel_bench::progress::Bar;

use super::gateway::{gateway_command, peer_command, program};
use crate::error::Result;
use crate::output;

/// How many, and how large.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many connections there are at once, each with one body
    #[arg(long, default_value_t = 64)]
    connections: usize,

    /// How many bytes a body has
    #[arg(long, default_value_t = 1024 * 1024)]
    bytes: usize,

    /// How many rounds, each with ten seconds of rest after it
    #[arg(long, default_value_t = 3)]
    rounds: usize,

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
        Box::new(move |places| {
            // So many small chunks take longer than an honest body may, and wait for one another.
            let patient =
                ["BODY", "BODY_GRACE"].map(|name| format!("SEMEL_GATEWAY__TIMEOUTS__{name}=1h"));
            let mut command = vec!["env".into()];
            command.extend(patient.map(Into::into));
            command.extend(gateway_command(program.clone().into(), places));
            command
        }),
        Box::new(move |peer| peer_command(peers.clone().into(), peer)),
    );
    options.connections = args.connections;
    options.rounds = args.rounds;
    options.progress = Box::new(Bar::new());
    let report = hostile::run(options, args.bytes).await?;
    match args.json {
        true => output::data(&report.json().to_string()),
        false => output::data(&report.table()),
    }
}
