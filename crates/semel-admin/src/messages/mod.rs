//! What people do with messages, for the API, the dashboard and the command line: edits, failures in groups, and acts on a whole group.

mod diff;
mod edit;
mod failures;

pub use diff::diff;
pub use edit::{Wanted, current};
pub use failures::{Failures, GROUPS_MAX, Group, WALK_MAX, failures};

use std::collections::BTreeMap;

use semel_core::inbox::operate::SELECT_IDS_MAX;
use semel_core::inbox::{Action, Inbox, Operation, Report, Selection};
use semel_core::{Error, Key, Result};

/// The most tenants whose messages of a group one step changes.
const TENANTS_MAX: usize = 100;

/// Carries out an operation; with `group` on the messages of this group of failures, at most [`SELECT_IDS_MAX`] of them in one step. The report says
/// if there are more.
pub async fn operate(
    inbox: &dyn Inbox,
    operation: Operation,
    group: Option<&str>,
) -> Result<Report> {
    let Some(group) = group else {
        return inbox.operate(operation).await;
    };
    check_group(&operation)?;
    let failures = failures(inbox, Some(&operation.plan.consumer)).await?;
    let Some(group) = failures.group(group) else {
        return Ok(Report::default());
    };
    let mut of_tenants: BTreeMap<&str, Vec<Key>> = BTreeMap::new();
    let mut more = group.count > SELECT_IDS_MAX as u64 || failures.is_cut;
    for identity in group.members.iter().take(SELECT_IDS_MAX) {
        let tenant = identity.tenant().as_str();
        match of_tenants.len() < TENANTS_MAX || of_tenants.contains_key(tenant) {
            true => of_tenants
                .entry(tenant)
                .or_default()
                .push(identity.key().clone()),
            false => more = true,
        }
    }
    let mut total = Report::default();
    for (tenant, ids) in of_tenants {
        let select = Selection {
            ids,
            tenant: Some(tenant.to_owned()),
            states: match operation.select.states.is_empty() {
                true => operation.action.states().to_vec(),
                false => operation.select.states.clone(),
            },
            // What has failed in another way since is not meant.
            cause: group.cause,
            ..operation.select.clone()
        };
        let step = Operation {
            select,
            ..operation.clone()
        };
        add(&mut total, inbox.operate(step).await?);
    }
    total.more |= more;
    Ok(total)
}

/// A group says which messages are meant, so ids do not; and naming what waits for others would run it before them.
fn check_group(operation: &Operation) -> Result<()> {
    let is_for_groups = matches!(
        operation.action,
        Action::Retry { .. } | Action::Park | Action::Skip
    );
    match (is_for_groups, operation.select.ids.is_empty()) {
        (true, true) => Ok(()),
        (false, _) => Err(Error::invalid(format!(
            "a group of failures is retried, parked or skipped, found {}",
            operation.action.name()
        ))),
        (true, false) => Err(Error::invalid("expected ids or a group, found both")),
    }
}

fn add(total: &mut Report, step: Report) {
    total.matched += step.matched;
    total.changed += step.changed;
    total.skipped += step.skipped;
    total.settled += step.settled;
    total.older += step.older;
    total.waiting += step.waiting;
    total.conflicts += step.conflicts;
    total.gone += step.gone;
    total.more |= step.more;
    let room = 10_usize.saturating_sub(total.sample.len());
    total.sample.extend(step.sample.into_iter().take(room));
}
