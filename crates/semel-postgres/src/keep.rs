//! Outcomes of claims that another store granted: the durable half of a hybrid.
//!
//! A bar is a vacant row with its fence. Whoever keeps or bars holds the row's lock, so the two never pass each other.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use semel_core::record::{Claim, Event};
use semel_core::store::batcher::Item;
use semel_core::store::outcomes::{
    KeepAnswer, KeepRequest, NoteRequest, OutcomeStore, Room, is_kept, room,
};
use semel_core::store::{Answers, Batch, check_batch, each_fails};
use semel_core::{Error, Fence, Identity, Kind, Result, State, Timestamp};
use uuid::Uuid;

use crate::connection::{Failure, Link, Wait};
use crate::engine::{Engine, Tried, Verb};
use crate::records::{FLAG_BARRED, OutcomeColumns, Stored, digest, sql_fence, sql_ms};
use crate::session::{Session, about_value, settled_values};
use crate::store::{PostgresStore, send};
use crate::value::Value;
use crate::verbs::decisions::{Sent, weight};

/// How often a batch looks again for a row that went away between two looks.
const LOOKS_MAX: usize = 5;

impl Item for Sent<KeepRequest> {
    type Answer = KeepAnswer;

    fn identity(&self) -> &Identity {
        &self.0.claim.identity
    }

    fn bytes(&self) -> usize {
        weight(&self.0.outcome)
    }
}

/// A bar on its way.
#[derive(Debug, Clone)]
pub(crate) struct Bar(pub(crate) Claim);

impl Item for Bar {
    type Answer = Room;

    fn identity(&self) -> &Identity {
        &self.0.identity
    }
}

/// What stands in the way of `fence`, by the row that is there.
fn room_in(stored: Option<&Stored>, claim: &Claim, now: Timestamp) -> Room {
    let record = stored.and_then(|stored| stored.record.as_ref());
    let bar = stored
        .filter(|stored| stored.record.is_none())
        .map(|stored| stored.fence);
    room(record, bar, None, claim.fence, now)
}

/// One try of a batch of keeps.
pub(crate) struct Keeps;

impl Verb<Sent<KeepRequest>, KeepAnswer> for Keeps {
    async fn on(
        &self,
        engine: &Engine,
        link: &mut Link,
        items: &[&Sent<KeepRequest>],
        wait: Wait,
    ) -> Tried<KeepAnswer> {
        let kept = async {
            link.begin_for(wait).await?;
            let mut session = Session::new(link, &engine.sql);
            let kept = keep_in(&mut session, engine, items).await;
            link.end(kept).await
        };
        Tried::whole(items.len(), kept.await)
    }
}

async fn keep_in(
    session: &mut Session<'_, Link>,
    engine: &Engine,
    items: &[&Sent<KeepRequest>],
) -> Result<Vec<KeepAnswer>, Failure> {
    let sql = session.sql;
    let rows = session.driver.ask(&sql.keep, &keep_values(items)).await?;
    let kept: HashSet<Uuid> = rows
        .iter()
        .map(|row| row.digest(0))
        .collect::<Result<_>>()?;
    let mut answers = Vec::with_capacity(items.len());
    for item in items {
        answers.push(match kept.contains(&digest(&item.0.claim.identity)) {
            true => KeepAnswer::Kept,
            false => keep_one(session, item).await?,
        });
    }
    let highest = items
        .iter()
        .map(|item| sql_fence(item.0.claim.fence))
        .max()
        .unwrap_or(0);
    if highest > engine.fence_floor.load(Ordering::Relaxed) {
        let rows = session
            .driver
            .ask(&sql.raise, &[Value::int(highest)])
            .await?;
        let floor = rows.first().map_or(Ok(0), |row| row.number(0))?;
        engine.fence_floor.fetch_max(floor, Ordering::Relaxed);
    }
    Ok(answers)
}

