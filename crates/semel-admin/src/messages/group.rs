//! Acts on a whole group of failures.
//!
//! A group narrows what an act is about and never widens it: everything else that the act names must hold as well. It is looked up anew in every step, and
//! what changed since the look is left alone, so that a message that fails in another way by now is not meant any more.

use std::collections::{BTreeMap, BTreeSet};

use semel_core::inbox::operate::SELECT_IDS_MAX;
use semel_core::inbox::{Action, Cause, Entry, Inbox, Operation, Query, Report, Selection, State};
use semel_core::{Error, Key, Result, Tenant};

use super::failures::{FAILED, Named, walk};

/// The most tenants whose messages of a group one step changes.
const TENANTS_MAX: usize = 100;

/// What an act on a group finds of it.
struct Members {
    /// The newest first.
    entries: Vec<Entry>,
    cause: Option<Cause>,
    /// The group in words.
    words: String,
    /// Whether there are older failures that were not looked at.
    is_cut: bool,
}

/// Carries an operation out on the messages of a group that it names, at most [`SELECT_IDS_MAX`] of them. What stays as it is does not count, so that every
/// step comes further. The report says if there are more.
pub(super) async fn operate(
    inbox: &dyn Inbox,
    operation: &Operation,
    group: &str,
) -> Result<Report> {
    check(operation)?;
    let mut total = Report::default();
    let states = states(operation);
    if states.is_empty() {
        return Ok(total);
    }
    let found = members(inbox, operation, &states, group).await?;
    let mut left = found.entries.as_slice();
    while !left.is_empty() && total.changed == 0 {
        let (step, rest) = left.split_at(step_len(left));
        carry_out(inbox, operation, &states, (&found, step), &mut total).await?;
        left = rest;
    }
    total.more |= found.is_cut || !left.is_empty();
    Ok(total)
}

/// A group says which messages are meant, so ids do not.
fn check(operation: &Operation) -> Result<()> {
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

/// The states of failures that the operation is for and names.
fn states(operation: &Operation) -> Vec<State> {
    let named = &operation.select.states;
    let is_meant = |state: &State| {
        operation.action.states().contains(state) && (named.is_empty() || named.contains(state))
    };
    FAILED.into_iter().filter(is_meant).collect()
}

async fn members(
    inbox: &dyn Inbox,
    operation: &Operation,
    states: &[State],
    group: &str,
) -> Result<Members> {
    let select = &operation.select;
    let query = Query {
        states: states.to_vec(),
        consumer: Some(operation.plan.consumer.clone()),
        lane: select.lane.clone(),
        cause: select.cause,
        tenant: select.tenant.as_ref().map(Tenant::new).transpose()?,
        from: select.from,
        until: select.until,
        ..Query::default()
    };
    let mut found = Members {
        entries: Vec::new(),
        cause: None,
        words: group.to_owned(),
        is_cut: false,
    };
    let stood = |entry: &Entry| {
        let since = select.unchanged_since;
        since.is_none_or(|since| entry.changed_at <= since)
    };
    let looked = walk(inbox, query, |entry| {
        let name = Named::of(&entry);
        if name.id == group && stood(&entry) {
            found.cause = entry.cause;
            found.words = format!("{group} ({})", name.error);
            found.entries.push(entry);
        }
    });
    found.is_cut = looked.await?.is_cut;
    Ok(found)
}

/// How many of these messages one step is about.
fn step_len(entries: &[Entry]) -> usize {
    let mut tenants = BTreeSet::new();
    let most = entries.iter().take(SELECT_IDS_MAX);
    let fitting = most.take_while(|entry| {
        tenants.insert(entry.identity.tenant().as_str());
        tenants.len() <= TENANTS_MAX
    });
    fitting.count()
}

/// One call for each tenant, because ids name the messages of one.
async fn carry_out(
    inbox: &dyn Inbox,
    operation: &Operation,
    states: &[State],
    (found, step): (&Members, &[Entry]),
    total: &mut Report,
) -> Result<()> {
    let mut of_tenants: BTreeMap<&str, Vec<Key>> = BTreeMap::new();
    for entry in step {
        let tenant = entry.identity.tenant().as_str();
        let ids = of_tenants.entry(tenant).or_default();
        ids.push(entry.identity.key().clone());
    }
    // What changed between this look and the change is not what was found, whatever the caller's clock says.
    let looked = step.iter().map(|entry| entry.changed_at).max();
    for (tenant, ids) in of_tenants {
        let select = Selection {
            ids,
            tenant: Some(tenant.to_owned()),
            states: states.to_vec(),
            cause: found.cause,
            unchanged_since: operation.select.unchanged_since.min(looked).or(looked),
            group: Some(found.words.clone()),
            ..operation.select.clone()
        };
        let part = Operation {
            select,
            ..operation.clone()
        };
        let part = inbox.operate(part).await;
        add(total, part.map_err(|error| ended_by(total, error))?);
    }
    Ok(())
}

/// The error that ended a step, and how far it had come.
fn ended_by(total: &Report, error: Error) -> Error {
    match total.changed {
        0 => error,
        changed => Error::new(
            error.kind(),
            format!("after {changed} messages were changed: {error}"),
        ),
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

#[cfg(test)]
mod tests {
    use semel_core::Kind;

    use super::*;

    #[test]
    fn an_error_says_how_far_a_step_had_come() {
        let away = || Error::new(Kind::Unavailable, "the store is away");
        let nothing = ended_by(&Report::default(), away());
        assert!(!nothing.to_string().contains("after"), "{nothing}");
        let total = Report {
            changed: 3,
            ..Report::default()
        };
        let ended = ended_by(&total, away());
        assert!(
            ended
                .to_string()
                .contains("after 3 messages were changed: ")
        );
        assert_eq!(ended.kind(), Kind::Unavailable);
    }
}
