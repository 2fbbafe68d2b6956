//! `semel stats`: counts, the oldest of what is open, and the size.

use semel_core::Timestamp;
use semel_core::store::Stats;
use serde::Serialize;

use crate::error::Result;
use crate::json;
use crate::stores::StoreArgs;
use crate::{output, text};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, store: &StoreArgs) -> Result<()> {
    let opened = store.open_existing()?;
    let (stats, now) = (opened.store.stats().await?, opened.now());
    if args.json {
        return output::json(&Counts::of(&stats, now));
    }
    output::data(&table(&stats, now))?;
    if stats.unknown > 0 {
        output::hint(&format!(
            "{} for a decision: semel keys list --state unknown{}",
            text::plural(stats.unknown, "operation waits", "operations wait"),
            store.option()
        ));
    }
    Ok(())
}

fn table(stats: &Stats, now: Timestamp) -> String {
    let claimed = stats
        .oldest_running
        .map(|at| format!("the oldest claimed {}", text::ago(at, now)));
    let waiting = stats
        .oldest_unknown
        .map(|at| format!("the oldest since {}", text::moment(at, now)));
    let rows = [
        ("running", text::count(stats.running), claimed),
        ("unknown", text::count(stats.unknown), waiting),
        ("settled", text::count(stats.settled), None),
        ("archived", text::count(stats.archived), None),
        ("late outcomes", text::count(stats.late_outcomes), None),
        (
            "on disk",
            stats.bytes.map_or("-".to_owned(), text::bytes),
            None,
        ),
    ];
    let width = rows
        .iter()
        .map(|(_, number, _)| number.len())
        .max()
        .unwrap_or(0);
    let line = |(name, number, more): &(&str, String, Option<String>)| {
        let more = more.as_deref().unwrap_or_default();
        format!("{name:<14} {number:>width$}   {more}")
            .trim_end()
            .to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// The counts for programs.
#[derive(Serialize)]
struct Counts {
    running: u64,
    unknown: u64,
    settled: u64,
    archived: u64,
    late_outcomes: u64,
    oldest_running: Option<Since>,
    oldest_unknown: Option<Since>,
    bytes: Option<u64>,
}

#[derive(Serialize)]
struct Since {
    at: String,
    age_ms: u64,
}

impl Counts {
    fn of(stats: &Stats, now: Timestamp) -> Self {
        let since = |at: Timestamp| Since {
            at: at.to_string(),
            age_ms: json::millis(now.since(at)),
        };
        Self {
            running: stats.running,
            unknown: stats.unknown,
            settled: stats.settled,
            archived: stats.archived,
            late_outcomes: stats.late_outcomes,
            oldest_running: stats.oldest_running.map(since),
            oldest_unknown: stats.oldest_unknown.map(since),
            bytes: stats.bytes,
        }
    }
}
