//! Keys that wait for versions.

use maud::{Markup, html};
use semel_core::Timestamp;
use semel_core::inbox::Gap;

use crate::dashboard::ui;

/// How many keys are shown.
pub(super) const SHOWN_MAX: usize = 50;
/// How many ranges of a key are shown.
const RANGES_MAX: usize = 8;

/// Keys one to a row, with the versions that are missing. Those of all consumers say whose they are.
pub(super) fn table(gaps: &[Gap], is_of_all: bool, now: Timestamp) -> Markup {
    let row = |gap: &Gap| {
        let ranges = gap.missing.iter().take(RANGES_MAX).map(range);
        let mut missing = ranges.collect::<Vec<_>>().join(", ");
        if gap.missing.len() > RANGES_MAX {
            missing.push_str(", …");
        }
        let consumer = gap.consumer.to_string();
        let link = ui::link_to(
            super::PATH,
            &[("consumer", &consumer), ("lane", gap.lane.as_str())],
        );
        let mut row = ui::Row::new(&format!("{consumer} {} {}", gap.tenant, gap.lane))
            .cell(html! { a href=(link) { (gap.lane) } });
        if is_of_all {
            row = row.text(&consumer);
        }
        row.text(gap.tenant.as_str())
            .text(gap.done.map_or("none".to_owned(), |done| done.to_string()))
            .text(missing)
            .text(ui::count(gap.waiting))
            .cell(match gap.deadline {
                Some(at) if at > now => html! { "in " (ui::duration(at.since(now))) },
                Some(_) => html! { "has passed" },
                None => html! { "none" },
            })
    };
    let mut table = ui::Table::new("Keys that wait for versions").column("Key");
    if is_of_all {
        table = table.column("Consumer");
    }
    let table = table.column("Tenant").number("Applied").column("Missing");
    table
        .number("Waiting")
        .column("Waits until")
        .rows(gaps.iter().map(row))
        .show()
}

fn range((from, to): &(u64, u64)) -> String {
    match from == to {
        true => from.to_string(),
        false => format!("{from}–{to}"),
    }
}
