//! How things stand: parts and records.

use maud::{Markup, html};
use semel_core::{Timestamp, store};

use crate::dashboard::{Ask, Page, ui};
use crate::health::Readiness;
use crate::refused::{Refused, ask as ask_store};

/// The page.
pub(crate) async fn page(ask: Ask) -> Result<Page, Refused> {
    let app = &ask.app;
    let readiness = app.parts.health.readiness(&app.probed).await;
    // A store that is away shows in the parts; the page comes all the same.
    let stats = match readiness.ready {
        true => ask_store(app.parts.store.inner().stats()).await.ok(),
        false => None,
    };
    let live = html! {
        @if !app.parts.alerts.active().is_empty() { (ui::section("Alerts", super::alerts::active(&ask))) }
        (ui::section("Parts", parts(&readiness)))
        @if let Some(stats) = &stats { (ui::section("Records", records(stats, app.now()))) }
    };
    Ok(Page::new("Overview").live(live))
}

fn parts(readiness: &Readiness) -> Markup {
    let row = |part: &crate::health::PartReadiness| {
        let state = if part.ready { "ready" } else { "not ready" };
        ui::Row::new(part.name)
            .text(part.name)
            .cell(ui::state(state))
            .text(part.why.as_deref().unwrap_or_default())
    };
    let table = ui::Table::new("Parts of the process")
        .column("Part")
        .column("State")
        .column("What it says");
    table.rows(readiness.parts.iter().map(row)).show()
}

fn records(stats: &store::Stats, now: Timestamp) -> Markup {
    let oldest =
        |since: Option<Timestamp>| since.map_or_else(Markup::default, |since| ui::ago(since, now));
    let rows = [
        ("running", stats.running, oldest(stats.oldest_running)),
        ("unknown", stats.unknown, oldest(stats.oldest_unknown)),
        ("settled", stats.settled, Markup::default()),
        ("archived", stats.archived, Markup::default()),
        ("late outcomes", stats.late_outcomes, Markup::default()),
    ];
    let rows = rows.map(|(name, number, oldest)| {
        ui::Row::new(name)
            .cell(ui::state(name))
            .text(ui::count(number))
            .cell(oldest)
    });
    html! {
        (ui::Table::new("Records by state").column("State").number("Records").column("Oldest since").rows(rows).show())
        @if let Some(bytes) = stats.bytes { p.hint { (ui::bytes(bytes)) " on disk" } }
    }
}
