//! An inbox against a plain table of messages, in turns.
//!
//! Each round measures receiving, claiming with completing in batches and one at a time, the same batches
//! among parked messages, and all of it at once through the engine. Every other round begins with the baseline, so that neither always comes first. A turn of claims
//! begins with as many waiting messages on each side, and ends when none is left or its time is over.

pub(crate) mod flow;
pub(crate) mod letter;
mod load;
mod options;
mod ours;
mod parking;
mod rounds;
mod side;

use semel_core::Result;

use crate::machine::{self, io};
use crate::report::{Machine, Measurement, Report, Turn};
use rounds::{Bench, Round};

pub use letter::Letter;
pub use options::{Goals, InboxOptions, OpenInbox, OpenRaw, Rest, Scratch};

/// Measures. It must be called inside a tokio runtime; one with several threads gives the usual figures.
pub async fn run(options: InboxOptions) -> Result<Report> {
    options.check()?;
    let scratch = machine::scratch(&options.dir)?;
    let fdatasync_p50_us =
        machine::fdatasync_p50_us(scratch.path()).map_err(io("measuring the disk"))?;
    let bench = Bench::open(&options, scratch.path()).await?;
    let rounds = bench.rounds().await?;
    let results = results(&rounds, bench.baseline(), &options);
    options.progress.step(1, 1, "done");
    Ok(Report {
        machine: Machine {
            cores: machine::cores(),
            fdatasync_p50_us,
            bytes_per_record: None,
        },
        callers: options.workers,
        seconds: options.turn.as_secs_f64(),
        results,
        gateway_memory: None,
    })
}

fn results(rounds: &[Round], baseline: &str, options: &InboxOptions) -> Vec<Measurement> {
    let InboxOptions {
        goals,
        batch,
        parked,
        ..
    } = options;
    let over = |goal, name: String, turn: &dyn Fn(&Round) -> Option<Turn>| {
        let turns: Vec<_> = rounds.iter().filter_map(turn).collect();
        Measurement::of(goal, name, &turns)
    };
    let found = [
        over(
            "receive",
            format!("messages/s received in batches of {batch}, by {baseline}"),
            &|r| Some(Turn::of(&r.receive, &r.receive_raw)),
        ),
        over(
            goals.claims,
            format!("messages/s claimed and finished in batches of {batch}, by {baseline}"),
            &|r| Some(Turn::of(&r.deal, &r.deal_raw)),
        ),
        over(
            goals.parked,
            format!("the same among {parked} parked messages, by without them"),
            &|r| r.deal_parked.as_ref().map(|among| Turn::of(among, &r.deal)),
        ),
        over(
            "single",
            format!("messages/s claimed and finished one at a time, by {baseline}"),
            &|r| Some(Turn::of(&r.single, &r.single_raw)),
        ),
        over(
            "end-to-end",
            format!("messages/s received, handled and finished at the same time, by {baseline}"),
            &|r| Some(Turn::plain(r.flow, r.flow_raw)),
        ),
    ];
    found.into_iter().flatten().collect()
}
