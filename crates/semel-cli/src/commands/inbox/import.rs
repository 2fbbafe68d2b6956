//! `semel inbox import`: receives messages from a file of JSON lines.

use std::path::PathBuf;

use semel_core::Scope;
use semel_inbox::FileSource;
use semel_inbox::source::{Event, Source};

use crate::commands::messages::OpenInbox;
use crate::commands::messages::intake::{self, Intake};
use crate::error::{Error, Result};
use crate::exit::Exit;

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
    source.open(Vec::new()).await.map_err(failed)?;
    let mut intake = Intake::new(open, consumer, rule);
    while let Event::Batch(batch) = source.next(intake::WANT).await.map_err(failed)? {
        intake.take(&batch.deliveries).await?;
    }
    intake.counts().print(args.json)
}
