//! What doors in observe mode have seen.

use maud::{Markup, html};
use semel_core::Timestamp;

use crate::dashboard::{Ask, Page, ui};
use crate::refused::Refused;
use crate::view::{Observed, ObservedRoute};
use crate::when::When;

/// The most rows: what stands below the first screens is read by `semel observe --json`.
const ROWS_MAX: usize = 500;

/// The page.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let observed = ask
        .app
        .parts
        .observations
        .as_ref()
        .map(|observed| observed());
    let seen = observed.filter(|observed| !observed.routes.is_empty());
    let live = match seen {
        Some(observed) => findings(observed, ask.app.now()),
        None => ui::empty(
            "Nothing was observed yet.",
            html! {
                "A route with " code { "mode: observe" } " guards nothing and counts what a guard would have seen: duplicates, keys that are used twice, "
                "requests without a key. " code { "semel observe --topic URL" } " does the same for a topic, before anything is served."
            },
        ),
    };
    Ok(Page::new("Observe").live(live))
}

fn findings(mut observed: Observed, now: Timestamp) -> Markup {
    observed
        .routes
        .sort_by_key(|row| std::cmp::Reverse(trouble(row)));
    let left_out = observed.routes.len().saturating_sub(ROWS_MAX);
    let since = observed.since.parse::<When>().ok();
    let table = ui::Table::new("Findings by route and client")
        .column("Route")
        .column("Client")
        .number("Requests")
        .number("Duplicates")
        .number("At the same time")
        .number("Key used twice")
        .number("New key, same request")
        .number("No key")
        .number("Not usable");
    html! {
        p.hint {
            "Counted since " @match since { Some(since) => (ui::time(since.at(now), now)), None => (observed.since) }
            ". A duplicate would have been answered from the record; a key that is used twice for different requests would have been refused; "
            "a new key for the same request would have run again."
        }
        (table.rows(observed.routes.iter().take(ROWS_MAX).map(row)).show())
        @if left_out > 0 { p.hint { (ui::count(left_out as u64)) " more rows: " code { "semel observe" } } }
    }
}

/// What an operator should look at first.
const fn trouble(row: &ObservedRoute) -> (u64, u64, u64) {
    let repeated = row.duplicate + row.concurrent;
    (row.suspicious_key + row.mismatch, repeated, row.requests)
}

fn row(row: &ObservedRoute) -> ui::Row {
    let client = match (&row.tenant, row.others) {
        (Some(tenant), _) => tenant.as_str(),
        (None, true) => "others",
        (None, false) => "not known",
    };
    let with = |count: u64, latest: &Option<String>| {
        html! { (ui::count(count)) @if let Some(key) = latest { br; code { (key) } } }
    };
    let unusable = row.key_invalid + row.tenant_missing + row.body_too_large + row.unobserved;
    ui::Row::new(&format!("{} {client}", row.scope))
        .text(&row.scope)
        .text(client)
        .text(ui::count(row.requests))
        .text(ui::count(row.duplicate))
        .text(ui::count(row.concurrent))
        .cell(with(row.mismatch, &row.latest.mismatch))
        .cell(with(row.suspicious_key, &row.latest.suspicious_key))
        .text(ui::count(row.key_missing))
        .text(ui::count(unusable))
}
