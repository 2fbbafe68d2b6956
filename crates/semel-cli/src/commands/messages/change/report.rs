//! What a change did, or would do, in words.

use semel_core::inbox::{Action, Operation, Report};

use crate::text;

/// What becomes of messages that change.
pub(super) const fn becomes(action: Action, dry_run: bool) -> &'static str {
    match (action, dry_run) {
        (Action::Retry { .. } | Action::Edit { .. }, false) => "run again",
        (Action::Retry { .. } | Action::Edit { .. }, true) => "would run again",
        (Action::Park, false) => "set aside",
        (Action::Park, true) => "would be set aside",
        (Action::Unpark, false) => "go on",
        (Action::Unpark, true) => "would go on",
        (Action::Skip, false) => "passed over for good",
        (Action::Skip, true) => "would be passed over for good",
        (Action::EraseContents, false) => "contents erased",
        (Action::EraseContents, true) => "would lose their contents",
        (Action::Replay { .. }, false) => "run once more",
        (Action::Replay { .. }, true) => "would run once more",
    }
}

/// Counts one below the other, with what is worth knowing about them.
pub(super) fn lines(operation: &Operation, report: &Report) -> String {
    let rebuilt = match operation.action {
        Action::Replay { rebuild: true } => "their keys are set back to before them",
        _ => "",
    };
    let becomes = becomes(operation.action, operation.dry_run);
    let mut lines = vec![
        (becomes, report.changed, rebuilt),
        ("unchanged", report.skipped, ""),
    ];
    let runs = !matches!(
        operation.action,
        Action::Park | Action::Skip | Action::EraseContents
    );
    if runs || report.conflicts > 0 {
        let what = "among those that change: another payload under a known id";
        lines.push(("conflicts", report.conflicts, what));
    }
    if runs || report.gone > 0 {
        lines.push(("gone", report.gone, "their payloads are no longer kept"));
    }
    text::counted(&lines)
}

/// Some of the ids.
pub(super) fn sample(report: &Report) -> String {
    let ids = report.sample.iter();
    let ids = ids.map(|identity| text::printable(identity.key().as_str()));
    ids.collect::<Vec<_>>().join(", ")
}
