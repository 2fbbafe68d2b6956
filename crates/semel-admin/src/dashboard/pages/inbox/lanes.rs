//! Keys whose messages wait: for versions that are missing, or behind what holds them up.

use maud::{Markup, html};
use semel_core::inbox::{Gap, Inbox, WaitingLane};
use semel_core::{Scope, Tenant, Timestamp};

use super::{gaps, list};
use crate::dashboard::ui;
use crate::refused::{Refused, ask as wait};

/// How many consumers are asked where none is chosen.
pub(super) const CONSUMERS_MAX: usize = 20;
/// How many lanes are shown.
const SHOWN_MAX: usize = 50;

/// What waits in the lanes of some consumers.
#[derive(Default)]
pub(super) struct Waits {
    gaps: Vec<Gap>,
    lanes: Vec<WaitingLane>,
    /// Whether there are more lanes than are shown.
    is_cut: bool,
}

/// Asks consumer after consumer, until there is as much as is shown.
pub(super) async fn load(inbox: &dyn Inbox, consumers: &[Scope]) -> Result<Waits, Refused> {
    let mut found = Waits::default();
    for consumer in consumers {
        let room = gaps::SHOWN_MAX.saturating_sub(found.gaps.len());
        if room > 0 {
            let gaps = wait(inbox.gaps(consumer.clone(), room)).await?;
            found.gaps.extend(gaps);
        }
        // One more than is shown, to know whether there are more.
        let room = (SHOWN_MAX + 1).saturating_sub(found.lanes.len());
        if room > 0 {
            let lanes = wait(inbox.waiting_lanes(consumer.clone(), room)).await?;
            found.lanes.extend(lanes);
        }
    }
    found.is_cut = found.lanes.len() > SHOWN_MAX;
    found.lanes.truncate(SHOWN_MAX);
    Ok(found)
}

impl Waits {
    /// Both tables; nothing where nothing waits.
    pub(super) fn show(&self, is_of_all: bool, now: Timestamp) -> Markup {
        html! {
            @if !self.gaps.is_empty() {
                (ui::section("Versions that keys wait for", gaps::table(&self.gaps, is_of_all, now)))
            }
            @if !self.lanes.is_empty() {
                (ui::section("Keys whose messages wait", html! {
                    (table(&self.lanes, is_of_all, now))
                    @if self.is_cut { p.hint { "The " (SHOWN_MAX) " that have waited longest; there are more." } }
                }))
            }
        }
    }
}

/// Lanes one to a row, with what stands at their heads.
fn table(lanes: &[WaitingLane], is_of_all: bool, now: Timestamp) -> Markup {
    let has_tenants = lanes
        .iter()
        .any(|lane| *lane.head.identity.tenant() != Tenant::public());
    let mut table =
        ui::Table::new("Keys whose messages wait, with what holds them up").column("Key");
    if is_of_all {
        table = table.column("Consumer");
    }
    if has_tenants {
        table = table.column("Tenant");
    }
    table = table
        .column("First in line")
        .column("State")
        .column("Why")
        .number("Wait behind it")
        .column("Oldest waits since");
    let row = |lane: &WaitingLane| {
        let (head, identity) = (&lane.head, &lane.head.identity);
        let mut row = ui::Row::new(&format!("lane {identity}")).cell(key(lane));
        if is_of_all {
            row = row.name(identity.scope().to_string());
        }
        if has_tenants {
            row = row.name(identity.tenant().as_str());
        }
        row.cell(html! { a.mono href=(list::address(identity)) { (identity.key()) } })
            .cell(ui::state(head.state.name()))
            .cell(list::why(head))
            .text(ui::count(lane.waiting))
            .cell(ui::ago(lane.oldest, now))
    };
    table.rows(lanes.iter().map(row)).show()
}

/// The key, which leads to all messages that have it.
fn key(lane: &WaitingLane) -> Markup {
    let identity = &lane.head.identity;
    let Some(key) = &lane.head.lane else {
        return Markup::default();
    };
    let consumer = identity.scope().to_string();
    let pairs = [
        ("consumer", consumer.as_str()),
        ("lane", key.as_str()),
        ("tenant", identity.tenant().as_str()),
    ];
    html! { a class=[ui::whole(key.as_str())] href=(ui::link_to(super::PATH, &pairs)) { (key) } }
}
