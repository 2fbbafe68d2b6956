//! `semel inbox import`: receives messages from a file of JSON lines.

use std::path::PathBuf;

use semel_core::Scope;
use semel_core::inbox::{Arrivals, BATCH_MAX, Message, Receipt};
use semel_inbox::Consumer;
use semel_inbox::source::{Delivery, Source};
use semel_inbox::{FileSource, Rule};
use serde::Serialize;

use crate::commands::messages::OpenInbox;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::{output, text};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// To whom: NAME or NAME@VERSION; no version means 1
    consumer: Scope,

    /// The file, one message per line: {"id", "type", "key", "sequence", "headers", "payload"}; - reads from stdin
    file: PathBuf,

    /// Each line is a payload, in which the consumer's fields say where id, type, key and sequence are
    #[arg(long)]
    whole_lines: bool,

    /// The consumer may be one that neither a file nor the store has named so far
    #[arg(long)]
    new_consumer: bool,

    /// Write the counts as JSON
    #[arg(long)]
    json: bool,
}

/// What became of the lines.
#[derive(Debug, Default, Serialize)]
struct Counts {
    stored: u64,
    duplicates: u64,
    conflicts: u64,
    rejected: u64,
}

pub(crate) async fn run(args: &Args, open: &OpenInbox) -> Result<()> {
    if !args.new_consumer {
        open.must_take(&args.consumer).await?;
    }
    let (consumer, rule) = open.consumer(&args.consumer)?;
    let mut source = FileSource::new(&args.file);
    if args.whole_lines {
        source = source.whole_lines();
    }
    let failed = |error: semel_core::Error| Error::new(Exit::Io, error.to_string());
    source.resume(None).await.map_err(failed)?;
    let mut counts = Counts::default();
    loop {
        let batch = source.next(BATCH_MAX).await.map_err(failed)?;
        let mut messages = Vec::new();
        for delivery in batch.deliveries {
            messages.extend(taken(&source, &consumer, &rule, delivery).await?);
        }
        receive(open, messages, &consumer, &mut counts).await?;
        if batch.end {
            break;
        }
    }
    counts.rejected = source.rejected();
    args.print(&counts)
}

/// The message of a line; nothing if it is none, and then it is set aside.
async fn taken(
    source: &FileSource,
    consumer: &Consumer,
    rule: &Rule,
    delivery: Delivery,
) -> Result<Option<Message>> {
    let line = delivery.raw.origin.offset.unwrap_or(0);
    match rule.message(consumer, delivery.raw) {
        Ok(message) => Ok(Some(message)),
        Err(refusal) => {
            output::note(&format!("line {line}: {refusal}"));
            let reason = refusal.to_string();
            source.reject(delivery.handle, reason).await?;
            Ok(None)
        }
    }
}

async fn receive(
    open: &OpenInbox,
    messages: Vec<Message>,
    consumer: &Consumer,
    counts: &mut Counts,
) -> Result<()> {
    if messages.is_empty() {
        return Ok(());
    }
    let arrivals = Arrivals {
        plan: consumer.plan.clone(),
        messages,
        position: None,
    };
    for receipt in open.inbox.receive(arrivals).await? {
        match receipt {
            Receipt::Stored { .. } => counts.stored += 1,
            Receipt::Duplicate { .. } => counts.duplicates += 1,
            Receipt::Conflict => counts.conflicts += 1,
        }
    }
    Ok(())
}

impl Args {
    fn print(&self, counts: &Counts) -> Result<()> {
        if self.json {
            return output::json(counts);
        }
        let lines = [
            ("stored", counts.stored, ""),
            ("duplicates", counts.duplicates, "there already"),
            (
                "conflicts",
                counts.conflicts,
                "another payload under a known id, parked",
            ),
            (
                "rejected",
                counts.rejected,
                "no messages; set aside beside the file",
            ),
        ];
        output::data(&text::counted(&lines))
    }
}
