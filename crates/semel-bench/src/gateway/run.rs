//! A whole run: everybody started, the turns taken, the figures put together.

use std::path::Path;
use std::time::Duration;

use semel_core::{Error, Kind, Result};
use tokio::signal::unix::{SignalKind, signal};

use super::field::Field;
use super::load::{Keys, Until};
use super::memory::Memory;
use super::options::GatewayOptions;
use super::rounds::{Round, Rounds, Side};
use crate::machine::{self, io};
use crate::report::{GatewayMemory, Machine, Measurement, Report, Turn};

pub(super) const BREATH: Duration = Duration::from_millis(300);

/// Measures. It must be called inside a tokio runtime. Interrupted, it still ends what it started and removes its files.
pub async fn run(options: GatewayOptions) -> Result<Report> {
    options.check()?;
    let scratch = machine::scratch(&options.dir)?;
    unless_interrupted(measure(&options, scratch.path())).await
}

/// The work, or an error as soon as somebody wants this process to end.
pub(super) async fn unless_interrupted<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    let listen = |kind| signal(kind).map_err(io("listening for signals"));
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let interrupted = || {
        Err(Error::new(
            Kind::Unavailable,
            "the benchmark was interrupted",
        ))
    };
    tokio::select! {
        done = work => done,
        _ = interrupt.recv() => interrupted(),
        _ = terminate.recv() => interrupted(),
    }
}

async fn measure(options: &GatewayOptions, scratch: &Path) -> Result<Report> {
    let fdatasync_p50_us = machine::fdatasync_p50_us(scratch).map_err(io("measuring the disk"))?;
    let (field, places) = Field::new()?;
    let guarded = field.guard(options, places, scratch).await?;
    let _proxies = field.proxies(options, scratch).await?;
    let before = guarded.memory()?;
    let rounds = Rounds {
        field,
        keys: Keys::new(1),
        connections: options.connections,
        breath: BREATH,
        progress: options.progress.as_ref(),
    };
    let taken = rounds
        .take(options.rounds, Until::Elapsed(options.turn))
        .await?;
    let after = guarded.memory()?;
    options.progress.step(1, 1, "done");
    Ok(Report {
        machine: Machine {
            cores: machine::cores(),
            fdatasync_p50_us,
            bytes_per_record: None,
        },
        callers: options.connections,
        seconds: options.turn.as_secs_f64(),
        results: results(&taken)
            .into_iter()
            .chain(memory_at(options, after))
            .collect(),
        gateway_memory: Some(GatewayMemory { before, after }),
    })
}

/// The memory of the gateway by one MiB, if its store was filled before.
fn memory_at(options: &GatewayOptions, after: Memory) -> Option<Measurement> {
    let records = options.prefill.as_ref()?.records;
    let name = format!("gateway's memory after the load, MiB, {records} records before it");
    let turn = Turn {
        ours: after.resident_mib(),
        baseline: 1.0,
        p50_us: None,
        p99_us: None,
    };
    Measurement::of("G8c", name, &[turn])
}

const FIGURES: [(&str, &str, Side, Side); 5] = [
    (
        "G5",
        "gateway, first requests/s by nginx",
        Side::First,
        Side::Nginx,
    ),
    (
        "G5b",
        "gateway, replays/s by nginx",
        Side::Replay,
        Side::Nginx,
    ),
    (
        "G5c",
        "gateway, unguarded requests/s by a minimal hyper proxy",
        Side::Unguarded,
        Side::HyperProxy,
    ),
    (
        "hyper",
        "minimal hyper proxy, requests/s by nginx",
        Side::HyperProxy,
        Side::Nginx,
    ),
    (
        "nginx",
        "nginx, requests/s by the upstream without a proxy",
        Side::Nginx,
        Side::Direct,
    ),
];

fn results(rounds: &[Round]) -> Vec<Measurement> {
    let figure = |(goal, name, ours, baseline): (_, &str, _, _)| {
        let turns: Vec<_> = rounds
            .iter()
            .map(|round| Turn::of(round.of(ours), round.of(baseline)))
            .collect();
        Measurement::of(goal, name.to_owned(), &turns)
    };
    FIGURES.into_iter().filter_map(figure).collect()
}
