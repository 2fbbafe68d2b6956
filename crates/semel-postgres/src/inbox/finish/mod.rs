//! The ends of attempts.
//!
//! Messages of a consumer without lanes that are completed without intents go in one statement. Everything else is
//! decided under the locks of lanes and rows, and written in bulk.

mod batch;
mod end;

use std::collections::{BTreeSet, HashSet};

use semel_core::inbox::work::INTENTS_MAX;
use semel_core::inbox::{Claim, Disposition, Finish, Finished, Intent, Order, Plan};
use semel_core::{Error, Kind, Result, Scope};
use uuid::Uuid;

use super::tries::Call;
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::records::{OutcomeColumns, digest, sql_fence, sql_ms};
use crate::session::{Driver, Session};
use crate::value::Value;
use crate::verbs::decisions::weight;

/// The most bytes of outcomes that one statement carries, unless a single one is larger.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// What became of a batch.
#[derive(Debug, Default)]
pub(crate) struct FinishedBatch {
    pub(crate) answers: Vec<Finished>,
    /// Consumers for whom something became due.
    pub(crate) due: BTreeSet<Scope>,
}

/// Neither the batch nor the intents of one item are too many.
pub(crate) fn check(items: &[Finish]) -> Result<()> {
    semel_core::store::check_batch(items.len())?;
    let most = items.iter().map(|item| intents(item).len()).max();
    match most {
        Some(count) if count > INTENTS_MAX => Err(Error::new(
            Kind::Limit,
            format!("a message has at most {INTENTS_MAX} intents, found {count}"),
        )),
        _ => Ok(()),
    }
}

fn intents(item: &Finish) -> &[Intent] {
    match &item.disposition {
        Disposition::Completed { intents, .. } => intents,
        _ => &[],
    }
}

fn bytes(item: &Finish) -> usize {
    match &item.disposition {
        Disposition::Completed { outcome, .. } => weight(outcome),
        _ => 0,
    }
}

/// Whether an item may go in the one statement of the happy path.
fn is_plain(plan: &Plan, item: &Finish) -> bool {
    let completed =
        matches!(&item.disposition, Disposition::Completed { intents, .. } if intents.is_empty());
    completed && plan.order == Order::None && !plan.retention.archive()
}

/// Ends attempts, each batch of the usual in one statement.
pub(crate) async fn finish(
    engine: &Engine,
    plan: &Plan,
    items: &[Finish],
) -> Result<FinishedBatch> {
    check(items)?;
    for intent in items.iter().flat_map(intents) {
        engine.message_months(&intent.plan).await;
    }
    let mut ended = FinishedBatch::default();
    let mut answers: Vec<Option<Finished>> = vec![None; items.len()];
    let mut rest: Vec<usize> = (0..items.len()).collect();
    // A claim that comes twice is decided in the order in which it came.
    let mut seen = HashSet::new();
    let mut usual: Vec<usize> = rest
        .iter()
        .copied()
        .filter(|at| seen.insert(digest(&items[*at].claim.identity)) && is_plain(plan, &items[*at]))
        .collect();
    usual.sort_by_key(|at| digest(&items[*at].claim.identity));
    for piece in pieces(&usual, items) {
        let batch: Vec<&Finish> = piece.iter().map(|at| &items[*at]).collect();
        let done = engine
            .call(&Completing(complete_values(plan, &batch)))
            .await?;
        for at in piece {
            if done.contains(&digest(&items[*at].claim.identity)) {
                answers[*at] = Some(Finished::Done);
            }
        }
    }
    rest.retain(|at| answers[*at].is_none());
    for piece in pieces(&rest, items) {
        let items = piece.iter().map(|at| &items[*at]).collect();
        let decided = engine.call_whole(&Finishing { plan, items }).await?;
        ended.due.extend(decided.due);
        for (at, answer) in piece.iter().zip(decided.answers) {
            answers[*at] = Some(answer);
        }
    }
    ended.answers = answers.into_iter().flatten().collect();
    Ok(ended)
}

/// The happy path on its way.
struct Completing(Vec<Value>);

impl Call for Completing {
    type Answer = HashSet<Uuid>;

    const DOING: &'static str = "finishing messages";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<HashSet<Uuid>, Failure> {
        let rows = link.ask_alone(&engine.sql.inbox.complete, &self.0).await?;
        let done = rows.iter().map(|row| row.digest(0));
        Ok(done.collect::<Result<_>>()?)
    }
}

/// Everything else on its way.
struct Finishing<'a> {
    plan: &'a Plan,
    items: Vec<&'a Finish>,
}

impl Call for Finishing<'_> {
    type Answer = FinishedBatch;

    const DOING: &'static str = "finishing messages";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<FinishedBatch, Failure> {
        let mut session = Session::new(link, &engine.sql);
        session.finish_batch(self.plan, &self.items).await
    }
}

/// Pieces of a batch that one statement can carry.
fn pieces<'a>(all: &'a [usize], items: &[Finish]) -> Vec<&'a [usize]> {
    let (mut pieces, mut from, mut sum) = (Vec::new(), 0, 0);
    for (n, at) in all.iter().enumerate() {
        let more = bytes(&items[*at]);
        if n > from && sum + more > BYTES_MAX {
            pieces.push(&all[from..n]);
            (from, sum) = (n, 0);
        }
        sum += more;
    }
    pieces.push(&all[from..]);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Gives claims back that nobody began. The order of their lanes is as it was: what was due is due again.
pub(crate) async fn give_back(engine: &Engine, plan: &Plan, claims: Vec<Claim>) -> Result<()> {
    let items = claims.into_iter().map(|claim| Finish {
        claim,
        took: std::time::Duration::ZERO,
        disposition: Disposition::Return,
    });
    finish(engine, plan, &items.collect::<Vec<_>>())
        .await
        .map(drop)
}

fn complete_values(plan: &Plan, items: &[&Finish]) -> Vec<Value> {
    let outcomes = items.iter().filter_map(|item| match &item.disposition {
        Disposition::Completed { outcome, .. } => {
            Some(OutcomeColumns::of(outcome, plan.retention.archive()))
        }
        _ => None,
    });
    let claims = || items.iter().map(|item| &item.claim);
    let mut values = vec![
        Value::text(plan.consumer.name()),
        Value::int(plan.consumer.version()),
        Value::int(sql_ms(plan.retention.keep())),
        Value::Uuids(claims().map(|t| digest(&t.identity)).collect()),
        Value::ints(claims().map(|t| sql_fence(t.fence))),
        Value::texts(claims().map(|t| t.identity.tenant().as_str())),
        Value::texts(claims().map(|t| t.identity.key().as_str())),
        Value::ints(
            items
                .iter()
                .map(|item| i64::try_from(item.took.as_millis()).unwrap_or(i64::MAX)),
        ),
    ];
    values.extend(OutcomeColumns::arrays(outcomes));
    values
}

/// Ends attempts of one call inside the user's own transaction.
pub(crate) async fn finish_all<D: Driver>(
    session: &mut Session<'_, D>,
    plan: &Plan,
    items: &[Finish],
) -> Result<Vec<Finished>, D::Error> {
    check(items)?;
    let items: Vec<&Finish> = items.iter().collect();
    Ok(session.finish_batch(plan, &items).await?.answers)
}
