//! `semel bench gateway`: this very program as a gateway, against plain proxies.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use semel_bench::gateway::{self, CommandLine, GatewayOptions, Peer, Places, Prefill, soak};
use semel_bench::progress::Bar;
use semel_core::duration;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::output;

/// For how long, and with how much.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many connections there are at once, each with one request in flight
    #[arg(long, default_value_t = 64)]
    connections: usize,

    /// How many rounds; in each, ours and the baselines take turns
    #[arg(long, default_value_t = 3)]
    rounds: usize,

    /// How long each turn of a round lasts
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, default_value = "5s")]
    turn: Duration,

    /// How many records the store holds before, to see what memory they cost
    #[arg(long, value_name = "RECORDS")]
    prefill: Option<u64>,

    /// Measure no speed, but watch the gateway's memory for so long under clients of every kind
    #[arg(
        long,
        value_name = "DURATION",
        value_parser = duration::parse,
        conflicts_with_all = ["rounds", "turn"]
    )]
    soak: Option<Duration>,

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
    options.prefill = args.prefill.map(|records| Prefill {
        open: Box::new(super::open),
        records,
    });
    options.progress = Box::new(Bar::new());
    let (table, json) = match args.soak {
        Some(length) => {
            let report = soak::run(options, length).await?;
            (report.table(), report.json())
        }
        None => {
            let report = gateway::run(options).await?;
            (report.table(), report.json())
        }
    };
    match args.json {
        true => output::data(&json.to_string()),
        false => output::data(&table),
    }
}

/// This very program.
pub(super) fn program() -> Result<PathBuf> {
    std::env::current_exe()
        .map_err(|e| Error::new(Exit::Unavailable, format!("cannot find this program: {e}")))
}

pub(super) fn gateway_command(program: OsString, places: &Places) -> CommandLine {
    let mut store = OsString::from("sqlite:");
    store.push(places.dir.join("semel.db"));
    let mut command = tracing_of(places);
    command.extend([
        program,
        "gateway".into(),
        "--upstream".into(),
        format!("http://{}", places.upstream).into(),
        "--listen".into(),
        places.listen.to_string().into(),
        "--admin".into(),
        places.admin.to_string().into(),
        "--store".into(),
        store,
    ]);
    command
}

/// What sets the settings that have no option.
fn tracing_of(places: &Places) -> CommandLine {
    let Some(traces) = places.traces else {
        return Vec::new();
    };
    let endpoint = format!("SEMEL_TRACING__ENDPOINT=http://{}", traces.collector);
    let sample = format!("SEMEL_TRACING__SAMPLE={}", traces.share);
    ["env", &endpoint, &sample].map(Into::into).into()
}

pub(super) fn peer_command(program: OsString, peer: Peer) -> CommandLine {
    let (name, listen, upstream) = match peer {
        Peer::Upstream { listen } => ("upstream", listen, None),
        Peer::HyperProxy { listen, upstream } => ("hyper-proxy", listen, Some(upstream)),
    };
    let mut command = vec![program, "bench-peer".into(), name.into()];
    command.extend(["--listen".into(), listen.to_string().into()]);
    if let Some(upstream) = upstream {
        command.extend(["--upstream".into(), upstream.to_string().into()]);
    }
    command
}
