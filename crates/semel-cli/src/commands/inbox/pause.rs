//! `semel inbox pause` and `resume`: whether a consumer runs its messages, in all processes.

use semel_admin::view::inbox as view;
use semel_core::Scope;

use crate::commands::by::By;
use crate::commands::messages::{OpenInbox, reason};
use crate::error::Result;
use crate::{output, text};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which: NAME or NAME@VERSION; no version means 1
    consumer: Scope,

    /// Why, for the audit
    #[arg(long, value_name = "WHY", value_parser = reason)]
    reason: Option<String>,

    #[command(flatten)]
    by: By,

    /// Write JSON: an object with `consumer`, `paused` and `changed`
    #[arg(long)]
    json: bool,
}

/// Pauses the consumer, or lets it go on.
pub(crate) async fn run(args: &Args, paused: bool, open: &OpenInbox) -> Result<()> {
    let consumer = &args.consumer;
    open.must_know(consumer).await?;
    let (by, reason) = (args.by.actor()?, args.reason.clone());
    let changed = open.inbox.set_paused(consumer.clone(), paused, by, reason);
    let changed = changed.await?;
    if args.json {
        return output::json(&view::PauseReport::of(consumer, paused, changed));
    }
    output::note(&match (paused, changed) {
        (true, true) => format!("{consumer} is paused: it receives messages and runs none"),
        (true, false) => format!("{consumer} was paused already"),
        (false, true) => format!("{consumer} goes on"),
        (false, false) => format!("{consumer} was not paused"),
    });
    if paused {
        let name = text::word(&consumer.to_string());
        let option = open.option();
        output::hint(&format!(
            "to let it go on: semel inbox resume {name}{option}"
        ));
    }
    Ok(())
}
