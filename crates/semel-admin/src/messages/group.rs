//! Acts on a whole group of failures.
//!
//! A group narrows what an act is about and never widens it: everything else that the act names must hold as well. It is looked up anew in every step, and
//! what changed since the look is left alone, so that a message that fails in another way by now is not meant any more.

use std::collections::{BTreeMap, BTreeSet};

use semel_core::inbox::operate::SELECT_IDS_MAX;
use semel_core::inbox::{Action, Cause, Entry, Inbox, Operation, Query, Report, Selection, State};
use semel_core::{Error, Key, Result, Tenant, Timestamp};

use super::Done;
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
    /// Failures that were received before this moment were not looked at; `None` if all were.
    unseen_before: Option<Timestamp>,
}

/// Carries an operation out on the messages of a group that it names, at most [`SELECT_IDS_MAX`] of them. What stays as it is does not count, so that every
/// step comes further. The report says if another step may change more: what this one changed makes room for older failures among the newest `looks_max`, and
/// where it changed nothing the same ones would be looked at again.
pub(super) async fn operate(
    inbox: &dyn Inbox,
    operation: &Operation,
    group: &str,
    looks_max: usize,
) -> Result<Done> {
    check(operation)?;
    let mut total = Report::default();
    let states = states(operation);
    if states.is_empty() {
        return Ok(Done::default());
    }
    let found = members(inbox, operation, &states, (group, looks_max)).await?;
    let mut left = found.entries.as_slice();
    while !left.is_empty() && total.changed == 0 {
        let (step, rest) = left.split_at(step_len(left));
        carry_out(inbox, operation, &states, (&found, step), &mut total).await?;
        left = rest;
    }
    let unseen_before = found.unseen_before;
    total.more |= !left.is_empty() || (unseen_before.is_some() && total.changed > 0);
    Ok(Done {
        report: total,
        unseen_before,
    })
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
    (group, looks_max): (&str, usize),
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
        unseen_before: None,
    };
    let stood = |entry: &Entry| {
        let since = select.unchanged_since;
        since.is_none_or(|since| entry.changed_at <= since)
    };
    let looked = walk(inbox, query, looks_max, |entry| {
        let name = Named::of(&entry);
        if name.id == group && stood(&entry) {
            found.cause = entry.cause;
            found.words = format!("{group} ({})", name.error);
            found.entries.push(entry);
        }
    });
    found.unseen_before = looked.await?.unseen_before;
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
    use std::time::Duration;

    use semel_core::inbox::work::ErrorText;
    use semel_core::inbox::{
        Arrivals, ClaimBatch, Disposition, Finish, Message, Plan, UnknownPolicy, WorkerName,
    };
    use semel_core::store::Actor;
    use semel_core::{Identity, Kind, LeaseTerm};
    use semel_sqlite::SqliteStore;

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

    /// Parks messages of the mailer, each with its error.
    async fn parked(inbox: &SqliteStore, errors: &[&str]) {
        let plan = Plan::new("mailer".parse().unwrap());
        for (at, error) in errors.iter().enumerate() {
            let identity = Identity::parse("public", "mailer", &format!("m-{at}")).unwrap();
            let arrivals = Arrivals {
                plan: plan.clone(),
                messages: vec![Message::new(identity, "payload").unwrap()],
                positions: Vec::new(),
            };
            inbox.receive(arrivals).await.unwrap();
            let ask = ClaimBatch {
                plan: plan.clone(),
                worker: WorkerName::new("worker-1").unwrap(),
                max: 1,
                bytes_max: usize::MAX,
                lease: LeaseTerm::default(),
                on_unknown: UnknownPolicy::Rerun,
            };
            let job = inbox.claim_batch(ask).await.unwrap().jobs.pop().unwrap();
            let park = Finish {
                claim: job.claim,
                took: Duration::ZERO,
                disposition: Disposition::Park {
                    cause: Cause::Terminal,
                    error: ErrorText::new(error),
                },
            };
            inbox.finish(plan.clone(), vec![park]).await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_step_that_changes_nothing_is_the_last_one() {
        let dir = tempfile::tempdir().unwrap();
        let config = semel_sqlite::Config::new(dir.path().join("semel.db"));
        let inbox = config.sweep_every(None).open().unwrap();
        // The newest last.
        parked(&inbox, &["ours", "other", "ours", "other", "other", "ours"]).await;
        let mut ours = None;
        let query = Query::default();
        let looked = walk(&inbox, query, usize::MAX, |entry| {
            if entry.error.as_deref() == Some("ours") {
                ours = Some(Named::of(&entry).id);
            }
        });
        assert!(looked.await.unwrap().unseen_before.is_none());
        let skip = Operation {
            plan: Plan::new("mailer".parse().unwrap()),
            select: Selection::default(),
            action: Action::Skip,
            by: Actor::new("ada").unwrap(),
            reason: None,
            verb: "test",
            dry_run: false,
            edit: None,
        };
        let group = ours.unwrap();
        let mut steps = Vec::new();
        for _ in 0..4 {
            let done = operate(&inbox, &skip, &group, 3).await.unwrap();
            let is_cut = done.unseen_before.is_some();
            steps.push((done.report.changed, done.report.more, is_cut));
        }
        // What one step changed makes room for an older one in the next, until others stand before the last.
        assert_eq!(
            steps,
            [
                (1, true, true),
                (1, true, true),
                (0, false, true),
                (0, false, true)
            ]
        );
        let all = operate(&inbox, &skip, &group, 4).await.unwrap();
        assert_eq!((all.report.changed, all.unseen_before), (1, None));
    }
}
