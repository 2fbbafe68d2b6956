//! Sources against bare consumers: the same messages of the same broker, in turns.
//!
//! Each round has three turns: messages are received (stored in the inbox and acknowledged, and nothing handles them), a bare consumer of the
//! same client library acknowledges them and does nothing else, and they go from end to end through a handler that does nothing. The bare turn is
//! the middle one, and every other round goes backwards. All begin with the first delivery: connecting and joining a group are not measured.
//!
//! `bare` has a file per broker; `counted` looks over the shoulder of a source; `ours` is a turn through the engine; `rounds` takes the turns.

mod bare;
mod broker;
mod counted;
mod lap;
mod letters;
mod options;
mod ours;
mod report;
mod rounds;

use semel_core::Result;

use crate::machine::{self, io};
use crate::report::{Machine, Measurement, Turn};
use rounds::{Bench, Round};

pub use broker::Broker;
pub use options::{OpenSource, SourceOptions};
pub use report::SourceReport;

/// Measures. It must be called inside a tokio runtime; one with several threads gives the usual figures.
pub async fn run(options: SourceOptions) -> Result<SourceReport> {
    options.check()?;
    let scratch = machine::scratch(&options.dir)?;
    let fdatasync_p50_us =
        machine::fdatasync_p50_us(scratch.path()).map_err(io("measuring the disk"))?;
    let mut results = Vec::new();
    for (place, (broker, address)) in options.brokers.iter().enumerate() {
        let bench = Bench::open(&options, place, *broker, address, scratch.path()).await?;
        let rounds = bench.rounds().await;
        // What it made is removed whether or not it could be measured.
        let cleaned = bench.close().await;
        results.extend(figures(*broker, &rounds?));
        cleaned?;
    }
    options.progress.step(1, 1, "done");
    Ok(SourceReport {
        machine: Machine {
            cores: machine::cores(),
            fdatasync_p50_us,
            bytes_per_record: None,
        },
        messages: options.messages,
        results,
    })
}

fn figures(broker: Broker, rounds: &[Round]) -> Vec<Measurement> {
    let over = |goal, what: &str, turn: &dyn Fn(&Round) -> Turn| {
        let turns: Vec<_> = rounds.iter().map(turn).collect();
        let name = format!("{broker}: messages/s {what}, by a bare consumer that only acks");
        Measurement::of(goal, name, &turns)
    };
    let found = [
        over("G12", "received and acknowledged", &|round| Turn {
            ours: round.receive.per_second,
            baseline: round.bare,
            p50_us: Some(round.receive.p50_us),
            p99_us: Some(round.receive.p99_us),
        }),
        over("G12b", "received, handled and finished", &|round| {
            Turn::plain(round.end_to_end, round.bare)
        }),
    ];
    found.into_iter().flatten().collect()
}
