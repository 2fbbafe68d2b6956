//! Messages in a list.

use maud::{Markup, html};
use semel_core::inbox::{Entry, Page};
use semel_core::{Identity, Tenant, Timestamp};

use crate::dashboard::ui;

/// How many messages a part of a list has.
pub(super) const SHOWN_MAX: usize = 50;
/// The most characters of an error in a list.
const ERROR_CHARS_MAX: usize = 140;

/// The address of a message.
pub(in crate::dashboard::pages) fn address(identity: &Identity) -> String {
    let consumer = identity.scope().to_string();
    let mut pairs = vec![
        ("consumer", consumer.as_str()),
        ("id", identity.key().as_str()),
    ];
    if *identity.tenant() != Tenant::public() {
        pairs.push(("tenant", identity.tenant().as_str()));
    }
    ui::link_to(super::one::PATH, &pairs)
}

/// Messages one to a row, or what is said where there are none. Those of all consumers say whose they are.
pub(in crate::dashboard::pages) fn table(
    page: &Page,
    is_of_all: bool,
    now: Timestamp,
    empty: Markup,
) -> Markup {
    let has_tenants = page
        .entries
        .iter()
        .any(|entry| *entry.identity.tenant() != Tenant::public());
    let mut table = ui::Table::new("Messages, the newest first").column("Id");
    if is_of_all {
        table = table.column("Consumer");
    }
    if has_tenants {
        table = table.column("Tenant");
    }
    table = table
        .column("State")
        .column("Why")
        .column("Key")
        .number("Attempts")
        .column("Received");
    let row = |entry: &Entry| {
        let identity = &entry.identity;
        let mut row = ui::Row::new(&identity.to_string()).cell(html! {
            a.mono href=(address(identity)) { (identity.key()) }
            @if entry.duplicates > 0 { " " span.hint { "+" (ui::count(entry.duplicates)) " duplicates" } }
        });
        if is_of_all {
            row = row.name(identity.scope().to_string());
        }
        if has_tenants {
            row = row.name(identity.tenant().as_str());
        }
        row.cell(ui::state(entry.state.name()))
            .cell(why(entry))
            .name(place(entry))
            .text(ui::count(entry.attempts.into()))
            .cell(ui::ago(entry.received_at, now))
    };
    table.rows(page.entries.iter().map(row)).or(empty)
}

/// Why a message stands where it does, and the beginning of its error.
pub(super) fn why(entry: &Entry) -> Markup {
    let error = entry.error.as_deref().map(short);
    html! {
        @if let Some(cause) = entry.cause { span.whole { (cause.name()) } }
        @if let Some(error) = error { @if entry.cause.is_some() { br; } span.hint { (error) } }
    }
}

/// A lane, and the place in it.
pub(super) fn place(entry: &Entry) -> String {
    let lane = entry.lane.as_ref().map(ToString::to_string);
    match (lane, entry.sequence) {
        (Some(lane), Some(sequence)) => format!("{lane} · {sequence}"),
        (lane, _) => lane.unwrap_or_default(),
    }
}

/// The beginning of an error.
pub(in crate::dashboard::pages) fn short(error: &str) -> String {
    match error.char_indices().nth(ERROR_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &error[..end]),
        None => error.to_owned(),
    }
}
