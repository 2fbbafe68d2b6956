//! Every verb but the claim: settle and renew in one statement where all is as it should be, and all
//! else decided under the rows' locks.

use std::collections::{HashMap, HashSet};

use semel_core::protocol::{self, Step};
use semel_core::record::Claim;
use semel_core::store::batcher::Item;
use semel_core::store::{
    MarkAnswer, MarkRequest, ReleaseAnswer, RenewAnswer, RenewRequest, ResolveAnswer,
    ResolveRequest, SettleAnswer, SettleRequest,
};
use semel_core::{Fence, Identity, Outcome, Record, Timestamp};
use uuid::Uuid;

use crate::engine::{Attempt, Engine, identities};
use crate::link::{Failure, Link};
use crate::rows::{OutcomeColumns, digest, sql_fence, sql_ms};
use crate::session::Session;
use crate::value::Value;

/// An item of a verb that the owner of a claim, or an operator, sends about it.
pub(crate) trait About: Send + Sync {
    type Answer: Send;

    fn claim(&self) -> &Claim;

    /// What the protocol says. `highest` is a fence that no granted claim of the identity exceeds.
    fn decide(
        &self,
        current: Option<&Record>,
        highest: Fence,
        now: Timestamp,
    ) -> Step<Self::Answer>;

    /// How many bytes it brings along.
    fn bytes(&self) -> usize;
}

macro_rules! about {
    ($item:ident -> $answer:ident, $claim:expr, $bytes:expr, $decide:expr) => {
        impl About for $item {
            type Answer = $answer;

            fn claim(&self) -> &Claim {
                let of: fn(&Self) -> &Claim = $claim;
                of(self)
            }

            fn decide(
                &self,
                current: Option<&Record>,
                highest: Fence,
                now: Timestamp,
            ) -> Step<$answer> {
                let decide: fn(&Self, Option<&Record>, Fence, Timestamp) -> Step<$answer> = $decide;
                decide(self, current, highest, now)
            }

            fn bytes(&self) -> usize {
                let bytes: fn(&Self) -> usize = $bytes;
                bytes(self)
            }
        }

        impl Item for Sent<$item> {
            type Answer = $answer;

            fn identity(&self) -> &Identity {
                &self.0.claim().identity
            }

            fn bytes(&self) -> usize {
                self.0.bytes()
            }
        }
    };
}

/// An item on its way.
#[derive(Debug)]
pub(crate) struct Sent<I>(pub(crate) I);

about!(RenewRequest -> RenewAnswer, |item| &item.claim, |_| 0, |item, current, _, now| {
    protocol::renew(current, item.claim.fence, item.lease, now)
});
about!(SettleRequest -> SettleAnswer, |item| &item.claim, |item| weight(&item.outcome), |item, current, highest, now| {
    protocol::settle(current, item, highest, now)
});
about!(Claim -> ReleaseAnswer, |item| item, |_| 0, |item, current, _, now| {
    protocol::release(current, item.fence, now)
});
about!(MarkRequest -> MarkAnswer, |item| &item.claim, |_| 0, |item, current, _, now| {
    protocol::mark_unknown(current, item, now)
});
about!(ResolveRequest -> ResolveAnswer, |item| &item.claim, |_| 0, |item, current, _, now| {
    protocol::resolve(current, item, now)
});

/// How many bytes of an outcome are sent.
pub(crate) fn weight(outcome: &Outcome) -> usize {
    outcome.body.kept().map_or(0, bytes::Bytes::len)
}

/// One try of a batch in which nothing is usual.
pub(crate) struct Decisions;

impl<I: About> Attempt<Sent<I>, I::Answer> for Decisions {
    async fn on(
        &self,
        engine: &Engine,
        link: &mut Link,
        items: &[Sent<I>],
    ) -> Result<Vec<I::Answer>, Failure> {
        let items: Vec<&I> = items.iter().map(|item| &item.0).collect();
        decide(engine, link, &items).await
    }
}

async fn decide<I: About>(
    engine: &Engine,
    link: &mut Link,
    items: &[&I],
) -> Result<Vec<I::Answer>, Failure> {
    link.begin().await?;
    let mut session = Session::new(link, &engine.sql);
    let decided = decide_in(&mut session, items).await;
    let ended = std::mem::take(&mut session.ended);
    let (answers, now) = link.end(decided).await?;
    engine.heard(now);
    engine.ended(&ended);
    Ok(answers)
}

