//! Messages that arrive: known ones are told from new ones, and new ones are stored with their work, all in one
//! transaction.
//!
//! An insert of work may wait for a finish of the very same message, which deletes the row that is in the way and brings the
//! record. So records are looked at once more after the insert, in a statement of its own, which sees what was
//! committed meanwhile; what turns out to be settled is taken back, and the batch begins anew.

mod values;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use semel_core::inbox::decide::place_outside_lanes;
use semel_core::inbox::lanes::{Event, Placed, Spot};
use semel_core::inbox::{Arrivals, BATCH_MAX, Cause, First, Message, Plan, Receipt, State};
use semel_core::{Error, Fingerprint, Kind, Result, Timestamp};
use uuid::Uuid;

use self::values::{enter_values, store_values};
use super::lanes::{LaneKey, Lanes, Settled, home};
use super::notes::Transition;
use super::rows::state_of;
use super::tries::Call;
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::records::{bytes32, digest};
use crate::session::{Driver, Session};
use crate::value::Value;

/// How often a batch begins anew because a message of it was dealt with at the same moment.
const ROUNDS_MAX: usize = 10;
/// The most bytes of payloads that one statement carries, unless a single one is larger.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// What became of a batch.
pub(crate) struct Received {
    pub(crate) receipts: Vec<Receipt>,
    /// Whether something of it is due.
    pub(crate) due: bool,
}

/// A batch on its way.
pub(crate) struct Receiving<'a>(pub(crate) &'a Arrivals);

impl Call for Receiving<'_> {
    type Answer = Received;

    const DOING: &'static str = "receiving messages";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<Received, Failure> {
        Session::new(link, &engine.sql).receive(self.0).await
    }
}

/// What is known about an id.
#[derive(Debug, Clone, Copy)]
struct Known {
    fingerprint: Fingerprint,
    state: State,
    first: First,
}

/// A message that is to be stored.
struct New<'a> {
    digest: Uuid,
    message: std::borrow::Cow<'a, Message>,
    number: i64,
    placed: Placed,
    /// The lane that it stands in, if it stands in one, and its sequence there.
    lane: Option<(LaneKey, Option<u64>)>,
}

/// What is said about one message of a batch.
#[derive(Debug, Clone, Copy)]
enum Said {
    /// This.
    Receipt(Receipt),
    /// What becomes of the new message with this digest.
    Stored(Uuid),
    /// It is a duplicate of the new message with this digest.
    Again(Uuid),
}

/// A batch between the look and the writing.
#[derive(Default)]
struct Sorted<'a> {
    said: Vec<Said>,
    new: Vec<New<'a>>,
    repeated: BTreeMap<Uuid, i64>,
}

