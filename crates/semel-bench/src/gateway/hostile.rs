//! Bodies that are sent byte by byte, all at once: what they cost the gateway in memory, and whether it gives it back.
//!
//! Each connection sends a body in chunks of one byte and holds back the last until all others have come that far, so
//! that the gateway holds all of them at the same time. The baseline is the bytes of the bodies.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use semel_core::{Error, Result};
use tokio::sync::Barrier;

use super::connection::Target;
use super::field::{Field, Guarded};
use super::memory::Memory;
use super::options::GatewayOptions;
use super::run::unless_interrupted;
use super::solo;
use crate::machine::{self, io};
use crate::report::{GatewayMemory, Machine, Measurement, Report, Turn};
use crate::timing::Stopwatch;

/// One byte as a chunk.
const CHUNK: &[u8] = b"1\r\nx\r\n";
/// How many chunks are written at once.
const CHUNKS_AT_ONCE: usize = 4096;
const BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long the gateway has to give memory back.
const REST: Duration = Duration::from_secs(10);
const SAMPLE_EVERY: Duration = Duration::from_millis(10);
const KIB: f64 = 1024.0;

/// Sends `bytes` on each connection. It must be called inside a tokio runtime. Interrupted, it still ends what it started and
/// removes its files.
pub async fn run(options: GatewayOptions, bytes: usize) -> Result<Report> {
    options.check()?;
    if !(1..=BYTES_MAX).contains(&bytes) {
        let message = format!("a body must have 1 to {BYTES_MAX} bytes, found {bytes}");
        return Err(Error::invalid(message));
    }
    let scratch = machine::scratch(&options.dir)?;
    unless_interrupted(measure(&options, bytes, scratch.path())).await
}

async fn measure(options: &GatewayOptions, bytes: usize, scratch: &Path) -> Result<Report> {
    let fdatasync_p50_us = machine::fdatasync_p50_us(scratch).map_err(io("measuring the disk"))?;
    let (field, places) = Field::new()?;
    let guarded = field.guard(options, places, scratch).await?;
    // What the first requests of a process cost is not what their bodies cost.
    storm(field.gateway, options.connections, 1, 0).await?;
    let before = guarded.memory()?;
    let clock = Stopwatch::start();
    let (mut costs, mut rests) = (Vec::new(), Vec::new());
    for round in 1..=options.rounds {
        let total = options.rounds as u64;
        options
            .progress
            .step(round as u64 - 1, total, "hostile bodies");
        let start = guarded.memory()?;
        let peak = peak(&guarded, field.gateway, options.connections, bytes, round).await?;
        tokio::time::sleep(REST).await;
        let rest = guarded.memory()?;
        let sent = (options.connections * bytes) as f64;
        let grown = peak.saturating_sub(start.resident_kib) as f64 * KIB;
        costs.push(Turn::plain(grown, sent));
        let kept = rest.resident_kib as f64 * KIB;
        rests.push(Turn::plain(kept, before.resident_kib as f64 * KIB));
    }
    let figure = |goal, name: &str, turns: &[Turn]| Measurement::of(goal, name.to_owned(), turns);
    let results = [
        figure(
            "G15",
            "memory for bodies in one-byte chunks, bytes at the peak by bytes sent",
            &costs,
        ),
        figure(
            "G15 rest",
            "memory of the gateway 10 s later by its memory before",
            &rests,
        ),
    ];
    Ok(Report {
        machine: Machine {
            cores: machine::cores(),
            fdatasync_p50_us,
            bytes_per_record: None,
        },
        callers: options.connections,
        seconds: clock.elapsed().as_secs_f64() / options.rounds as f64,
        results: results.into_iter().flatten().collect(),
        gateway_memory: Some(GatewayMemory {
            before,
            after: guarded.memory()?,
        }),
    })
}

/// The most that the gateway had in memory during a storm, in KiB.
async fn peak(
    guarded: &Guarded,
    gateway: Target,
    connections: usize,
    bytes: usize,
    round: usize,
) -> Result<u64> {
    let storm = storm(gateway, connections, bytes, round);
    tokio::pin!(storm);
    let mut ticks = tokio::time::interval(SAMPLE_EVERY);
    let mut peak = 0;
    loop {
        tokio::select! {
            done = &mut storm => return done.map(|()| peak),
            _ = ticks.tick() => {
                let Memory { resident_kib, .. } = guarded.memory()?;
                peak = peak.max(resident_kib);
            }
        }
    }
}

/// Sends all bodies at once, and waits for the answers.
async fn storm(gateway: Target, connections: usize, bytes: usize, round: usize) -> Result<()> {
    solo::run(move || async move {
        let together = Arc::new(Barrier::new(connections));
        let mut clients = tokio::task::JoinSet::new();
        for number in 0..connections {
            clients.spawn(send(
                gateway,
                bytes,
                format!("{round}-{number}"),
                together.clone(),
            ));
        }
        for ended in clients.join_all().await {
            ended?;
        }
        Ok(())
    })
    .await
}

async fn send(gateway: Target, bytes: usize, key: String, together: Arc<Barrier>) -> Result<()> {
    let sending = io("sending a body byte by byte");
    let mut wire = gateway.connect().await?;
    let address = gateway.address;
    let head = format!(
        "POST /payments HTTP/1.1\r\nHost: {address}\r\nIdempotency-Key: {key}\r\n\
         Content-Type: application/octet-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    wire.send(head.as_bytes()).await.map_err(&sending)?;
    let chunks = CHUNK.repeat(CHUNKS_AT_ONCE);
    let mut left = bytes - 1;
    while left > 0 {
        let now = left.min(CHUNKS_AT_ONCE);
        let part = &chunks[..now * CHUNK.len()];
        wire.send(part).await.map_err(&sending)?;
        left -= now;
    }
    together.wait().await;
    wire.send(CHUNK).await.map_err(&sending)?;
    wire.send(b"0\r\n\r\n").await.map_err(&sending)?;
    let answer = wire.receive().await;
    let answer = answer.map_err(|e| gateway.failed("answer").caused_by(e))?;
    let answer = answer.ok_or_else(|| gateway.failed("answer before it ends a connection"))?;
    match (answer.status, answer.is_replay) {
        (Some(201), false) => Ok(()),
        _ => Err(gateway.wrong("201 to a body in chunks", answer)),
    }
}
