//! `semel inbox failures`: what is wrong with many messages, in groups.

use clap::builder::styling::Style;
use semel_admin::messages::{Failures, WALK_MAX, failures};
use semel_admin::view::inbox as view;
use semel_core::inbox::Cause;
use semel_core::{Scope, Timestamp};

use crate::commands::messages::{OpenInbox, one_line};
use crate::error::Result;
use crate::output::{self, Table};
use crate::text;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only this consumer's: NAME or NAME@VERSION; no version means 1
    consumer: Option<Scope>,

    /// Write JSON: an object with `looked_at`, `more` and `groups`
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, open: &OpenInbox) -> Result<()> {
    let found = failures(open.inbox.as_ref(), args.consumer.as_ref()).await?;
    if args.json {
        return output::json(&view::Failures::of(&found));
    }
    if found.groups.is_empty() {
        output::note("no message has failed or is parked");
        return Ok(());
    }
    table(&found, open.now()).print()?;
    if let Some(before) = found.unseen_before {
        let most = text::count(WALK_MAX as u64);
        output::note(&format!(
            "counted are the newest {most} failures; there are more, received before {before}"
        ));
    }
    if let Some(group) = found.groups.first() {
        output::hint(&format!(
            "run a whole group again: semel inbox retry {} --group {} --dry-run{}",
            text::word(&group.consumer.to_string()),
            group.id,
            open.option()
        ));
    }
    Ok(())
}

fn table(found: &Failures, now: Timestamp) -> Table {
    let mut table = Table::new(["GROUP", "CONSUMER", ">MESSAGES", "CAUSE", "LAST", "ERROR"]);
    for group in &found.groups {
        table.row(
            Style::new(),
            [
                group.id.clone(),
                group.consumer.to_string(),
                text::count(group.count),
                group.cause.map_or("-", Cause::name).to_owned(),
                text::ago(group.last, now),
                one_line(&group.error),
            ],
        );
    }
    table
}
