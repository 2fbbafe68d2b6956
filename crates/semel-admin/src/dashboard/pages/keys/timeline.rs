//! What happened to an operation, in its order.

use maud::{Markup, html};
use semel_core::record::Resolved;
use semel_core::{Event, EventKind, Record, State, Timestamp};

use super::record::{summary, why};
use crate::dashboard::ui::{self, Tone};

/// One moment of a record's life.
struct Moment {
    at: Timestamp,
    fence: u64,
    tone: Tone,
    name: &'static str,
    words: String,
}

/// The events of a history, and what the record itself says of its claim, its outcome and its retention.
pub(super) fn timeline(record: Option<&Record>, history: &[Event], now: Timestamp) -> Markup {
    let mut moments: Vec<Moment> = history.iter().map(of_event).collect();
    moments.extend(record.into_iter().flat_map(of_record));
    moments.sort_by_key(|moment| moment.at);
    let row = |(at, moment): (usize, &Moment)| {
        ui::Row::new(&at.to_string())
            .cell(ui::time(moment.at, now))
            .text(moment.fence.to_string())
            .cell(ui::badge(moment.tone, moment.name))
            .text(&moment.words)
    };
    ui::Table::new("What happened, oldest first")
        .column("When")
        .number("Fence")
        .column("What")
        .column("In words")
        .rows(moments.iter().enumerate().map(row))
        .or(ui::empty(
            "No history is kept of it.",
            html! { "The next request with this key runs." },
        ))
}

fn of_event(event: &Event) -> Moment {
    let tone = match &event.kind {
        EventKind::TookOver { .. } | EventKind::LateOutcome(_) | EventKind::Mismatch(_) => {
            Tone::Warn
        }
        EventKind::BecameUnknown { .. } => Tone::Bad,
        EventKind::Released
        | EventKind::Resolved { .. }
        | EventKind::Erased { .. }
        | EventKind::ContentsErased { .. } => Tone::Plain,
    };
    Moment {
        at: event.at,
        fence: event.fence.get(),
        tone,
        name: event.kind.name(),
        words: words(&event.kind),
    }
}

fn of_record(record: &Record) -> Vec<Moment> {
    let moment = |at, tone, name, words: String| Moment {
        at,
        fence: record.fence.get(),
        tone,
        name,
        words,
    };
    let claimed = format!("attempt {}", record.attempt);
    let mut moments = vec![moment(record.claimed_at, Tone::Busy, "claimed", claimed)];
    match &record.state {
        State::Running { lease_until } => moments.push(moment(
            *lease_until,
            Tone::Plain,
            "lease",
            "ends unless it is renewed".to_owned(),
        )),
        State::Unknown { .. } => {}
        State::Settled(settled) => {
            let how = if settled.resolved {
                "decided"
            } else {
                "settled"
            };
            let took = match settled.took.is_zero() {
                true => String::new(),
                false => format!(", after {}", ui::duration(settled.took)),
            };
            let words = format!("{}{took}", summary(&settled.outcome));
            moments.push(moment(settled.at, Tone::Good, how, words));
            let then = if settled.archive {
                "archived"
            } else {
                "deleted"
            };
            let words = format!("ends, and it is {then}");
            moments.push(moment(settled.expires_at, Tone::Plain, "retention", words));
        }
    }
    moments
}

/// An event in words.
pub(super) fn words(kind: &EventKind) -> String {
    let because = |by: &str, reason: &Option<String>| match reason {
        Some(reason) => format!("{by} ({reason})"),
        None => by.to_owned(),
    };
    match kind {
        EventKind::TookOver { from } => {
            format!("took over from fence {from}, whose outcome was unknown")
        }
        EventKind::Released => "released by its owner: nothing happened".to_owned(),
        EventKind::BecameUnknown { cause, evidence } => {
            format!("became unknown: {}", why(*cause, evidence.as_ref()))
        }
        EventKind::Resolved { by, how, reason } => {
            let by = because(by, reason);
            match how {
                Resolved::Settled => format!("resolved by {by}: it happened, with an outcome"),
                Resolved::Released => format!("resolved by {by}: it did not happen"),
                Resolved::Corrected => format!("corrected by {by}: it has another outcome"),
            }
        }
        EventKind::LateOutcome(outcome) => {
            format!("late outcome, kept and never served: {}", summary(outcome))
        }
        EventKind::Mismatch(_) => {
            "refused a request with the same key and another fingerprint".to_owned()
        }
        EventKind::Erased { by, reason } => format!("purged by {}", because(by, reason)),
        EventKind::ContentsErased { by, reason } => {
            format!("contents erased by {}", because(by, reason))
        }
    }
}
