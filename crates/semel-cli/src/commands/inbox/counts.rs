//! `semel inbox counts`: how many messages of each consumer are in which state.

use clap::builder::styling::Style;
use semel_admin::Policies;
use semel_admin::view::inbox as view;
use semel_core::Timestamp;
use semel_core::inbox::Counts;

use crate::commands::messages::OpenInbox;
use crate::error::Result;
use crate::output::{self, Table};
use crate::serving;
use crate::text;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write JSON: an object with `consumers`
    #[arg(long)]
    json: bool,
}

/// The column with what keeps messages from running.
const NOTE: usize = 8;

pub(crate) async fn run(args: &Args, open: &OpenInbox) -> Result<()> {
    let (counts, now) = (open.inbox.counts().await?, open.now());
    if args.json {
        return output::json(&view::AllCounts::of(&counts, &open.policies, now));
    }
    if counts.is_empty() {
        output::note("the inbox has no messages");
        return Ok(());
    }
    table(&counts, &open.policies, now).print()?;
    let dead = counts.iter().map(Counts::dead);
    let (dead, stale) = (dead.sum(), counts.iter().map(|counts| counts.stale).sum());
    if stale > 0 {
        let messages = text::plural(stale, "message is", "messages are");
        output::note(&format!(
            "{messages} in progress with an ended lease: the next worker that looks takes over"
        ));
    }
    let stranded = counts.iter().filter(|counts| open.policies.strands(counts));
    for counts in stranded {
        output::hint(&serving::unserved(counts));
    }
    if dead > 0 {
        let messages = text::plural(dead, "message is", "messages are");
        let option = open.option();
        output::hint(&format!(
            "{messages} parked or failed for good: semel dlq list{option}"
        ));
    }
    Ok(())
}

fn table(all: &[Counts], policies: &Policies, now: Timestamp) -> Table {
    let mut table = Table::new([
        "CONSUMER",
        ">RECEIVED",
        ">IN PROGRESS",
        ">RETRYABLE",
        ">TERMINAL",
        ">PARKED",
        ">SKIPPED",
        "OLDEST PENDING",
        "NOTE",
    ]);
    let mut is_noted = false;
    for counts in all {
        let note = note(counts, policies, now);
        is_noted |= !note.is_empty();
        let oldest = counts.oldest_pending.map(|at| text::ago(at, now));
        let count = |number| counted(counts, number);
        table.row(
            Style::new(),
            [
                counts.consumer.to_string(),
                count(counts.received),
                count(counts.in_progress),
                count(counts.failed_retryable),
                count(counts.failed_terminal),
                count(counts.parked),
                count(counts.skipped),
                oldest.unwrap_or_else(|| "-".to_owned()),
                note,
            ],
        );
    }
    if !is_noted {
        table.hide(NOTE);
    }
    table
}

/// A number of a consumer; where its store stopped counting, the least that it may be.
fn counted(counts: &Counts, number: u64) -> String {
    match counts.at_least && number > 0 {
        true => format!("≥ {}", text::count(number)),
        false => text::count(number),
    }
}

/// What keeps the messages of a consumer from running.
fn note(counts: &Counts, policies: &Policies, now: Timestamp) -> String {
    let paused = counts.paused.as_ref().map(|pause| {
        let (by, at) = (text::printable(&pause.by), text::ago(pause.at, now));
        let reason = pause.reason.as_deref().map(text::printable);
        let reason = reason.map_or(String::new(), |reason| format!(": {reason}"));
        format!("paused {at} by {by}{reason}")
    });
    let stranded = policies.strands(counts).then(|| "not served".to_owned());
    let notes: Vec<_> = [stranded, paused].into_iter().flatten().collect();
    notes.join("; ")
}
