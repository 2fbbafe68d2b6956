//! How a record looks: in a row, and in a few words.

use maud::{Markup, html};
use semel_core::record::UnknownCause;
use semel_core::{Evidence, Identity, Outcome, Record, State, Timestamp};

use crate::dashboard::ui;
use crate::view::status;

/// The address of a record's page.
pub(in crate::dashboard::pages) fn address(identity: &Identity) -> String {
    let scope = identity.scope().to_string();
    let place = [
        ("tenant", identity.tenant().as_str()),
        ("scope", scope.as_str()),
        ("key", identity.key().as_str()),
    ];
    ui::link_to("/keys/one", &place)
}

/// The key, leading to the record's page.
pub(in crate::dashboard::pages) fn link(identity: &Identity) -> Markup {
    let key = identity.key().as_str();
    html! { a class=[ui::whole(key)] href=(address(identity)) { (key) } }
}

/// Records, one below the other.
pub(in crate::dashboard::pages) fn table(
    caption: &str,
    records: &[Record],
    now: Timestamp,
) -> ui::Table {
    let row = |record: &Record| {
        let identity = &record.identity;
        ui::Row::new(&format!("{identity} {}", record.fence))
            .cell(ui::state(record.state.name()))
            .cell(link(identity))
            .name(identity.scope().to_string())
            .name(identity.tenant().as_str())
            .name(request(record))
            .cell(ui::ago(record.claimed_at, now))
            .cell(standing(record, now))
            .text(body(record))
    };
    ui::Table::new(caption)
        .column("State")
        .column("Key")
        .column("Scope")
        .column("Tenant")
        .column("Request")
        .column("Claimed")
        .column("How it stands")
        .number("Body")
        .rows(records.iter().map(row))
}

/// What was asked, if that is known.
pub(in crate::dashboard::pages) fn request(record: &Record) -> String {
    let about = record.about.as_ref();
    about.map_or_else(String::new, ToString::to_string)
}

fn body(record: &Record) -> String {
    match &record.state {
        State::Settled(settled) => ui::bytes(settled.outcome.body.len()),
        State::Running { .. } | State::Unknown { .. } => String::new(),
    }
}

fn standing(record: &Record, now: Timestamp) -> Markup {
    match &record.state {
        State::Running { lease_until } => html! {
            "its lease ends in " (ui::duration(lease_until.since(now)))
        },
        State::Unknown {
            since,
            cause,
            evidence,
        } => html! { (why(*cause, evidence.as_ref())) ", " (ui::ago(*since, now)) },
        State::Settled(settled) => html! {
            @if let Some(status) = status(&settled.outcome) { "status " (status) ", " }
            @if settled.resolved { "decided " }
            (ui::ago(settled.at, now))
            @if settled.erased { ", contents erased" }
        },
    }
}

/// Why the outcome is unknown: what its owner could still say, or how it ended.
pub(in crate::dashboard::pages) fn why(cause: UnknownCause, evidence: Option<&Evidence>) -> String {
    if let Some(evidence) = evidence {
        return evidence.to_string();
    }
    match cause {
        UnknownCause::LeaseEnded => "the lease ended without an outcome",
        UnknownCause::RunUndecided => "the run could not tell whether it took effect",
        UnknownCause::RunPanicked => "the run panicked",
    }
    .to_owned()
}

/// An outcome in a few words: `succeeded, status 201, 27 B`.
pub(in crate::dashboard::pages) fn summary(outcome: &Outcome) -> String {
    let verdict = outcome.verdict.name();
    let status = status(outcome).map_or_else(String::new, |status| format!(", status {status}"));
    let body = match outcome.body.len() {
        0 => "no body".to_owned(),
        bytes => ui::bytes(bytes),
    };
    format!("{verdict}{status}, {body}")
}
