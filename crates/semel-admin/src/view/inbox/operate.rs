//! What operators did, or would do.

use semel_core::inbox;
use serde::Serialize;
use utoipa::ToSchema;

/// What an operation did, or would do.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OperationReport)]
pub struct Report {
    /// `retry`, `retry-with-new-key`, `edit`, `edit-with-new-key`, `park`, `unpark`, `skip`, `replay`, `rebuild` or `erase-contents`.
    action: &'static str,
    /// Whose messages, as `name@version`.
    consumer: String,
    /// Whether nothing was changed because only a forecast was asked for.
    dry_run: bool,
    /// What arrived or changed its state after this moment was left alone; repeat it to do what a dry run has shown.
    unchanged_since: Option<String>,
    /// Messages that the selection names.
    matched: u64,
    /// Messages that change.
    changed: u64,
    /// Messages that stay as they are.
    skipped: u64,
    /// Of those that stay, how many another door or an earlier attempt settled.
    settled: u64,
    /// Of those that stay, how many are versions that their lanes have gone past.
    older: u64,
    /// Of those that stay, how many wait for others of their lane; naming their ids runs them at once.
    waiting: u64,
    /// Of those that change, how many are conflicts: another payload under a known id.
    conflicts: u64,
    /// Messages that cannot run again, because their payload is no longer kept.
    gone: u64,
    /// Whether there may be more than one call changes: ask again.
    more: bool,
    /// Of a group: failures that were received before this moment were not looked at, and asking again does not reach them; with this as `until` it does. Null if
    /// all were looked at.
    unseen_before: Option<String>,
    /// The ids of some of those that change, at most 10.
    sample: Vec<String>,
}

impl Report {
    /// The report on an operation.
    pub fn of(report: &inbox::Report, operation: &inbox::Operation) -> Self {
        let id = |identity: &semel_core::Identity| identity.key().to_string();
        Self {
            action: operation.action.name(),
            consumer: operation.plan.consumer.to_string(),
            dry_run: operation.dry_run,
            unchanged_since: operation.select.unchanged_since.map(|at| at.to_string()),
            matched: report.matched,
            changed: report.changed,
            skipped: report.skipped,
            settled: report.settled,
            older: report.older,
            waiting: report.waiting,
            conflicts: report.conflicts,
            gone: report.gone,
            more: report.more,
            unseen_before: None,
            sample: report.sample.iter().map(id).collect(),
        }
    }

    /// The same of an act that may have been on a group.
    pub fn done(done: &crate::messages::Done, operation: &inbox::Operation) -> Self {
        Self {
            unseen_before: done.unseen_before.map(|at| at.to_string()),
            ..Self::of(&done.report, operation)
        }
    }
}

/// What an edit did, or would do.
#[derive(Debug, Serialize, ToSchema)]
pub struct EditReport {
    /// Whether the message runs again.
    report: Report,
    /// Which of the message's edits this is, or would be, from 1.
    version: u32,
    /// How many bytes the payload had that ran before.
    before_bytes: u64,
    /// How many bytes the payload has that runs now.
    after_bytes: u64,
    /// BLAKE3 of the payload that runs now.
    after_blake3: String,
}

impl EditReport {
    /// The report on an edit of a message as it was before.
    pub fn of(
        report: &inbox::Report,
        operation: &inbox::Operation,
        before: &inbox::Detail,
    ) -> Self {
        let after = operation.edit.as_ref().map(|edit| edit.payload().clone());
        let after = after.unwrap_or_default();
        let current = crate::messages::current(before);
        Self {
            report: Report::of(report, operation),
            version: before.edits.last().map_or(0, |edited| edited.version) + 1,
            before_bytes: current.map_or(0, |(payload, _)| payload.len() as u64),
            after_bytes: after.len() as u64,
            after_blake3: blake3::hash(&after).to_hex().to_string(),
        }
    }
}

/// Whether a consumer runs its messages.
#[derive(Debug, Serialize, ToSchema)]
pub struct PauseReport {
    /// Whose messages, as `name@version`.
    consumer: String,
    /// Whether it is paused now.
    paused: bool,
    /// Whether that was otherwise before.
    changed: bool,
}

impl PauseReport {
    /// What a pause or its end came to.
    pub fn of(consumer: &semel_core::Scope, paused: bool, changed: bool) -> Self {
        Self {
            consumer: consumer.to_string(),
            paused,
            changed,
        }
    }
}
