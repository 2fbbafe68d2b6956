//! What was decided about many records, or would be.

use semel_core::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::Record;
use crate::records;

/// What was decided about many records, or would be.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ManyReport)]
pub struct Many {
    /// `resolve`, `release` or `erase`.
    action: &'static str,
    /// Whether nothing was changed because only a forecast was asked for.
    dry_run: bool,
    /// Records that the selection names: unknown ones, or for `erase` settled and archived ones that have contents.
    matched: u64,
    /// Records that were decided, or whose contents were erased.
    changed: u64,
    /// Records that changed between the look and the decision, and were left alone.
    refused: u64,
    /// For `erase`: running and unknown records that the selection names, as far as this call has counted them, which it does after all others. They keep
    /// what they hold. A record past its retention that was not swept yet is in no list, and so not among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsettled: Option<u64>,
    /// What became unknown or was settled after this moment is left alone; as `older_than`, it decides what a dry run has shown.
    until: String,
    /// Some of those that matched, at most 10.
    sample: Vec<Record>,
    /// Ask again with `before` set to this to go on; null if that was all.
    next: Option<String>,
}

impl Many {
    /// The report on a decision, or on a dry run without one.
    pub fn of(
        report: &records::Report,
        action: &'static str,
        dry_run: bool,
        (until, now): (Timestamp, Timestamp),
    ) -> Self {
        Self {
            action,
            dry_run,
            matched: report.matched,
            changed: report.changed,
            refused: report.refused,
            unsettled: (action == "erase").then_some(report.unsettled),
            until: until.to_string(),
            sample: report
                .sample
                .iter()
                .map(|record| Record::of(record, now))
                .collect(),
            next: report.next.as_ref().map(ToString::to_string),
        }
    }
}