async fn decide_in<I: About>(
    session: &mut Session<'_, Link>,
    items: &[&I],
) -> Result<(Vec<I::Answer>, Timestamp), Failure> {
    let locked = session
        .lock(&identities(items, |item| &item.claim().identity))
        .await?;
    let now = session.now().await?;
    let mut answers = Vec::with_capacity(items.len());
    for item in items {
        let identity = &item.claim().identity;
        let stored = locked.get(&digest(identity));
        let current = stored.and_then(|stored| stored.record.as_ref());
        let highest = session.highest(stored).await?;
        let step = item.decide(current, highest, now);
        answers.push(session.finish(identity, stored, step, 0, now).await?);
    }
    Ok((answers, now))
}

/// One try of a batch of settles.
pub(crate) struct Settles;

impl Attempt<Sent<SettleRequest>, SettleAnswer> for Settles {
    async fn on(
        &self,
        engine: &Engine,
        link: &mut Link,
        items: &[Sent<SettleRequest>],
    ) -> Result<Vec<SettleAnswer>, Failure> {
        let values = settle_values(items);
        let rows = match items.len() {
            1 => {
                link.ask_alone(&engine.sql.settle_alone, &values.map(Value::alone))
                    .await?
            }
            _ => link.ask_alone(&engine.sql.settle, &values).await?,
        };
        let settled: HashSet<Uuid> = rows
            .iter()
            .map(|row| row.digest(0))
            .collect::<Result<_, _>>()?;
        let usual = |item: &Sent<SettleRequest>| {
            let settled = settled.contains(&digest(item.identity()));
            settled.then_some(SettleAnswer::Settled)
        };
        completed(engine, link, items, usual).await
    }
}

/// One try of a batch of renewals.
pub(crate) struct Renewals;

impl Attempt<Sent<RenewRequest>, RenewAnswer> for Renewals {
    async fn on(
        &self,
        engine: &Engine,
        link: &mut Link,
        items: &[Sent<RenewRequest>],
    ) -> Result<Vec<RenewAnswer>, Failure> {
        let terms = items.iter().map(|item| Some(sql_ms(item.0.lease.get())));
        let [digests, fences] = claim_values(items);
        let params = [digests, fences, Value::Ints(terms.collect())];
        let rows = link.ask_alone(&engine.sql.renew, &params).await?;
        let mut renewed = HashMap::with_capacity(rows.len());
        for row in &rows {
            renewed.insert(row.digest(0)?, Timestamp::from_millis(row.number(1)?));
        }
        let usual = |item: &Sent<RenewRequest>| {
            let until = renewed.get(&digest(item.identity()));
            until.copied().map(RenewAnswer::Renewed)
        };
        completed(engine, link, items, usual).await
    }
}

/// The usual answers where there are any, decisions for the rest.
async fn completed<I: About>(
    engine: &Engine,
    link: &mut Link,
    items: &[Sent<I>],
    usual: impl Fn(&Sent<I>) -> Option<I::Answer>,
) -> Result<Vec<I::Answer>, Failure> {
    let answers: Vec<Option<I::Answer>> = items.iter().map(usual).collect();
    let unanswered = items
        .iter()
        .zip(&answers)
        .filter(|(_, answer)| answer.is_none());
    let rest: Vec<&I> = unanswered.map(|(item, _)| &item.0).collect();
    let mut decided = match rest.is_empty() {
        true => Vec::new(),
        false => decide(engine, link, &rest).await?,
    }
    .into_iter();
    let filled = answers
        .into_iter()
        .map(|answer| answer.or_else(|| decided.next()));
    Ok(filled.flatten().collect())
}

fn claim_values<I: About>(items: &[Sent<I>]) -> [Value; 2] {
    let claims = || items.iter().map(|item| item.0.claim());
    [
        Value::Uuids(claims().map(|claim| digest(&claim.identity)).collect()),
        Value::Ints(claims().map(|claim| Some(sql_fence(claim.fence))).collect()),
    ]
}

fn settle_values(items: &[Sent<SettleRequest>]) -> [Value; 10] {
    let ints = |of: &dyn Fn(&SettleRequest) -> i64| {
        Value::Ints(items.iter().map(|item| Some(of(&item.0))).collect())
    };
    let columns = items
        .iter()
        .map(|Sent(item)| OutcomeColumns::of(&item.outcome, item.retention.archive()));
    let [flags, status, headers, bodies, lens, digests] = OutcomeColumns::arrays(columns);
    let [identities, fences] = claim_values(items);
    [
        identities,
        fences,
        ints(&|item| sql_ms(item.retention.keep())),
        ints(&|item| i64::try_from(item.took.as_millis()).unwrap_or(i64::MAX)),
        flags,
        status,
        headers,
        bodies,
        lens,
        digests,
    ]
}
