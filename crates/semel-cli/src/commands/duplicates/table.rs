//! What came again, for people.

use std::time::Duration;

use clap::builder::styling::{AnsiColor, Style};
use semel_admin::view::{Duplicates, ScopeDuplicates};
use semel_core::duplicate::Origin;
use semel_core::duration::show;

use crate::error::Result;
use crate::output::{self, Table};
use crate::text;

/// The first column about an origin: those that nothing came from are left out.
const ORIGINS: usize = 5;

pub(super) fn print(found: &Duplicates, whom: &str) -> Result<()> {
    let since = &found.since;
    if found.scopes.is_empty() {
        output::note(&format!(
            "nothing has come again since {since}, says {whom}; a retry with a known key or a message with a known id shows here"
        ));
        return Ok(());
    }
    output::note(&format!("counted since {since}, says {whom}"));
    table(&found.scopes).print()?;
    for row in &found.scopes {
        output::hint(&format!(
            "{}: {}",
            text::printable(&row.scope),
            row.retention.advice
        ));
    }
    Ok(())
}

fn table(rows: &[ScopeDuplicates]) -> Table {
    let mut table = Table::new([
        "SCOPE",
        ">SUPPRESSED",
        ">SAVED",
        ">99.9 % WITHIN",
        ">RETENTION",
        ">CLIENT RETRY",
        ">AT ONCE",
        ">REDELIVERY",
        ">REBALANCE",
        ">OWN REPLAY",
        ">NEW KEY",
    ]);
    for row in rows {
        let [client, concurrent, redelivery, rebalance, own, new_key] =
            Origin::ALL.map(|origin| text::count(row.count(origin)));
        let retention = row.retention_ms.map(Duration::from_millis);
        let cells = [
            text::printable(&row.scope),
            text::count(row.suppressed),
            show(Duration::from_millis(row.saved_ms)),
            within(row),
            retention.map_or_else(|| "-".to_owned(), show),
            client,
            concurrent,
            redelivery,
            rebalance,
            own,
            new_key,
        ];
        table.row(style(row), cells);
    }
    for (at, origin) in Origin::ALL.into_iter().enumerate() {
        if rows.iter().all(|row| row.count(origin) == 0) {
            table.hide(ORIGINS + at);
        }
    }
    table
}

/// The retention that was needed; `≥` where more may be.
fn within(row: &ScopeDuplicates) -> String {
    let advice = &row.retention;
    let Some(needed) = advice.needed_ms else {
        return "-".to_owned();
    };
    let needed = show(Duration::from_millis(needed));
    match advice.at_least {
        true => format!("≥ {needed}"),
        false => needed,
    }
}

fn style(row: &ScopeDuplicates) -> Style {
    match row.retention.is_too_short() {
        true => AnsiColor::Yellow.on_default().bold(),
        false => Style::new(),
    }
}
