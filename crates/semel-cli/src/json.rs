//! Records, outcomes and events as JSON, for programs.
//!
//! Instants are RFC 3339 text, durations are numbers that end in `_ms`. A part that a state does
//! not have is null. Header values and bodies are there only if they were asked for.

use std::time::Duration;

use semel_core::outcome::Settled;
use semel_core::record::Resolved;
use semel_core::{Event, EventKind, Outcome, Record, State, Timestamp};
use serde::Serialize;

use crate::text;

/// Whether private parts are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload {
    /// Names, sizes and digests only.
    Hidden,
    /// Header values and bodies, too.
    Shown,
}

/// A duration as a number.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A record without its outcome's contents.
#[derive(Serialize)]
pub(crate) struct RecordJson {
    tenant: String,
    scope: String,
    key: String,
    state: &'static str,
    attempt: u32,
    fence: u64,
    fingerprint: String,
    claimed_at: String,
    age_ms: u64,
    lease: Option<LeaseJson>,
    unknown: Option<UnknownJson>,
    settled: Option<SettledJson>,
}

#[derive(Serialize)]
struct LeaseJson {
    until: String,
    left_ms: u64,
}

#[derive(Serialize)]
struct UnknownJson {
    since: String,
    age_ms: u64,
    cause: &'static str,
}

#[derive(Serialize)]
struct SettledJson {
    at: String,
    took_ms: u64,
    expires_at: String,
    archive: bool,
    status: Option<u16>,
    body_bytes: u64,
}

impl RecordJson {
    pub(crate) fn of(record: &Record, now: Timestamp) -> Self {
        let (mut lease, mut unknown, mut settled) = (None, None, None);
        match &record.state {
            State::Running { lease_until } => {
                lease = Some(LeaseJson {
                    until: lease_until.to_string(),
                    left_ms: millis(lease_until.since(now)),
                });
            }
            State::Unknown { since, cause } => {
                unknown = Some(UnknownJson {
                    since: since.to_string(),
                    age_ms: millis(now.since(*since)),
                    cause: cause.name(),
                });
            }
            State::Settled(found) => settled = Some(SettledJson::of(found)),
        }
        Self {
            tenant: record.identity.tenant().to_string(),
            scope: record.identity.scope().to_string(),
            key: record.identity.key().to_string(),
            state: record.state.name(),
            attempt: record.attempt,
            fence: record.fence.get(),
            fingerprint: text::hex(record.fingerprint.as_bytes()),
            claimed_at: record.claimed_at.to_string(),
            age_ms: millis(now.since(record.claimed_at)),
            lease,
            unknown,
            settled,
        }
    }
}

impl SettledJson {
    fn of(settled: &Settled) -> Self {
        Self {
            at: settled.at.to_string(),
            took_ms: millis(settled.took),
            expires_at: settled.expires_at.to_string(),
            archive: settled.archive,
            status: status(&settled.outcome),
            body_bytes: settled.outcome.body.len(),
        }
    }
}

/// The status, where there is one.
pub(crate) fn status(outcome: &Outcome) -> Option<u16> {
    Some(outcome.status).filter(|status| *status != 0)
}

/// What a run brought.
#[derive(Serialize)]
pub(crate) struct OutcomeJson {
    verdict: &'static str,
    status: Option<u16>,
    headers: Vec<HeaderJson>,
    body: BodyJson,
}

#[derive(Serialize)]
struct HeaderJson {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_hex: Option<String>,
}

#[derive(Serialize)]
struct BodyJson {
    bytes: u64,
    kept: bool,
    blake3: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
}

/// Bytes as text where they are text, and else in hexadecimal.
fn text_or_hex(bytes: &[u8]) -> (Option<String>, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(text::hex(bytes))),
    }
}

impl OutcomeJson {
    pub(crate) fn of(outcome: &Outcome, payload: Payload) -> Self {
        let shown = |bytes: &[u8]| match payload {
            Payload::Shown => text_or_hex(bytes),
            Payload::Hidden => (None, None),
        };
        let headers = outcome.headers.iter().map(|(name, bytes)| {
            let (value, value_hex) = shown(bytes);
            let name = name.to_owned();
            HeaderJson {
                name,
                value,
                value_hex,
            }
        });
        let (text, hex) = outcome
            .body
            .kept()
            .map(|bytes| shown(bytes))
            .unwrap_or_default();
        Self {
            verdict: outcome.verdict.name(),
            status: status(outcome),
            headers: headers.collect(),
            body: BodyJson {
                bytes: outcome.body.len(),
                kept: outcome.body.kept().is_some(),
                blake3: outcome.body.digest().map(|digest| text::hex(&digest)),
                text,
                hex,
            },
        }
    }
}

/// Something unusual that happened.
#[derive(Serialize)]
pub(crate) struct EventJson {
    at: String,
    fence: u64,
    event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_fence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    how: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<OutcomeJson>,
}

impl EventJson {
    pub(crate) fn of(event: &Event, payload: Payload) -> Self {
        let mut json = Self {
            at: event.at.to_string(),
            fence: event.fence.get(),
            event: event.kind.name(),
            from_fence: None,
            cause: None,
            by: None,
            how: None,
            fingerprint: None,
            outcome: None,
        };
        match &event.kind {
            EventKind::TookOver { from } => json.from_fence = Some(from.get()),
            EventKind::Released => {}
            EventKind::BecameUnknown(cause) => json.cause = Some(cause.name()),
            EventKind::Resolved { by, how } => {
                json.by = Some(by.clone());
                json.how = Some(match how {
                    Resolved::Settled => "settled",
                    Resolved::Released => "released",
                });
            }
            EventKind::LateOutcome(outcome) => {
                json.outcome = Some(OutcomeJson::of(outcome, payload));
            }
            EventKind::Mismatch(found) => json.fingerprint = Some(text::hex(found.as_bytes())),
            EventKind::Erased { by } => json.by = Some(by.clone()),
        }
        json
    }
}
