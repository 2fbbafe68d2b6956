//! Every verb but the claim: settle and renew in one statement where all is as it should be, and all
//! else decided under the rows' locks.

use std::collections::{HashMap, HashSet};

use semel_core::protocol::{self, Change, Step};
use semel_core::record::Claim;
use semel_core::store::batcher::Item;
use semel_core::store::{
    MarkAnswer, MarkRequest, ReleaseAnswer, RenewAnswer, RenewRequest, Resolution, ResolveAnswer,
    ResolveRequest, SettleAnswer, SettleRequest,
};
use semel_core::{Fence, Identity, Outcome, Record, Timestamp};
use uuid::Uuid;

use crate::connection::{Failure, Link, Wait};
use crate::engine::{Engine, Tried, Verb, identities};
use crate::records::{OutcomeColumns, digest, sql_fence, sql_ms};
use crate::session::Session;
use crate::value::Value;

/// An item of a verb that the owner of a claim, or an operator, sends about it.
pub(crate) trait About: Clone + Send + Sync {
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

    /// Whether it is also about what the archive has of its claim.
    fn reaches_the_archive(&self) -> bool {
        false
    }
}

macro_rules! about {
    ($item:ident -> $answer:ident, $claim:expr, $bytes:expr, $decide:expr $(; $more:item)?) => {
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

            $($more)?
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
#[derive(Debug, Clone)]
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
}; fn reaches_the_archive(&self) -> bool {
    matches!(self.resolution, Resolution::EraseContents)
});

/// How many bytes of an outcome are sent.
pub(crate) fn weight(outcome: &Outcome) -> usize {
    outcome.body.kept().map_or(0, bytes::Bytes::len)
}

/// One try of a batch in which nothing is usual.
pub(crate) struct Decisions;

impl<I: About> Verb<Sent<I>, I::Answer> for Decisions
where
    Sent<I>: Item<Answer = I::Answer>,
{
    async fn on(
        &self,
        engine: &Engine,
        link: &mut Link,
        items: &[&Sent<I>],
        wait: Wait,
    ) -> Tried<I::Answer> {
        completed(engine, link, items, wait, |_| None).await
    }
}

async fn decide<I: About>(
    engine: &Engine,
    link: &mut Link,
    items: &[&I],
    wait: Wait,
) -> Result<Vec<I::Answer>, Failure> {
    link.begin_for(wait).await?;
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
        let mut step = item.decide(current, highest, now);
        if item.reaches_the_archive()
            && step.change == Change::None
            && let Some(archived) = session.archived(item.claim()).await?
        {
            step = item.decide(Some(&archived), highest, now);
            session.erase_archived(item.claim(), &mut step).await?;
        }
        answers.push(session.finish(identity, stored, step, 0, now).await?);
    }
    Ok((answers, now))
}

/// One try of a batch of settles.
pub(crate) struct Settles;

impl Verb<Sent<SettleRequest>, SettleAnswer> for Settles {
    async fn on(
        &self,
        engine: &Engine,
        link: &mut Link,
        items: &[&Sent<SettleRequest>],
        wait: Wait,
    ) -> Tried<SettleAnswer> {
        let settled = match wait {
            Wait::Briefly => settle(engine, link, items).await,
            Wait::Patiently => Ok(HashSet::new()),
        };
        let settled = match settled {
            Ok(settled) => settled,
            Err(failure) => return Tried::new(items.len()).failed(failure),
        };
        completed(engine, link, items, wait, |item| {
            let settled = settled.contains(&digest(item.identity()));
            settled.then_some(SettleAnswer::Settled)
        })
        .await
    }
}

/// Settles what is as it should be, and tells which that was.
async fn settle(
    engine: &Engine,
    link: &mut Link,
    items: &[&Sent<SettleRequest>],
) -> Result<HashSet<Uuid>, Failure> {
    let values = settle_values(items);
    let sql = &engine.sql;
    let rows = match items.len() {
        1 => {
            link.ask_alone(&sql.settle_alone, &values.map(Value::alone))
                .await?
        }
        _ => link.ask_alone(&sql.settle, &values).await?,
    };
    let settled = rows.iter().map(|row| row.digest(0));
    Ok(settled.collect::<Result<_, _>>()?)
}

/// One try of a batch of renewals.
pub(crate) struct Renewals;

impl Verb<Sent<RenewRequest>, RenewAnswer> for Renewals {
    async fn on(
        &self,
        engine: &Engine,
        link: &mut Link,
        items: &[&Sent<RenewRequest>],
        wait: Wait,
    ) -> Tried<RenewAnswer> {
        let renewed = match wait {
            Wait::Briefly => renew(engine, link, items).await,
            Wait::Patiently => Ok(HashMap::new()),
        };
        let renewed = match renewed {
            Ok(renewed) => renewed,
            Err(failure) => return Tried::new(items.len()).failed(failure),
        };
        completed(engine, link, items, wait, |item| {
            let until = renewed.get(&digest(item.identity()));
            until.copied().map(RenewAnswer::Renewed)
        })
        .await
    }
}

/// Renews what is as it should be, and tells until when.
async fn renew(
    engine: &Engine,
    link: &mut Link,
    items: &[&Sent<RenewRequest>],
) -> Result<HashMap<Uuid, Timestamp>, Failure> {
    let terms = items.iter().map(|item| Some(sql_ms(item.0.lease.get())));
    let [digests, fences] = claim_values(items);
    let params = [digests, fences, Value::Ints(terms.collect())];
    let rows = link.ask_alone(&engine.sql.renew, &params).await?;
    let mut renewed = HashMap::with_capacity(rows.len());
    for row in &rows {
        renewed.insert(row.digest(0)?, Timestamp::from_millis(row.number(1)?));
    }
    Ok(renewed)
}

/// The usual answers where there are any, decisions for the rest.
async fn completed<I: About>(
    engine: &Engine,
    link: &mut Link,
    items: &[&Sent<I>],
    wait: Wait,
    usual: impl Fn(&Sent<I>) -> Option<I::Answer>,
) -> Tried<I::Answer> {
    let mut tried = Tried::new(items.len());
    for (answer, item) in tried.answers.iter_mut().zip(items) {
        *answer = usual(item);
    }
    let open = tried.open();
    if open.is_empty() {
        return tried;
    }
    let rest: Vec<&I> = open.iter().map(|place| &items[*place].0).collect();
    match decide(engine, link, &rest, wait).await {
        Ok(decided) => {
            for (place, answer) in open.into_iter().zip(decided) {
                tried.answers[place] = Some(answer);
            }
            tried
        }
        Err(failure) => tried.failed(failure),
    }
}

fn claim_values<I: About>(items: &[&Sent<I>]) -> [Value; 2] {
    let claims = || items.iter().map(|item| item.0.claim());
    [
        Value::Uuids(claims().map(|claim| digest(&claim.identity)).collect()),
        Value::Ints(claims().map(|claim| Some(sql_fence(claim.fence))).collect()),
    ]
}

fn settle_values(items: &[&Sent<SettleRequest>]) -> [Value; 10] {
    let ints = |of: &dyn Fn(&SettleRequest) -> i64| {
        Value::Ints(items.iter().map(|item| Some(of(&item.0))).collect())
    };
    let columns = items
        .iter()
        .map(|item| &item.0)
        .map(|item| OutcomeColumns::of(&item.outcome, item.retention.archive()));
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
