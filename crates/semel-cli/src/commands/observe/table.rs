//! What was observed, for people.

use clap::builder::styling::{AnsiColor, Style};
use semel_admin::view::{Observed, ObservedRoute};

use crate::commands::ask::Address;
use crate::error::Result;
use crate::output::{self, Table};
use crate::text;

/// The columns that are left out where all is well.
const NO_KEY: usize = 7;
const REFUSED: usize = 8;
const UNOBSERVED: usize = 9;

pub(super) fn print(found: &Observed, asked: &[Address]) -> Result<()> {
    let whom: Vec<_> = asked.iter().map(ToString::to_string).collect();
    let whom = whom.join(", ");
    let since = &found.since;
    if found.routes.is_empty() {
        output::note(&format!(
            "nothing was observed since {since}, says {whom}: no request has come to a route in observe mode"
        ));
        return Ok(());
    }
    output::note(&format!("observed since {since}, says {whom}"));
    table(&found.routes).print()?;
    hints(&found.routes)
        .iter()
        .for_each(|said| output::hint(said));
    Ok(())
}

fn table(rows: &[ObservedRoute]) -> Table {
    let mut table = Table::new([
        "ROUTE",
        "CLIENT",
        ">REQUESTS",
        ">DUPLICATES",
        ">CONCURRENT",
        ">MISMATCHES",
        ">NEW KEYS",
        ">NO KEY",
        ">BAD REQUESTS",
        ">NOT OBSERVED",
    ]);
    for row in rows {
        let client = match (&row.tenant, row.others) {
            (Some(tenant), _) => text::printable(tenant),
            (None, true) => "(all others)".to_owned(),
            (None, false) => "(unknown)".to_owned(),
        };
        table.row(
            style(row),
            [
                text::printable(&row.scope),
                client,
                text::count(row.requests),
                text::count(row.duplicate),
                text::count(row.concurrent),
                text::count(row.mismatch),
                text::count(row.suspicious_key),
                text::count(row.key_missing),
                text::count(refused(row)),
                text::count(row.unobserved),
            ],
        );
    }
    for (column, count) in [
        (NO_KEY, sum(rows, |row| row.key_missing)),
        (REFUSED, sum(rows, refused)),
        (UNOBSERVED, sum(rows, |row| row.unobserved)),
    ] {
        if count == 0 {
            table.hide(column);
        }
    }
    table
}

fn style(row: &ObservedRoute) -> Style {
    match row.suspicious_key + row.mismatch > 0 {
        true => AnsiColor::Yellow.on_default().bold(),
        false => Style::new(),
    }
}

/// What a guard would have refused whatever the key was used for.
const fn refused(row: &ObservedRoute) -> u64 {
    row.key_invalid + row.tenant_missing + row.body_too_large
}

fn sum(rows: &[ObservedRoute], of: impl Fn(&ObservedRoute) -> u64) -> u64 {
    rows.iter().map(of).sum()
}

/// What the numbers mean for those who think of switching on.
fn hints(rows: &[ObservedRoute]) -> Vec<String> {
    let requests = |count| text::plural(count, "request", "requests");
    let mut hints = Vec::new();
    let repeated = sum(rows, |row| row.duplicate + row.concurrent);
    if repeated > 0 {
        hints.push(format!(
            "{} repeated an earlier one with its key: a guard would have answered without a second effect",
            requests(repeated)
        ));
    }
    let mismatch = sum(rows, |row| row.mismatch);
    if mismatch > 0 {
        let example = example(rows, |row| row.latest.mismatch.as_deref());
        hints.push(format!(
            "{} brought a key that another request had used{example}: a guard would have refused them with 422",
            requests(mismatch)
        ));
    }
    let suspicious = sum(rows, |row| row.suspicious_key);
    if suspicious > 0 {
        let example = example(rows, |row| row.latest.suspicious_key.as_deref());
        hints.push(format!(
            "{} came again within seconds with a new key{example}: a client that makes a key per attempt, and not per \
             operation, cannot be guarded by its keys",
            requests(suspicious)
        ));
    }
    hints
}

fn example(rows: &[ObservedRoute], of: impl Fn(&ObservedRoute) -> Option<&str>) -> String {
    let found = rows.iter().find_map(|row| Some((of(row)?, &row.scope)));
    found.map_or_else(String::new, |(key, scope)| {
        let (key, scope) = (text::printable(key), text::printable(scope));
        format!(" (such as {key} on {scope})")
    })
}
