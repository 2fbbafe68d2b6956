//! Something unusual that happened.

use semel_core::EventKind;
use semel_core::record::Resolved;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Evidence, Outcome, Payload};

/// Something unusual that happened to an operation.
#[derive(Serialize, ToSchema)]
pub struct Event {
    /// When.
    at: String,
    /// The claim that it concerns.
    fence: u64,
    /// `took-over`, `released`, `became-unknown`, `resolved`, `late-outcome`, `mismatch`, `erased` or `contents-erased`.
    event: &'static str,
    /// The claim that was taken over from.
    #[serde(skip_serializing_if = "Option::is_none")]
    from_fence: Option<u64>,
    /// Why the outcome became unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    /// Who decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// What was decided: `settled`, `released` or `corrected`.
    #[serde(skip_serializing_if = "Option::is_none")]
    how: Option<&'static str>,
    /// Why it was decided so.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// What the owner of the run could still say when its outcome became unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Evidence>,
    /// What was asked by the request that was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    /// What was brought too late.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
}

impl Event {
    /// The event, with as much of a late outcome as `payload` says.
    pub fn of(event: &semel_core::Event, payload: Payload) -> Self {
        let mut view = Self {
            at: event.at.to_string(),
            fence: event.fence.get(),
            event: event.kind.name(),
            from_fence: None,
            cause: None,
            by: None,
            how: None,
            reason: None,
            evidence: None,
            fingerprint: None,
            outcome: None,
        };
        match &event.kind {
            EventKind::TookOver { from } => view.from_fence = Some(from.get()),
            EventKind::Released => {}
            EventKind::BecameUnknown { cause, evidence } => {
                view.cause = Some(cause.name());
                view.evidence = evidence.as_ref().map(Evidence::of);
            }
            EventKind::Resolved { by, how, reason } => {
                (view.by, view.reason) = (Some(by.clone()), reason.clone());
                view.how = Some(match how {
                    Resolved::Settled => "settled",
                    Resolved::Released => "released",
                    Resolved::Corrected => "corrected",
                });
            }
            EventKind::LateOutcome(outcome) => view.outcome = Some(Outcome::of(outcome, payload)),
            EventKind::Mismatch(found) => view.fingerprint = Some(found.to_string()),
            EventKind::Erased { by, reason } | EventKind::ContentsErased { by, reason } => {
                (view.by, view.reason) = (Some(by.clone()), reason.clone());
            }
        }
        view
    }
}
