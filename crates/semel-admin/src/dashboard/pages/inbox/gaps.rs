//! Keys that wait for versions.

use maud::{Markup, html};
use semel_core::Timestamp;
use semel_core::inbox::{Entry, Gap};

use crate::dashboard::ui;

/// How many keys are shown.
pub(super) const SHOWN_MAX: usize = 50;
/// How many ranges of a key are shown.
const RANGES_MAX: usize = 8;

/// Keys one to a row, with the versions that are missing. Those of all consumers say whose they are.
pub(super) fn table(gaps: &[Gap], is_of_all: bool, now: Timestamp) -> Markup {
    let row = |gap: &Gap| {
        let consumer = gap.consumer.to_string();
        let link = ui::link_to(
            super::PATH,
            &[("consumer", &consumer), ("lane", gap.lane.as_str())],
        );
        let mut row = ui::Row::new(&format!("{consumer} {} {}", gap.tenant, gap.lane))
            .cell(html! { a class=[ui::whole(gap.lane.as_str())] href=(link) { (gap.lane) } });
        if is_of_all {
            row = row.name(&consumer);
        }
        row.name(gap.tenant.as_str())
            .text(gap.done.map_or("none".to_owned(), |done| done.to_string()))
            .text(ranges(&gap.missing))
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

/// The first ranges of missing versions.
fn ranges(missing: &[(u64, u64)]) -> String {
    let shown = missing.iter().take(RANGES_MAX).map(range);
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if missing.len() > RANGES_MAX {
        text.push_str(", …");
    }
    text
}

/// The versions of its lane that a message waits for, if those are among the gaps.
pub(super) fn before(entry: &Entry, gaps: &[Gap]) -> Option<String> {
    let (lane, sequence, tenant) = (
        entry.lane.as_ref()?,
        entry.sequence?,
        entry.identity.tenant(),
    );
    let own = gaps
        .iter()
        .find(|gap| gap.lane == *lane && gap.tenant == *tenant)?;
    let missing = own.missing.iter().filter(|(from, _)| *from < sequence);
    let missing: Vec<_> = missing.copied().collect();
    let name = match missing[..] {
        [] => return None,
        [(from, to)] if from == to => "version",
        _ => "versions",
    };
    Some(format!("{name} {} of {lane}", ranges(&missing)))
}

fn range((from, to): &(u64, u64)) -> String {
    match from == to {
        true => from.to_string(),
        false => format!("{from}–{to}"),
    }
}
