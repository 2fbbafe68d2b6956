//! Messages in lists.

use semel_core::inbox::{self, Cause};
use semel_core::{Key, Timestamp};
use serde::Serialize;
use utoipa::ToSchema;

use crate::view::millis;

/// A message without its payload, headers and history.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Message)]
pub struct Entry {
    /// On whose behalf.
    tenant: String,
    /// Whose message, as `name@version`.
    consumer: String,
    /// The id that its producer gave it.
    id: String,
    /// Its place in the order of arrival.
    number: u64,
    /// `RECEIVED`, `IN_PROGRESS`, `COMPLETED`, `FAILED_RETRYABLE`, `FAILED_TERMINAL`, `PARKED` or `SKIPPED_DUPLICATE`.
    state: &'static str,
    /// Why, if that is not plain.
    cause: Option<&'static str>,
    /// The last error.
    error: Option<String>,
    /// What kind of event it is.
    event_type: Option<String>,
    /// The key that orders it among others.
    lane: Option<String>,
    /// Its number in its lane.
    sequence: Option<u64>,
    /// When it was received.
    received_at: String,
    /// How long ago that was.
    age_ms: u64,
    /// When its state last changed.
    changed_at: String,
    /// When it is due, if it waits for a time; when its lease ends, if it is in progress.
    due_at: Option<String>,
    /// Attempts since it was received, or last retried or replayed by hand.
    attempts: u32,
    /// How often it was retried or replayed by hand.
    generation: u32,
    /// How often it arrived again.
    duplicates: u64,
    /// Who works on it.
    worker: Option<String>,
    /// The length of its payload; null if the message is no longer kept.
    payload_bytes: Option<u64>,
}

impl Entry {
    /// The message as it stands at `now`.
    pub fn of(entry: &inbox::Entry, now: Timestamp) -> Self {
        Self {
            tenant: entry.identity.tenant().to_string(),
            consumer: entry.identity.scope().to_string(),
            id: entry.identity.key().to_string(),
            number: entry.number,
            state: entry.state.name(),
            cause: entry.cause.map(Cause::name),
            error: entry.error.clone(),
            event_type: entry.kind.clone(),
            lane: entry.lane.as_ref().map(Key::to_string),
            sequence: entry.sequence,
            received_at: entry.received_at.to_string(),
            age_ms: millis(now.since(entry.received_at)),
            changed_at: entry.changed_at.to_string(),
            due_at: entry.due_at.map(|due| due.to_string()),
            attempts: entry.attempts,
            generation: entry.generation,
            duplicates: entry.duplicates,
            worker: entry.worker.clone(),
            payload_bytes: entry.payload_bytes,
        }
    }
}

/// One page of messages, the newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MessagePage)]
pub struct Page {
    /// The messages.
    messages: Vec<Entry>,
    /// Ask again with `before` set to this for the next page; null on the last.
    next: Option<u64>,
}

impl Page {
    /// The page as it stands at `now`.
    pub fn of(page: &inbox::Page, now: Timestamp) -> Self {
        let entry = |entry: &inbox::Entry| Entry::of(entry, now);
        Self {
            messages: page.entries.iter().map(entry).collect(),
            next: page.next,
        }
    }
}