/// Keeps an outcome whose place is taken, be it by a row that a sweep takes away at this moment.
async fn keep_one(
    session: &mut Session<'_, Link>,
    item: &Sent<KeepRequest>,
) -> Result<KeepAnswer, Failure> {
    let (sql, identity) = (session.sql, &item.0.claim.identity);
    for _ in 0..LOOKS_MAX {
        let locked = session.lock(&[identity]).await?;
        if let Some(stored) = locked.get(&digest(identity)) {
            return keep_over(session, &item.0, stored).await;
        }
        let rows = session.driver.ask(&sql.keep, &keep_values(&[item])).await?;
        if !rows.is_empty() {
            return Ok(KeepAnswer::Kept);
        }
    }
    Err(went_away())
}

/// Keeps an outcome in the place of a locked row, if that no longer counts.
async fn keep_over(
    session: &mut Session<'_, Link>,
    item: &KeepRequest,
    stored: &Stored,
) -> Result<KeepAnswer, Failure> {
    let now = session.now().await?;
    let room = room_in(Some(stored), &item.claim, now);
    if room != Room::Open {
        return Ok(match is_kept(&room, item) {
            true => KeepAnswer::Kept,
            false => KeepAnswer::Superseded,
        });
    }
    session.archive_if_asked(stored).await?;
    let record = item.record(now);
    let State::Settled(settled) = &record.state else {
        unreachable!("a kept record is settled");
    };
    let values = [
        Value::int(sql_fence(record.fence)),
        Value::int(record.claimed_at.as_millis()),
        Value::int(record.attempt),
        Value::bytes(record.fingerprint.as_bytes()),
    ];
    let mut settled = settled_values(settled);
    if stored.record.is_none() {
        settled[3] = Value::int(columns_of(item).flags | FLAG_BARRED);
    }
    let about = about_value(item.about.as_ref());
    let values = values.into_iter().chain(settled).chain([about]);
    let sql = session.sql;
    session.change(&sql.adopt, stored, values).await?;
    Ok(KeepAnswer::Kept)
}

fn went_away() -> Failure {
    // The transaction is rolled back, and the caller tries again.
    Error::new(Kind::Unavailable, "postgres, a record went away meanwhile").into()
}

/// One try of a batch of bars.
pub(crate) struct Bars {
    /// How long a bar stays: as long as events do.
    pub(crate) keep_ms: i64,
}

impl Verb<Bar, Room> for Bars {
    async fn on(
        &self,
        engine: &Engine,
        link: &mut Link,
        items: &[&Bar],
        wait: Wait,
    ) -> Tried<Room> {
        let barred = async {
            link.begin_for(wait).await?;
            let mut session = Session::new(link, &engine.sql);
            let barred = self.bar_in(&mut session, items).await;
            link.end(barred).await
        };
        Tried::whole(items.len(), barred.await)
    }
}

impl Bars {
    async fn bar_in(
        &self,
        session: &mut Session<'_, Link>,
        items: &[&Bar],
    ) -> Result<Vec<Room>, Failure> {
        let mut rooms = Vec::with_capacity(items.len());
        for claim in items.iter().map(|bar| &bar.0) {
            rooms.push(self.bar_one(session, claim).await?);
        }
        Ok(rooms)
    }

    async fn bar_one(
        &self,
        session: &mut Session<'_, Link>,
        claim: &Claim,
    ) -> Result<Room, Failure> {
        let identity = &claim.identity;
        let sql = session.sql;
        for _ in 0..LOOKS_MAX {
            let params = bar_values(identity, Some(claim.fence), self.keep_ms);
            if !session.driver.ask(&sql.bar, &params).await?.is_empty() {
                return Ok(Room::Open);
            }
            let locked = session.lock(&[identity]).await?;
            let Some(stored) = locked.get(&digest(identity)) else {
                continue;
            };
            let now = session.now().await?;
            let room = room_in(Some(stored), claim, now);
            if room == Room::Open {
                session.archive_if_asked(stored).await?;
                let until = now.as_millis().saturating_add(self.keep_ms);
                let values = [Value::int(sql_fence(claim.fence)), Value::int(until)];
                session.change(&sql.rebar, stored, values).await?;
            }
            return Ok(room);
        }
        Err(went_away())
    }
}

