//! Where messages that arrive go in their lanes.
//!
//! What is decided is [`order::place`]'s business; here its view of a lane is put together, and kept up to date for the
//! next message of the same batch.

use std::collections::{BTreeMap, BTreeSet};

use semel_core::inbox::order::{self, Head, LaneView, Place};
use semel_core::inbox::{Baseline, Cause, Message, OnTerminal, Order, Plan, State};
use semel_core::{Result, Timestamp};

use super::super::rows::{signed, unsigned};
use super::{Lanes, by_sequence};
use crate::records::sql_ms;
use crate::session::{Driver, Session};
use crate::value::{Row, Value};

/// Where a new message goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) state: State,
    pub(crate) cause: Option<Cause>,
    pub(crate) due_ms: Option<i64>,
    pub(crate) deadline_ms: Option<i64>,
    pub(crate) lane: Option<String>,
    pub(crate) sequence: Option<i64>,
}

impl Placed {
    /// Due at once, in no lane.
    pub(crate) const fn due(now: Timestamp) -> Self {
        Self {
            state: State::Received,
            cause: None,
            due_ms: Some(now.as_millis()),
            deadline_ms: None,
            lane: None,
            sequence: None,
        }
    }

    /// Set aside, in no lane.
    pub(crate) const fn parked(cause: Cause) -> Self {
        Self {
            state: State::Parked,
            cause: Some(cause),
            due_ms: None,
            deadline_ms: None,
            lane: None,
            sequence: None,
        }
    }
}

/// The lanes of a batch, and what stands in them.
#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) lanes: Lanes,
    views: BTreeMap<String, View>,
}

/// What stands in a lane.
#[derive(Debug, Default)]
struct View {
    /// By sequence: ranges of those above `done` that are not stuck, and those that this batch has added.
    ranges: Vec<(i64, i64)>,
    added: BTreeSet<i64>,
    /// By sequence: the first that is stuck. By arrival any is.
    stuck: Option<i64>,
    /// By arrival: whether anything stands there.
    occupied: bool,
}

impl View {
    /// How many different sequences lie between two, both excluded.
    fn between(&self, above: i64, below: i64) -> i64 {
        if below <= above + 1 {
            return 0;
        }
        let ranges = self.ranges.iter().map(|(first, last)| {
            let (first, last) = ((*first).max(above + 1), (*last).min(below - 1));
            (last - first + 1).max(0)
        });
        let inside = |s: &&i64| !self.ranges.iter().any(|(a, b)| (a..=b).contains(s));
        let added = self.added.range(above + 1..below).filter(inside).count();
        ranges.sum::<i64>() + i64::try_from(added).unwrap_or(i64::MAX)
    }

    fn head(&self, above: i64, sequence: i64) -> Head {
        match self.stuck {
            Some(stuck) if stuck <= sequence => Head::Stuck,
            _ if self.between(above, sequence + 1) > 0 => Head::Moving,
            _ => Head::Free,
        }
    }

    const fn head_by_arrival(&self) -> Head {
        match (self.stuck, self.occupied) {
            (Some(_), _) => Head::Stuck,
            (None, true) => Head::Moving,
            (None, false) => Head::Free,
        }
    }
}

impl Places {
    /// The place of a message, which it takes.
    pub(crate) fn place(&mut self, plan: &Plan, message: &Message, now: Timestamp) -> Placed {
        let order = plan.order;
        let has_lane = order.has_lane(message.lane().is_some(), message.sequence().is_some());
        let lane = message.lane().filter(|_| has_lane);
        let Some(name) = lane.map(semel_core::Key::as_str) else {
            return Placed::due(now);
        };
        let sequence = message
            .sequence()
            .filter(|_| by_sequence(order))
            .map(signed);
        let place = self.take(order, name, sequence);
        placed(plan, place, name, sequence, now)
    }

    /// Whether a version before this one has not arrived.
    pub(crate) fn is_missing_before(&self, name: &str, sequence: i64) -> bool {
        let done = self.lanes.get(name).and_then(|lane| lane.done);
        let above = done.unwrap_or(-1);
        let there = self
            .views
            .get(name)
            .map_or(0, |view| view.between(above, sequence));
        there < sequence - above - 1
    }

    fn take(&mut self, order: Order, name: &str, sequence: Option<i64>) -> Place {
        let lane = self.lanes.get_mut(name).expect("the lane is locked");
        let view = self.views.entry(name.to_owned()).or_default();
        let Some(sequence) = sequence else {
            let head = view.head_by_arrival();
            let seen = LaneView {
                head,
                ..LaneView::default()
            };
            view.occupied = true;
            return order::place(order, seen, None).0;
        };
        // One is added to all sequences, so that a lane that has begun at 0 is told from one that has not begun.
        let above = lane.done.unwrap_or(-1);
        let seen = LaneView {
            done: unsigned(lane.done.map(|done| done + 1)),
            head: view.head(above, sequence),
            between: unsigned(Some(view.between(above, sequence))).unwrap_or(0),
        };
        let (place, done) = order::place(shifted(order), seen, unsigned(Some(sequence + 1)));
        let done = done.map(|done| signed(done) - 1);
        if done != lane.done {
            (lane.done, lane.changed) = (done, true);
        }
        if place != Place::Older {
            view.added.insert(sequence);
        }
        place
    }
}

