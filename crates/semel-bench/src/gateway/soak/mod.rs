//! The gateway under clients of every kind for a long time: does its memory stay where it was?
//!
//! `polite` clients do what clients should; `rude` ones are slow, stop half-way or leave before the answer. `tally`
//! counts what was done, `trend` reads the samples of memory, `report` says what came of it.

mod clients;
mod polite;
mod report;
mod rude;
mod tally;
mod trend;

use std::path::Path;
use std::time::Duration;

use semel_core::{Error, Result};

use super::field::{Field, Guarded};
use super::memory::Memory;
use super::options::GatewayOptions;
use super::run::unless_interrupted;
use super::solo;
use crate::machine;
use crate::timing::Stopwatch;

use clients::Clients;
pub use report::SoakReport;
use tally::Tally;
use trend::Trend;

/// Samples per run at least, so that each quarter has a median worth the name.
const SAMPLES_MIN: u32 = 40;
const SAMPLE_EVERY_MAX: Duration = Duration::from_secs(1);
const SOAK_MAX: Duration = Duration::from_secs(7 * 86_400);

/// Soaks for `length`. It must be called inside a tokio runtime. Interrupted, it still ends what it started and
/// removes its files.
pub async fn run(options: GatewayOptions, length: Duration) -> Result<SoakReport> {
    options.check()?;
    if !(Duration::from_secs(1)..=SOAK_MAX).contains(&length) {
        let message = format!("a soak must last from a second to a week, found {length:?}");
        return Err(Error::invalid(message));
    }
    let scratch = machine::scratch(&options.dir)?;
    unless_interrupted(soak(&options, length, scratch.path())).await
}

async fn soak(options: &GatewayOptions, length: Duration, scratch: &Path) -> Result<SoakReport> {
    let (field, places) = Field::new()?;
    let guarded = field.guard(options, places, scratch).await?;
    let clients = Clients {
        gateway: field.gateway,
        connections: options.connections,
        length,
    };
    let (tally, samples) = watch(options, &guarded, clients, length).await?;
    options.progress.step(1, 1, "done");
    Ok(SoakReport {
        connections: options.connections,
        seconds: length.as_secs_f64(),
        tally,
        trend: Trend::new(samples),
    })
}

/// Lets the clients work and looks at the gateway's memory all the while, but not while the last ones finish: a
/// gateway with nothing left to do has memory to give back.
async fn watch(
    options: &GatewayOptions,
    guarded: &Guarded,
    clients: Clients,
    length: Duration,
) -> Result<(Tally, Vec<Memory>)> {
    let mut ticks = tokio::time::interval((length / SAMPLES_MIN).min(SAMPLE_EVERY_MAX));
    let work = solo::run(move || clients.work());
    tokio::pin!(work);
    let (clock, mut samples) = (Stopwatch::start(), Vec::new());
    loop {
        tokio::select! {
            done = &mut work => return Ok((done?, samples)),
            _ = ticks.tick() => {}
        }
        let elapsed = clock.elapsed();
        if elapsed < length {
            samples.push(guarded.memory()?);
            options
                .progress
                .step(elapsed.as_secs(), length.as_secs() + 1, "soaking");
        }
    }
}