/// The parameters of a bar for `keep_ms`, with a new fence if none is given.
pub(crate) fn bar_values(identity: &Identity, fence: Option<Fence>, keep_ms: i64) -> [Value; 7] {
    [
        Value::Uuid(Some(digest(identity))),
        Value::text(identity.tenant().as_str()),
        Value::text(identity.scope().name()),
        Value::int(identity.scope().version()),
        Value::text(identity.key().as_str()),
        Value::Int(fence.map(sql_fence)),
        Value::int(keep_ms),
    ]
}

fn columns_of(item: &KeepRequest) -> OutcomeColumns {
    OutcomeColumns::of(&item.outcome, item.retention.archive()).resolved(item.resolved)
}

fn keep_values(items: &[&Sent<KeepRequest>]) -> Vec<Value> {
    let identities = || items.iter().map(|item| &item.0.claim.identity);
    let ints = |of: &dyn Fn(&KeepRequest) -> i64| {
        Value::Ints(items.iter().map(|item| Some(of(&item.0))).collect())
    };
    let prints = items
        .iter()
        .map(|item| Some(Bytes::copy_from_slice(item.0.fingerprint.as_bytes())));
    let columns = items.iter().map(|item| columns_of(&item.0));
    let abouts = items.iter().map(|item| item.0.about.as_ref());
    let abouts = abouts.map(|about| about.map(|about| about.as_str().to_owned()));
    let mut values = vec![
        Value::Uuids(identities().map(digest).collect()),
        Value::texts(identities().map(|i| i.tenant().as_str())),
        Value::texts(identities().map(|i| i.scope().name())),
        Value::Ints(
            identities()
                .map(|i| Some(i64::from(i.scope().version())))
                .collect(),
        ),
        Value::texts(identities().map(|i| i.key().as_str())),
        Value::ByteStrings(prints.collect()),
        ints(&|item| sql_fence(item.claim.fence)),
        ints(&|item| i64::from(item.attempt)),
        ints(&|item| item.claimed_at.as_millis()),
        ints(&|item| sql_ms(item.retention.keep())),
        ints(&|item| i64::try_from(item.took.as_millis()).unwrap_or(i64::MAX)),
    ];
    values.extend(OutcomeColumns::arrays(columns));
    values.push(Value::Texts(abouts.collect()));
    values
}

impl OutcomeStore for PostgresStore {
    fn check(&self, items: Batch<Claim>) -> Answers<'_, Room> {
        Box::pin(async move {
            let identities = items.iter().map(|claim| claim.identity.clone());
            let found = self.load(identities.collect()).await;
            let rooms = items.iter().zip(found).map(|(claim, found)| {
                Ok(match found? {
                    Some((stored, now)) => room_in(Some(&stored), claim, now),
                    None => Room::Open,
                })
            });
            rooms.collect()
        })
    }

    fn keep(&self, items: Batch<KeepRequest>) -> Answers<'_, KeepAnswer> {
        send(&self.keeps, items, Sent)
    }

    fn bar(&self, items: Batch<Claim>) -> Answers<'_, Room> {
        send(&self.bars, items, Bar)
    }

    /// Notes are rare and go together or not at all.
    fn note(&self, items: Batch<NoteRequest>) -> Answers<'_, ()> {
        Box::pin(async move {
            let noted = match check_batch(items.len()) {
                Ok(()) => self.note_all(&items).await,
                Err(error) => Err(error),
            };
            match noted {
                Ok(()) => items.iter().map(|_| Ok(())).collect(),
                Err(error) => each_fails(items.len(), &error),
            }
        })
    }
}

impl PostgresStore {
    async fn note_all(&self, items: &[NoteRequest]) -> Result<()> {
        let failed = |failure: Failure| failure.into_error("noting an event");
        let mut link = self.engine().links.get().await?;
        link.begin().await.map_err(failed)?;
        let mut session = Session::new(&mut link, &self.engine().sql);
        let noted = note_in(&mut session, items).await;
        link.end(noted).await.map_err(failed)
    }
}

async fn note_in(session: &mut Session<'_, Link>, items: &[NoteRequest]) -> Result<(), Failure> {
    let at = session.now().await?;
    for NoteRequest { claim, kind } in items {
        let (fence, kind) = (claim.fence, kind.clone());
        session
            .remember(&claim.identity, &Event { at, fence, kind })
            .await?;
    }
    Ok(())
}
