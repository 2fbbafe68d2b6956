//! `semel inbox gaps`: which versions the keys of a consumer wait for.

use clap::builder::styling::Style;
use semel_admin::view::inbox as view;
use semel_core::inbox::Gap;
use semel_core::store::PAGE_MAX;
use semel_core::{Scope, Tenant, Timestamp};

use crate::commands::messages::OpenInbox;
use crate::error::Result;
use crate::output::{self, Table};
use crate::text;

/// How many ranges of missing versions a line shows.
const RANGES_MAX: usize = 8;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whose: NAME or NAME@VERSION; no version means 1
    consumer: Scope,

    /// At most this many keys
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=PAGE_MAX as u64))]
    limit: u64,

    /// Write JSON: an object with `gaps`
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: &Args, open: &OpenInbox) -> Result<()> {
    let limit = usize::try_from(args.limit).unwrap_or(PAGE_MAX);
    let gaps = open.inbox.gaps(args.consumer.clone(), limit).await?;
    let now = open.now();
    if args.json {
        return output::json(&view::Gaps::of(&gaps, now));
    }
    if gaps.is_empty() {
        output::note(&format!("no key of {} waits for a version", args.consumer));
        return Ok(());
    }
    table(&gaps, now).print()
}

fn table(gaps: &[Gap], now: Timestamp) -> Table {
    let mut table = Table::new([
        "TENANT", "KEY", ">APPLIED", "MISSING", ">WAITING", "DEADLINE",
    ]);
    for gap in gaps {
        let deadline = gap.deadline.map(|at| match at > now {
            true => text::ahead(at, now),
            false => format!("passed {}", text::ago(at, now)),
        });
        table.row(
            Style::new(),
            [
                gap.tenant.to_string(),
                gap.lane.to_string(),
                gap.done.map_or("none".to_owned(), |done| done.to_string()),
                missing(&gap.missing),
                text::count(gap.waiting),
                deadline.unwrap_or_else(|| "-".to_owned()),
            ],
        );
    }
    if gaps.iter().all(|gap| gap.tenant == Tenant::public()) {
        table.hide(0);
    }
    table
}

/// Ranges in a few words: `4, 7–9`.
fn missing(ranges: &[(u64, u64)]) -> String {
    let shown = ranges
        .iter()
        .take(RANGES_MAX)
        .map(|(from, to)| match from == to {
            true => from.to_string(),
            false => format!("{from}–{to}"),
        });
    let mut shown: Vec<_> = shown.collect();
    if ranges.len() > RANGES_MAX {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_short() {
        assert_eq!(missing(&[(4, 4), (7, 9)]), "4, 7–9");
        let many: Vec<_> = (0..20).map(|n| (n * 2, n * 2)).collect();
        assert_eq!(missing(&many), "0, 2, 4, 6, 8, 10, 12, 14, …");
    }
}
