//! Lanes: the messages of one tenant and consumer with one key, of which only the head is ever due.
//!
//! A transaction that changes what stands in a lane holds the lane's row, so nothing moves between a look and a decision. What moves is decided by
//! [`semel_core::inbox::lanes`]: here lanes are locked, as many rows as the rules ask for are loaded (`load`), and what they
//! changed is written (`settle`). Claims take no part in this: they only touch what is due.

mod load;
mod settle;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

pub(crate) use settle::Settled;

use semel_core::inbox::lanes::{Event, Next, Row, Spot, Window};
use semel_core::inbox::{Baseline, Message, Order, Plan};
use semel_core::{Error, Kind, Timestamp};
use uuid::Uuid;

use super::rows::Work;
use crate::records::sql_ms;
use crate::session::{Driver, Session};
use crate::value::Value;

/// Which lane of which tenant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LaneKey {
    pub(crate) lane: String,
    pub(crate) tenant: String,
}

/// Lanes of one consumer that are locked: what is known of them, and what happens to them.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    all: BTreeMap<LaneKey, Held>,
    /// The rows behind what is known, by their numbers.
    works: HashMap<i64, Work>,
}

/// A lane whose row is locked.
#[derive(Debug, Default)]
struct Held {
    window: Window,
    events: Vec<Event>,
}

impl Lanes {
    /// Lets something happen to a lane that is locked, once everything is known.
    pub(crate) fn happen(&mut self, key: &LaneKey, event: Event) -> Result<(), Error> {
        let changed = || {
            let message = "postgres, a lane changed while it was looked at";
            Error::new(Kind::Unavailable, message)
        };
        let held = self.all.get_mut(key).ok_or_else(changed)?;
        held.events.push(event);
        Ok(())
    }

    /// A row that its store has changed, to be written together with what the lane makes of it.
    pub(crate) fn keep(&mut self, work: Work) {
        self.works.insert(work.number, work);
    }

    /// The row with this number, as it is known.
    pub(crate) fn work(&self, number: i64) -> Option<&Work> {
        self.works.get(&number)
    }

    /// Whether a lane has gone past the version of a message.
    pub(crate) fn is_past(
        &mut self,
        plan: &Plan,
        key: &LaneKey,
        row: &Row,
        now: Timestamp,
    ) -> bool {
        let held = self.all.get_mut(key);
        held.is_some_and(|held| {
            let is_past = held
                .window
                .lane(plan.order, now)
                .is_past(row.spot, row.rerun);
            is_past.unwrap_or(false)
        })
    }

    fn texts(&self) -> [Value; 2] {
        texts(self.all.keys())
    }
}

fn texts<'a>(keys: impl Iterator<Item = &'a LaneKey> + Clone) -> [Value; 2] {
    [
        Value::texts(keys.clone().map(|key| key.lane.as_str())),
        Value::texts(keys.map(|key| key.tenant.as_str())),
    ]
}

/// A sequence as a column: -1 where arrival decides.
pub(crate) fn sql_sequence(sequence: Option<u64>) -> i64 {
    sequence.map_or(-1, |sequence| i64::try_from(sequence).unwrap_or(i64::MAX))
}

/// The sequence by which a message stands in a lane of this order, if it stands in one.
pub(crate) fn stands(order: Order, lane: bool, sequence: Option<u64>) -> Option<Option<u64>> {
    let has_lane = order.has_lane(lane, sequence.is_some());
    has_lane.then(|| sequence.filter(|_| matches!(order, Order::Sequence { .. })))
}

/// The lane of a message and its sequence there, if it stands in one.
pub(crate) fn home(order: Order, message: &Message) -> Option<(LaneKey, Option<u64>)> {
    let lane = message.lane()?;
    let sequence = stands(order, true, message.sequence())?;
    let key = LaneKey {
        lane: lane.to_string(),
        tenant: message.identity().tenant().to_string(),
    };
    Some((key, sequence))
}

/// How often lanes are looked for that are made or forgotten at the same moment.
const LOOKS_MAX: usize = 5;

