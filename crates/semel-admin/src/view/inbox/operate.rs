//! What operators did, or would do.

use semel_core::{inbox, store};
use serde::Serialize;
use utoipa::ToSchema;

/// What an operation did, or would do.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = OperationReport)]
pub struct Report {
    /// `retry`, `retry-with-new-key`, `park`, `unpark`, `skip`, `replay` or `rebuild`.
    action: &'static str,
    /// Whose messages, as `name@version`.
    consumer: String,
    /// Whether nothing was changed because only a forecast was asked for.
    dry_run: bool,
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
    /// Whether there are more than one call changes: ask again.
    more: bool,
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
            matched: report.matched,
            changed: report.changed,
            skipped: report.skipped,
            settled: report.settled,
            older: report.older,
            waiting: report.waiting,
            conflicts: report.conflicts,
            gone: report.gone,
            more: report.more,
            sample: report.sample.iter().map(id).collect(),
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

/// The audit, the newest first.
#[derive(Debug, Serialize, ToSchema)]
pub struct Audit {
    /// The lines.
    audit: Vec<AuditEntry>,
}

/// A line of the audit.
#[derive(Debug, Serialize, ToSchema)]
pub struct AuditEntry {
    /// When.
    at: String,
    /// Who.
    by: String,
    /// With which verb of which tool.
    verb: String,
    /// What was done.
    action: String,
    /// On which scope, as `name@version`: the operation of a key, the consumer of messages.
    scope: String,
    /// Which keys or messages, in words.
    selection: String,
    /// How many changed.
    changed: u64,
    /// Why.
    reason: Option<String>,
}

impl Audit {
    /// The lines as they were written.
    pub fn of(lines: &[store::AuditEntry]) -> Self {
        let line = |line: &store::AuditEntry| AuditEntry {
            at: line.at.to_string(),
            by: line.by.clone(),
            verb: line.verb.clone(),
            action: line.action.clone(),
            scope: line.scope.to_string(),
            selection: line.selection.clone(),
            changed: line.changed,
            reason: line.reason.clone(),
        };
        Self {
            audit: lines.iter().map(line).collect(),
        }
    }
}
