//! `semel audit`: what was done by hand, to keys and to messages.

use clap::builder::styling::Style;
use semel_admin::view;
use semel_core::Timestamp;
use semel_core::store::{AuditEntry, PAGE_MAX};

use crate::discovery::ConfigArg;
use crate::error::Result;
use crate::output::{self, Table};
use crate::stores::StoreArgs;
use crate::text;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// At most this many lines
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=PAGE_MAX as u64))]
    limit: u64,

    /// Write JSON: an object with `audit`
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, store: StoreArgs, config: &ConfigArg) -> Result<()> {
    let opened = config.store(store)?.open_existing().await?;
    let limit = usize::try_from(args.limit).unwrap_or(PAGE_MAX);
    let lines = opened.store.audit(limit).await?;
    if args.json {
        return output::json(&view::Audit::of(&lines));
    }
    if lines.is_empty() {
        output::note(
            "the audit has no lines: no key and no message was changed by hand, as far back as it goes",
        );
        return Ok(());
    }
    table(&lines, opened.now()).print()
}

fn table(lines: &[AuditEntry], now: Timestamp) -> Table {
    let mut table = Table::new(["WHEN", "BY", "VERB", "SCOPE", ">CHANGED", "WHICH", "REASON"]);
    for line in lines {
        let reason = line.reason.as_deref().map(text::printable);
        table.row(
            Style::new(),
            [
                text::ago(line.at, now),
                text::printable(&line.by),
                line.verb.clone(),
                line.scope.to_string(),
                text::count(line.changed),
                text::printable(&line.selection),
                reason.unwrap_or_else(|| "-".to_owned()),
            ],
        );
    }
    table
}
