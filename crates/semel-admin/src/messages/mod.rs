//! What people do with messages, for the API, the dashboard and the command line: edits, failures in groups, and acts on a whole group.

mod diff;
mod edit;
mod failures;
mod group;

pub use diff::{LineEnds, diff};
pub use edit::{Wanted, current};
pub use failures::{Failures, GROUPS_MAX, Group, WALK_MAX, failures, failures_of};

use semel_core::inbox::{Inbox, Operation, Report};
use semel_core::{Result, Timestamp};

/// What an operation came to.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// What it did, or would do.
    pub report: Report,
    /// Of an act on a group: failures that were received before this moment were not looked at. `None` if all were. To say it again does not reach them;
    /// to select what was received before this moment does.
    pub unseen_before: Option<Timestamp>,
}

/// Carries out an operation; with `group` on the messages of this group of failures, at most [`SELECT_IDS_MAX`] of them in one step. The report says
/// if there are more.
///
/// [`SELECT_IDS_MAX`]: semel_core::inbox::operate::SELECT_IDS_MAX
pub async fn operate(inbox: &dyn Inbox, operation: Operation, group: Option<&str>) -> Result<Done> {
    match group {
        Some(group) => group::operate(inbox, &operation, group, WALK_MAX).await,
        None => Ok(Done {
            report: inbox.operate(operation).await?,
            unseen_before: None,
        }),
    }
}
