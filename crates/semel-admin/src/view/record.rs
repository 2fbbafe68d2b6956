//! Records, alone, in pages, and with their history.

use semel_core::{State, Timestamp, record, store};
use serde::Serialize;
use utoipa::ToSchema;

use super::{Event, Outcome, Payload, millis, status};

/// A record without its outcome's contents.
#[derive(Debug, Serialize, ToSchema)]
pub struct Record {
    /// On whose behalf.
    tenant: String,
    /// Which operation, as `name@version`.
    scope: String,
    /// Which instance of it.
    key: String,
    /// `running`, `unknown`, `succeeded` or `failed`.
    state: &'static str,
    /// How often the operation was claimed without being released.
    attempt: u32,
    /// The number of the current claim.
    fence: u64,
    /// What was asked, in a line for people: `POST /payments`; null if the caller did not say it.
    about: Option<String>,
    /// What was asked, as 64 hexadecimal digits.
    fingerprint: String,
    /// When the current claim was granted.
    claimed_at: String,
    /// How long ago that was.
    age_ms: u64,
    /// Of a running record.
    lease: Option<Lease>,
    /// Of an unknown record.
    unknown: Option<Unknown>,
    /// Of a succeeded or failed record.
    settled: Option<Settled>,
}

/// How long a running record is held.
#[derive(Debug, Serialize, ToSchema)]
pub struct Lease {
    /// When the lease ends unless it is renewed.
    until: String,
    /// How long that is from now.
    left_ms: u64,
}

/// Since when and why nobody knows.
#[derive(Debug, Serialize, ToSchema)]
pub struct Unknown {
    /// Since when.
    since: String,
    /// How long that is.
    age_ms: u64,
    /// `lease-ended`, `run-undecided` or `run-panicked`.
    cause: &'static str,
    /// What the owner of the run could still say; null if it died or had nothing to say.
    evidence: Option<Evidence>,
}

/// What the owner of a run could still say when it could not say what came of it.
#[derive(Debug, Serialize, ToSchema)]
pub struct Evidence {
    /// The status that the service answered with.
    status: Option<u16>,
    /// What went wrong.
    error: Option<String>,
    /// How long after the run began.
    after_ms: u64,
    /// All of it in words.
    says: String,
}

impl Evidence {
    pub(super) fn of(evidence: &semel_core::Evidence) -> Self {
        Self {
            status: evidence.status,
            error: evidence.error().map(str::to_owned),
            after_ms: millis(evidence.after),
            says: evidence.to_string(),
        }
    }
}

/// When a record was settled and how long it is kept.
#[derive(Debug, Serialize, ToSchema)]
pub struct Settled {
    /// When it was settled.
    at: String,
    /// How long the run took.
    took_ms: u64,
    /// When retention ends.
    expires_at: String,
    /// Whether it is archived then, rather than deleted.
    archive: bool,
    /// The HTTP status, where there is one.
    status: Option<u16>,
    /// How many bytes the body had.
    body_bytes: u64,
    /// Whether a decision put the outcome on record, rather than the run; such an outcome can be corrected.
    resolved: bool,
    /// Whether its contents were erased: headers, the body, and what was asked. Duplicates get the status without a body.
    erased: bool,
}

impl Record {
    /// The record as it stands at `now`.
    pub fn of(record: &semel_core::Record, now: Timestamp) -> Self {
        let (mut lease, mut unknown, mut settled) = (None, None, None);
        match &record.state {
            State::Running { lease_until } => {
                lease = Some(Lease {
                    until: lease_until.to_string(),
                    left_ms: millis(lease_until.since(now)),
                });
            }
            State::Unknown {
                since,
                cause,
                evidence,
            } => {
                unknown = Some(Unknown {
                    since: since.to_string(),
                    age_ms: millis(now.since(*since)),
                    cause: cause.name(),
                    evidence: evidence.as_ref().map(Evidence::of),
                });
            }
            State::Settled(found) => settled = Some(Settled::of(found)),
        }
        Self {
            tenant: record.identity.tenant().to_string(),
            scope: record.identity.scope().to_string(),
            key: record.identity.key().to_string(),
            state: record.state.name(),
            attempt: record.attempt,
            fence: record.fence.get(),
            about: record.about.as_ref().map(ToString::to_string),
            fingerprint: record.fingerprint.to_string(),
            claimed_at: record.claimed_at.to_string(),
            age_ms: millis(now.since(record.claimed_at)),
            lease,
            unknown,
            settled,
        }
    }
}

impl Settled {
    pub(super) fn of(settled: &semel_core::outcome::Settled) -> Self {
        Self {
            at: settled.at.to_string(),
            took_ms: millis(settled.took),
            expires_at: settled.expires_at.to_string(),
            archive: settled.archive,
            status: status(&settled.outcome),
            body_bytes: settled.outcome.body.len(),
            resolved: settled.resolved,
            erased: settled.erased,
        }
    }
}

/// One page of a list, the newest claim first.
#[derive(Debug, Serialize, ToSchema)]
pub struct Page {
    /// The records.
    records: Vec<Record>,
    /// Ask again with `before` set to this for the next page; null on the last.
    next: Option<String>,
}

impl Page {
    /// The page as it stands at `now`.
    pub fn of(page: &store::Page, now: Timestamp) -> Self {
        let record = |record: &semel_core::Record| Record::of(record, now);
        Self {
            records: page.records.iter().map(record).collect(),
            next: page.next.as_ref().map(ToString::to_string),
        }
    }
}

/// Everything that a store says about one operation.
#[derive(Serialize, ToSchema)]
pub struct Seen {
    /// The record; null if the operation is absent.
    record: Option<Record>,
    /// The outcome of a settled record.
    outcome: Option<Outcome>,
    /// What was unusual, oldest first.
    history: Vec<Event>,
}

impl Seen {
    /// The record and its history as they stand at `now`.
    pub fn of(
        record: Option<&semel_core::Record>,
        history: &[record::Event],
        payload: Payload,
        now: Timestamp,
    ) -> Self {
        let event = |event: &record::Event| Event::of(event, payload);
        Self {
            record: record.map(|record| Record::of(record, now)),
            outcome: record.and_then(|record| Outcome::of_record(record, payload)),
            history: history.iter().map(event).collect(),
        }
    }
}