fn shifted(order: Order) -> Order {
    match order {
        Order::Sequence {
            baseline: Baseline::After(done),
            on_gap,
            on_terminal,
        } => Order::Sequence {
            baseline: Baseline::After(done.saturating_add(1)),
            on_gap,
            on_terminal,
        },
        other => other,
    }
}

fn placed(plan: &Plan, place: Place, lane: &str, sequence: Option<i64>, now: Timestamp) -> Placed {
    let there = Placed {
        lane: Some(lane.to_owned()),
        sequence,
        ..Placed::due(now)
    };
    let parked = |cause| Placed {
        lane: Some(lane.to_owned()),
        sequence,
        ..Placed::parked(cause)
    };
    match place {
        Place::Due => there,
        Place::Behind => Placed {
            due_ms: None,
            ..there
        },
        Place::BehindStuck => parked(Cause::BehindFailed),
        Place::Gap => Placed {
            deadline_ms: gap_deadline(plan, now),
            ..parked(Cause::Gap)
        },
        Place::Older => Placed {
            state: State::SkippedDuplicate,
            deadline_ms: Some(now.after(plan.retention.keep()).as_millis()),
            ..Placed::parked(Cause::OlderVersion)
        },
    }
}

/// When whoever waits for a missing version from now on runs out of patience.
pub(super) fn gap_deadline(plan: &Plan, now: Timestamp) -> Option<i64> {
    match plan.order {
        Order::Sequence { on_gap, .. } => {
            Some(now.as_millis().saturating_add(sql_ms(on_gap.deadline)))
        }
        Order::None | Order::Arrival { .. } => None,
    }
}

impl<D: Driver> Session<'_, D> {
    /// Locks the lanes of messages and looks at what stands in them.
    pub(crate) async fn places(
        &mut self,
        plan: &Plan,
        messages: &[Message],
    ) -> Result<Places, D::Error> {
        let lane = |message: &Message| {
            let has = plan
                .order
                .has_lane(message.lane().is_some(), message.sequence().is_some());
            message.lane().filter(|_| has).map(ToString::to_string)
        };
        let names: BTreeSet<String> = messages.iter().filter_map(lane).collect();
        if names.is_empty() {
            return Ok(Places::default());
        }
        let lanes = self.lock_lanes(plan, names).await?;
        self.look_into(plan, lanes).await
    }

    /// Looks at what stands in lanes that are locked.
    pub(crate) async fn look_into(
        &mut self,
        plan: &Plan,
        lanes: Lanes,
    ) -> Result<Places, D::Error> {
        let mut views: BTreeMap<String, View> = BTreeMap::new();
        self.see_what_stands(plan, &lanes, &mut views).await?;
        if plan.order.on_terminal() == OnTerminal::Park {
            self.see_what_is_stuck(plan, &lanes, &mut views).await?;
        }
        Ok(Places { lanes, views })
    }

    async fn see_what_stands(
        &mut self,
        plan: &Plan,
        lanes: &Lanes,
        views: &mut BTreeMap<String, View>,
    ) -> Result<(), D::Error> {
        let sql = &self.sql.inbox;
        let mut params = vec![
            Value::text(plan.consumer.to_string()),
            Value::texts(lanes.keys().map(String::as_str)),
        ];
        if !by_sequence(plan.order) {
            for row in &self.driver.rows(&sql.occupied, params).await? {
                view_of(views, row)?.occupied = true;
            }
            return Ok(());
        }
        params.push(Value::ints(
            lanes.values().map(|lane| lane.done.unwrap_or(-1)),
        ));
        for row in &self.driver.rows(&sql.sequences, params).await? {
            let range = (row.number(1)?, row.number(2)?);
            view_of(views, row)?.ranges.push(range);
        }
        Ok(())
    }

    async fn see_what_is_stuck(
        &mut self,
        plan: &Plan,
        lanes: &Lanes,
        views: &mut BTreeMap<String, View>,
    ) -> Result<(), D::Error> {
        let doubtful: Vec<&str> = lanes
            .iter()
            .filter(|(_, lane)| lane.stuck)
            .map(|(name, _)| name.as_str())
            .collect();
        if doubtful.is_empty() {
            return Ok(());
        }
        let params = vec![
            Value::text(plan.consumer.to_string()),
            Value::texts(doubtful),
        ];
        for row in &self
            .driver
            .rows(&self.sql.inbox.first_stuck, params)
            .await?
        {
            view_of(views, row)?.stuck = Some(row.int(1)?.unwrap_or(0));
        }
        Ok(())
    }
}

fn view_of<'a>(views: &'a mut BTreeMap<String, View>, row: &Row) -> Result<&'a mut View> {
    Ok(views.entry(row.word(0)?.to_owned()).or_default())
}
