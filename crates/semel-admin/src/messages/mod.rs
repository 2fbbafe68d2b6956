//! What people do with messages, for the API, the dashboard and the command line: edits, failures in groups, and acts on a whole group.

mod diff;
mod edit;
mod failures;
mod group;

pub use diff::{LineEnds, diff};
pub use edit::{Wanted, current};
pub use failures::{Failures, GROUPS_MAX, Group, WALK_MAX, failures, failures_of};

use semel_core::Result;
use semel_core::inbox::{Inbox, Operation, Report};

/// Carries out an operation; with `group` on the messages of this group of failures, at most [`SELECT_IDS_MAX`] of them in one step. The report says
/// if there are more.
///
/// [`SELECT_IDS_MAX`]: semel_core::inbox::operate::SELECT_IDS_MAX
pub async fn operate(
    inbox: &dyn Inbox,
    operation: Operation,
    group: Option<&str>,
) -> Result<Report> {
    match group {
        Some(group) => group::operate(inbox, &operation, group).await,
        None => inbox.operate(operation).await,
    }
}