impl<D: Driver> Session<'_, D> {
    /// Receives messages inside the open transaction.
    pub(crate) async fn receive(&mut self, arrivals: &Arrivals) -> Result<Received, D::Error> {
        arrivals.check()?;
        let (plan, messages) = (&arrivals.plan, &arrivals.messages);
        self.hold_positions(&arrivals.positions).await?;
        for _ in 0..ROUNDS_MAX {
            let keys: BTreeSet<LaneKey> = messages
                .iter()
                .filter_map(|message| Some(home(plan.order, message)?.0))
                .collect();
            let mut lanes = self.lock_lanes(plan, keys).await?;
            let (now, batch) = self.arrive(plan, messages).await?;
            let known = self.known(messages.iter(), now).await?;
            let mut sorted = Sorted::default();
            let conflicts = sort(plan, messages, &known, &mut sorted);
            self.sort_conflicts(conflicts, &mut sorted, now).await?;
            number(&mut sorted.new, batch);
            let settled = self.place(plan, &mut lanes, &mut sorted, now).await?;
            let receipts = receipts(&sorted);
            stand(&mut sorted.new, &settled);
            if !self.enter(plan, &mut sorted.new, now).await? {
                continue;
            }
            self.write_lanes(plan, &mut lanes, &settled, BTreeSet::new(), now)
                .await?;
            self.keep(plan, &sorted, now).await?;
            self.move_positions(&arrivals.positions, now).await?;
            let due = settled.due || sorted.new.iter().any(|new| new.placed.is_due);
            return Ok(Received { receipts, due });
        }
        let message = "postgres, messages are dealt with faster than they can be looked at";
        Err(Error::new(Kind::Unavailable, message).into())
    }

    /// Lets new messages take their places in their lanes.
    async fn place(
        &mut self,
        plan: &Plan,
        lanes: &mut Lanes,
        sorted: &mut Sorted<'_>,
        now: Timestamp,
    ) -> Result<Settled, D::Error> {
        let spot = |new: &New<'_>| {
            let (key, sequence) = new.lane.clone()?;
            let number = new.number;
            Some((key, Spot { sequence, number }))
        };
        for (key, spot) in sorted.new.iter().filter_map(spot) {
            lanes.happen(&key, Event::Arrive(spot))?;
        }
        let settled = self.decide_lanes(plan, lanes, now).await?;
        let mut answers = settled.answers.clone();
        answers.values_mut().for_each(|answers| answers.reverse());
        for new in &mut sorted.new {
            let answered = new.lane.as_ref().and_then(|(key, _)| answers.get_mut(key));
            if let Some(placed) = answered.and_then(Vec::pop).flatten() {
                new.placed = placed;
            }
        }
        Ok(settled)
    }

    async fn arrive(
        &mut self,
        plan: &Plan,
        messages: &[Message],
    ) -> Result<(Timestamp, i64), D::Error> {
        let tenants: BTreeSet<&str> = messages.iter().map(tenant).collect();
        let params = vec![
            Value::text(plan.consumer.to_string()),
            Value::text(plan.consumer.name()),
            Value::int(plan.consumer.version()),
            Value::texts(tenants),
        ];
        let rows = self.driver.rows(&self.sql.inbox.arrive, params).await?;
        let row = rows.first().ok_or_else(nothing)?;
        Ok((Timestamp::from_millis(row.number(0)?), row.number(1)?))
    }

    /// What is known about these ids at the time of the batch: what is new by that time is not remembered for a moment less than promised.
    async fn known(
        &mut self,
        messages: impl Iterator<Item = &Message>,
        now: Timestamp,
    ) -> Result<HashMap<Uuid, Known>, D::Error> {
        let digests: BTreeSet<Uuid> = messages.map(|m| digest(m.identity())).collect();
        let mut known = HashMap::new();
        if digests.is_empty() {
            return Ok(known);
        }
        let digests = Value::Uuids(digests.into_iter().collect());
        let params = vec![digests, Value::int(now.as_millis())];
        for row in &self.driver.rows(&self.sql.inbox.known, params).await? {
            let (state, column) = match row.int(1)? {
                Some(state) => (state_of(state)?, 2),
                None => (State::Completed, 3),
            };
            let fingerprint = Fingerprint::from_bytes(bytes32(row, column)?);
            let since = row.int(4)?.map(Timestamp::from_millis);
            let took = row.int(5)?.and_then(|ms| u64::try_from(ms).ok());
            let settled = row.int(6)?.map(Timestamp::from_millis);
            let first = First {
                age: since.map(|since| now.since(since)),
                settled: settled.map(|at| now.since(at)),
                took: took.map(Duration::from_millis),
            };
            let found = Known {
                fingerprint,
                state,
                first,
            };
            known.insert(row.digest(0)?, found);
        }
        Ok(known)
    }

    /// Messages whose id is taken by another payload are parked beside it, unless they are there already.
    async fn sort_conflicts<'a>(
        &mut self,
        conflicts: Vec<(usize, Message)>,
        sorted: &mut Sorted<'a>,
        now: Timestamp,
    ) -> Result<(), D::Error> {
        if conflicts.is_empty() {
            return Ok(());
        }
        let known = self.known(conflicts.iter().map(|(_, m)| m), now).await?;
        let mut seen = BTreeSet::new();
        for (at, message) in conflicts {
            let digest = digest(message.identity());
            if known.contains_key(&digest) || !seen.insert(digest) {
                *sorted.repeated.entry(digest).or_default() += 1;
                continue;
            }
            sorted.new.push(New {
                digest,
                message: std::borrow::Cow::Owned(message),
                number: i64::try_from(at).unwrap_or(0),
                placed: Placed::parked(Cause::Conflict),
                lane: None,
            });
        }
        Ok(())
    }

    /// Puts new messages to work; false if one of them turned out to be known.
    async fn enter(
        &mut self,
        plan: &Plan,
        new: &mut [New<'_>],
        now: Timestamp,
    ) -> Result<bool, D::Error> {
        if new.is_empty() {
            return Ok(true);
        }
        new.sort_by_key(|new| new.digest);
        let sql = &self.sql.inbox;
        let entered = self
            .driver
            .rows(&sql.enter, enter_values(plan, new, now))
            .await?;
        let entered: Vec<Uuid> = entered
            .iter()
            .map(|row| row.digest(0))
            .collect::<Result<_>>()?;
        let params = vec![Value::Uuids(entered.clone())];
        let settled = self.driver.rows(&sql.settled, params.clone()).await?;
        if entered.len() == new.len() && settled.is_empty() {
            return Ok(true);
        }
        self.driver.rows(&sql.take_back, params).await?;
        Ok(false)
    }

    /// Writes the messages themselves, and what else there is to write about them.
    async fn keep(
        &mut self,
        plan: &Plan,
        sorted: &Sorted<'_>,
        now: Timestamp,
    ) -> Result<(), D::Error> {
        let sql = &self.sql.inbox;
        let expires_ms = now.after(plan.retention.keep()).as_millis();
        let mut rest = &sorted.new[..];
        while !rest.is_empty() {
            let (piece, later) = rest.split_at(fitting(rest));
            let params = store_values(plan, piece, now, expires_ms);
            self.driver.rows(&sql.store, params).await?;
            rest = later;
        }
        let older = |new: &&New<'_>| new.placed.state == State::SkippedDuplicate;
        let older: Vec<Uuid> = sorted.new.iter().filter(older).map(|n| n.digest).collect();
        self.settle_skipped(plan, older, now).await?;
        let notes: Vec<Transition> = sorted
            .new
            .iter()
            .filter_map(|new| note(new, expires_ms, now))
            .collect();
        self.note_transitions(&notes).await?;
        if !sorted.repeated.is_empty() {
            let params = vec![
                Value::int(now.as_millis()),
                Value::int(expires_ms),
                Value::Uuids(sorted.repeated.keys().copied().collect()),
                Value::ints(sorted.repeated.values().copied()),
            ];
            self.driver.rows(&sql.repeat, params).await?;
        }
        Ok(())
    }
}

