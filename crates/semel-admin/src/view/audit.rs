//! What was done by hand, to records and to messages.

use semel_core::store;
use serde::Serialize;
use utoipa::ToSchema;

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
