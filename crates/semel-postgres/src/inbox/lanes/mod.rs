//! Lanes: the messages of one consumer with one key, of which only the head is ever due.
//!
//! Whoever changes what stands in a lane holds the lane's row, so nothing moves between a look and a decision. Where
//! a new message goes is in `place`, and what happens when a head is done or stuck in `turn`; `front` has the decision
//! of a turn, which is pure. Claims take no part in this: they only touch what is due.
//!
//! A message stands in its lane until it is dealt with, or until the lane goes on without it. By sequence, one that was
//! passed over by hand before its turn stands there as a mark, so that it is not taken for missing.

mod front;
mod place;
mod turn;

pub(crate) use place::{Placed, Places};
pub(crate) use turn::Care;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use semel_core::inbox::{Baseline, OnTerminal, Order, Plan};
use semel_core::{Error, Kind};
use uuid::Uuid;

use super::rows::Work;
use crate::records::sql_ms;
use crate::session::{Driver, Session};
use crate::value::Value;

/// A lane whose row is locked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lane {
    /// The last sequence that was applied or passed over; -1 if the lane has begun at 0 and nothing is done yet.
    pub(crate) done: Option<i64>,
    /// Whether something that stands in it may be stuck.
    pub(crate) stuck: bool,
    /// Whether it is no longer as it is stored.
    pub(crate) changed: bool,
}

impl Lane {
    /// Everything up to here is done.
    pub(crate) fn advance(&mut self, sequence: Option<i64>) {
        if sequence > self.done {
            (self.done, self.changed) = (sequence, true);
        }
    }

    /// Something in it may be stuck.
    pub(crate) const fn stick(&mut self) {
        (self.stuck, self.changed) = (true, true);
    }
}

/// Lanes of one consumer, by name.
pub(crate) type Lanes = BTreeMap<String, Lane>;

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

/// Whether messages go by their sequence.
pub(crate) const fn by_sequence(order: Order) -> bool {
    matches!(order, Order::Sequence { .. })
}

/// A head that failed for good or is parked: those behind it wait, or the lane goes on without it.
pub(crate) fn stick(plan: &Plan, lane: &mut Lane, work: &mut Work) {
    match plan.order.on_terminal() {
        OnTerminal::Park => lane.stick(),
        OnTerminal::Advance => {
            if by_sequence(plan.order) {
                lane.advance(work.sequence);
            }
            work.leave();
        }
    }
}

impl<D: Driver> Session<'_, D> {
    /// Locks lanes until the transaction ends; those that do not exist are made.
    pub(crate) async fn lock_lanes(
        &mut self,
        plan: &Plan,
        names: BTreeSet<String>,
    ) -> Result<Lanes, D::Error> {
        if names.is_empty() {
            return Ok(Lanes::new());
        }
        let params = vec![
            Value::text(plan.consumer.to_string()),
            Value::texts(names.iter().map(String::as_str)),
        ];
        let (sql, made) = (&self.sql.inbox, Value::Int(forget_after(plan)));
        for _ in 0..LOOKS_MAX {
            let lanes = self.held(params.clone()).await?;
            if lanes.len() == names.len() {
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
        let mut lanes = Lanes::new();
        for row in &rows {
            let lane = Lane {
                done: row.int(1)?,
                stuck: row.number(2)? != 0,
                changed: false,
            };
            lanes.insert(row.word(0)?.to_owned(), lane);
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
        let mut names = BTreeSet::new();
        for row in &rows {
            names.insert(row.word(0)?.to_owned());
        }
        self.lock_lanes(plan, names).await
    }

    /// Writes lanes back that have changed.
    pub(crate) async fn save_lanes(&mut self, plan: &Plan, lanes: &Lanes) -> Result<(), D::Error> {
        let changed: Vec<_> = lanes.iter().filter(|(_, lane)| lane.changed).collect();
        if changed.is_empty() {
            return Ok(());
        }
        let params = vec![
            Value::text(plan.consumer.to_string()),
            Value::texts(changed.iter().map(|(name, _)| name.as_str())),
            Value::Ints(changed.iter().map(|(_, lane)| lane.done).collect()),
            Value::ints(changed.iter().map(|(_, lane)| i64::from(lane.stuck))),
            Value::Int(forget_after(plan)),
        ];
        let saved = self.driver.rows(&self.sql.inbox.save_lanes, params);
        saved.await.map(drop)
    }
}
