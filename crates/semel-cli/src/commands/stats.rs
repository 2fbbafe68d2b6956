//! `semel stats`: counts, the oldest of what is open, and the size.

use semel_admin::view;
use semel_core::Timestamp;
use semel_core::store::Stats;

use crate::error::Result;
use crate::stores::StoreArgs;
use crate::{output, text};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, store: &StoreArgs) -> Result<()> {
    let opened = store.open_existing().await?;
    let (stats, now) = (opened.store.stats().await?, opened.now());
    let counts = match &opened.inbox {
        Some(inbox) => Some(inbox.counts().await?),
        None => None,
    };
    if args.json {
        let seen = view::Stats::of(&stats, now);
        return output::json(&match &counts {
            Some(counts) => seen.with_inbox(counts),
            None => seen,
        });
    }
    output::data(&table(&stats, now))?;
    for counts in counts.iter().flatten() {
        if let Some(pause) = &counts.paused {
            let (consumer, by) = (&counts.consumer, text::printable(&pause.by));
            let at = text::ago(pause.at, now);
            output::note(&format!("consumer {consumer} was paused {at} by {by}"));
        }
    }
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