fn tenant(message: &Message) -> &str {
    message.identity().tenant().as_str()
}

fn nothing() -> Error {
    crate::error::damaged("no answer to an arrival")
}

/// Tells new messages from known ones, in their order; conflicts come back with their place in the batch.
fn sort<'a>(
    plan: &Plan,
    messages: &'a [Message],
    known: &HashMap<Uuid, Known>,
    sorted: &mut Sorted<'a>,
) -> Vec<(usize, Message)> {
    let (mut conflicts, mut first): (_, HashMap<Uuid, Fingerprint>) = (Vec::new(), HashMap::new());
    for (at, message) in messages.iter().enumerate() {
        let (digest, print) = (digest(message.identity()), message.fingerprint());
        let found = known.get(&digest).map(|known| known.fingerprint);
        let said = match found.or_else(|| first.get(&digest).copied()) {
            Some(other) if other != print => {
                conflicts.push((at, message.clone().as_conflict()));
                Said::Receipt(Receipt::Conflict)
            }
            Some(_) => {
                *sorted.repeated.entry(digest).or_default() += 1;
                let known = known.get(&digest).copied();
                known.map_or(Said::Again(digest), |Known { state, first, .. }| {
                    Said::Receipt(Receipt::Duplicate { state, first })
                })
            }
            None => {
                first.insert(digest, print);
                sorted.new.push(New {
                    digest,
                    message: std::borrow::Cow::Borrowed(message),
                    number: i64::try_from(at).unwrap_or(0),
                    placed: place_outside_lanes(message),
                    lane: home(plan.order, message),
                });
                Said::Stored(digest)
            }
        };
        sorted.said.push(said);
    }
    conflicts
}

/// What senders are told: where each message went when it arrived.
fn receipts(sorted: &Sorted<'_>) -> Vec<Receipt> {
    let states: HashMap<Uuid, State> = sorted
        .new
        .iter()
        .map(|new| (new.digest, new.placed.state))
        .collect();
    let state = |digest: &Uuid| states.get(digest).copied().unwrap_or(State::Received);
    let receipt = |said: &Said| match said {
        Said::Receipt(receipt) => *receipt,
        Said::Stored(digest) => Receipt::Stored {
            state: state(digest),
        },
        Said::Again(digest) => Receipt::Duplicate {
            state: state(digest),
            first: First {
                age: Some(Duration::ZERO),
                settled: None,
                took: None,
            },
        },
    };
    sorted.said.iter().map(receipt).collect()
}

/// Messages stand where the last of the batch has left them, and what was passed over stands in no lane.
fn stand(new: &mut [New<'_>], settled: &Settled) {
    for new in new {
        if let Some(change) = settled.unstored.get(&new.number) {
            new.placed = Placed {
                state: change.row.state,
                cause: change.row.cause,
                is_due: change.row.is_due,
                deadline: change.deadline,
            };
            if change.has_left {
                new.lane = None;
            }
        }
        if new.placed.state == State::SkippedDuplicate {
            new.lane = None;
        }
    }
}

/// A message's number tells its batch and its place in it.
fn number(new: &mut [New<'_>], batch: i64) {
    const { assert!(BATCH_MAX <= 1_024, "a place in a batch has ten bits") };
    for new in new {
        new.number += batch << 10;
    }
}

/// How many of the first fit into one statement.
fn fitting(new: &[New<'_>]) -> usize {
    let mut bytes = 0;
    let fits = |new: &&New<'_>| {
        bytes += new.message.payload().len();
        bytes <= BYTES_MAX
    };
    new.iter().take_while(fits).count().max(1)
}

/// What is unusual about an arrival.
fn note(new: &New<'_>, expires_ms: i64, now: Timestamp) -> Option<Transition> {
    let cause = new.placed.cause?;
    Some(Transition {
        digest: new.digest,
        expires_ms,
        at_ms: now.as_millis(),
        fence: semel_core::Fence::new(0),
        generation: 0,
        state: new.placed.state,
        cause: Some(cause),
        detail: new.message.unreadable().map(str::to_owned),
        key_generation: 0,
    })
}
