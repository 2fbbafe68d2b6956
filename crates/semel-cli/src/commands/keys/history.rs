//! The events of a record, in words.

use semel_core::record::Resolved;
use semel_core::{Event, EventKind};

use super::standing::{summary, why};
use crate::text;

/// Events one below the other, oldest first.
pub(crate) fn lines(events: &[Event]) -> String {
    let fence = |event: &Event| format!("fence {}", event.fence);
    let width = events
        .iter()
        .map(|event| fence(event).len())
        .max()
        .unwrap_or(0);
    let line = |event: &Event| {
        format!(
            "  {}  {:width$}  {}\n",
            event.at,
            fence(event),
            words(&event.kind)
        )
    };
    events.iter().map(line).collect()
}

fn words(kind: &EventKind) -> String {
    match kind {
        EventKind::TookOver { from } => {
            format!("took over from fence {from}, whose outcome was unknown")
        }
        EventKind::Released => "released by its owner: nothing happened".to_owned(),
        EventKind::BecameUnknown { cause, evidence } => {
            format!("became unknown: {}", why(*cause, evidence.as_ref()))
        }
        EventKind::Resolved { by, how, reason } => {
            let by = with_reason(by, reason.as_deref());
            match how {
                Resolved::Settled => format!("resolved by {by}: it happened, with an outcome"),
                Resolved::Released => format!("resolved by {by}: it did not happen"),
                Resolved::Corrected => format!("corrected by {by}: it has another outcome"),
            }
        }
        EventKind::LateOutcome(outcome) => {
            format!("late outcome, kept and never served: {}", summary(outcome))
        }
        EventKind::Mismatch(found) => format!(
            "refused a request with the same key and another fingerprint ({}…)",
            text::hex(&found.as_bytes()[..4])
        ),
        EventKind::Erased { by, reason } => {
            format!("erased by {}", with_reason(by, reason.as_deref()))
        }
        EventKind::ContentsErased { by, reason } => {
            format!("contents erased by {}", with_reason(by, reason.as_deref()))
        }
    }
}

fn with_reason(by: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("{} ({})", text::printable(by), text::printable(reason)),
        None => text::printable(by),
    }
}