/// The least time for which a lane is remembered that goes by sequence: how far it was applied outlives its messages.
const REMEMBERED: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// A lane that goes by arrival has nothing to remember; but one that is used often is not made anew each time.
const UNUSED: Duration = Duration::from_secs(60 * 60);

/// After how long a lane in which nothing stands is forgotten, in milliseconds. A lane whose versions begin after a given one is remembered for
/// ever: without it the next version would wait for all before it.
fn forget_after(plan: &Plan) -> Option<i64> {
    match plan.order {
        Order::None | Order::Arrival { .. } => Some(sql_ms(UNUSED)),
        Order::Sequence { baseline, .. } => match baseline {
            Baseline::After(_) => None,
            Baseline::FirstSeen => Some(sql_ms(plan.retention.keep().max(REMEMBERED))),
        },
    }
}

impl<D: Driver> Session<'_, D> {
    /// Locks lanes until the transaction ends; those that do not exist are made.
    pub(crate) async fn lock_lanes(
        &mut self,
        plan: &Plan,
        keys: BTreeSet<LaneKey>,
    ) -> Result<Lanes, D::Error> {
        if keys.is_empty() {
            return Ok(Lanes::default());
        }
        let mut params = vec![Value::text(plan.consumer.to_string())];
        params.extend(texts(keys.iter()));
        let (sql, made) = (&self.sql.inbox, Value::Int(forget_after(plan)));
        for _ in 0..LOOKS_MAX {
            let lanes = self.held(params.clone()).await?;
            if lanes.all.len() == keys.len() {
                return Ok(lanes);
            }
            // One that was there may have been forgotten just now.
            let params = params.iter().chain([&made]).cloned().collect();
            self.driver.rows(&sql.make_lanes, params).await?;
        }
        let message = "postgres, a lane is made and forgotten faster than it can be held";
        Err(Error::new(Kind::Unavailable, message).into())
    }

    async fn held(&mut self, params: Vec<Value>) -> Result<Lanes, D::Error> {
        let rows = self.driver.rows(&self.sql.inbox.lock_lanes, params).await?;
        let mut lanes = Lanes::default();
        for row in &rows {
            let key = LaneKey {
                lane: row.word(0)?.to_owned(),
                tenant: row.word(1)?.to_owned(),
            };
            let next = row
                .int(2)?
                .map(|done| Next(u64::try_from(done + 1).unwrap_or(0)));
            let held = Held {
                window: Window::new(next),
                events: Vec::new(),
            };
            lanes.all.insert(key, held);
        }
        Ok(lanes)
    }

    /// Locks the lanes in which these messages stand.
    pub(crate) async fn lock_lanes_of(
        &mut self,
        plan: &Plan,
        digests: Vec<Uuid>,
    ) -> Result<Lanes, D::Error> {
        let params = vec![Value::Uuids(digests)];
        let rows = self.driver.rows(&self.sql.inbox.lanes_of, params).await?;
        let mut keys = BTreeSet::new();
        for row in &rows {
            keys.insert(LaneKey {
                lane: row.word(0)?.to_owned(),
                tenant: row.word(1)?.to_owned(),
            });
        }
        self.lock_lanes(plan, keys).await
    }
}

impl Work {
    /// The lane that it stands in.
    pub(crate) fn lane_key(&self) -> Option<LaneKey> {
        let (lane, tenant) = (self.lane.clone()?, self.tenant.clone()?);
        Some(LaneKey { lane, tenant })
    }

    /// Where it stands in its lane.
    pub(crate) fn spot(&self) -> Spot {
        Spot {
            sequence: self
                .sequence
                .and_then(|sequence| u64::try_from(sequence).ok()),
            number: self.number,
        }
    }

    /// Its row in its lane.
    pub(crate) fn row(&self) -> Row {
        Row {
            spot: self.spot(),
            state: self.state,
            cause: self.cause,
            is_due: self.due_ms.is_some(),
            has_deadline: self.deadline_ms.is_some(),
            rerun: self.rerun(),
            received_at: Timestamp::from_millis(self.received_ms),
        }
    }
}
