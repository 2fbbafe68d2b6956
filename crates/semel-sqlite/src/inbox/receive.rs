//! Messages that arrive: new ones are stored and take their place, known ones are counted.

use std::time::Duration;

use rusqlite::params;
use semel_core::inbox::{Arrivals, Cause, Message, Plan, Receipt, State};
use semel_core::store::check_batch;
use semel_core::{Error, Kind, Outcome, Result};

use super::lanes::{Lane, Spot};
use super::notes::Consumer;
use super::placing::{Placed, sequence_in_lane};
use super::records::{self, Settlement};
use super::rows;
use super::sql::{self, SqlCause, SqlState};
use crate::verbs::Session;

/// The longest name of a source and the longest position, in bytes.
const POSITION_BYTES_MAX: usize = 4_096;

/// Refuses arrivals that break the rules, before anything is written.
pub(super) fn check(arrivals: &Arrivals) -> Result<()> {
    check_batch(arrivals.messages.len())?;
    for message in &arrivals.messages {
        check_owner(&arrivals.plan, message)?;
    }
    let Some((source, position)) = &arrivals.position else {
        return Ok(());
    };
    let longest = source.len().max(position.len());
    if longest > POSITION_BYTES_MAX {
        let message = format!(
            "a source's name and its position have at most {POSITION_BYTES_MAX} bytes, found {longest}"
        );
        return Err(Error::new(Kind::Limit, message));
    }
    Ok(())
}

/// Refuses a message under the plan of another consumer.
pub(super) fn check_owner(plan: &Plan, message: &Message) -> Result<()> {
    let (expected, found) = (&plan.consumer, message.identity().scope());
    if expected != found {
        return Err(Error::invalid(format!(
            "all messages of a call must belong to the consumer {expected}, found one of {found}"
        )));
    }
    Ok(())
}

/// What is known of the identity of a message that arrives.
enum Known {
    /// Nothing that counts.
    Nothing,
    /// What there was is past its retention: it makes room.
    Past(i64),
    /// The same message, in this state; its number as long as it is kept.
    Same(State, Option<i64>),
    /// Another payload.
    Other,
}

impl Session<'_> {
    /// Stores messages, each as if it had come by itself. They have been checked.
    pub(super) fn receive(&mut self, arrivals: &Arrivals) -> Result<Vec<Receipt>> {
        let mut receipts = Vec::with_capacity(arrivals.messages.len());
        if !arrivals.messages.is_empty() {
            let of = self.consumer_or_new(&arrivals.plan)?;
            for message in &arrivals.messages {
                receipts.push(self.receive_one(of, message)?);
            }
        }
        if let Some((source, position)) = &arrivals.position {
            sql::run(
                self.connection,
                "INSERT INTO semel_positions (source, position, changed_ms) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (source) DO UPDATE SET position = excluded.position, \
                 changed_ms = excluded.changed_ms",
                params![source, position, self.now.as_millis()],
            )?;
        }
        Ok(receipts)
    }

    /// Stores one message, or says what is known of it.
    pub(super) fn receive_one(&mut self, of: Consumer<'_>, message: &Message) -> Result<Receipt> {
        match self.known(of, message)? {
            Known::Nothing => self.store(of, message),
            Known::Past(number) => {
                self.forget_message(number)?;
                self.store(of, message)
            }
            Known::Same(state, number) => {
                self.count_duplicate(number)?;
                Ok(Receipt::Duplicate { state })
            }
            Known::Other => {
                self.set_beside(of, &message.clone().as_conflict())?;
                Ok(Receipt::Conflict)
            }
        }
    }

    fn known(&self, of: Consumer<'_>, message: &Message) -> Result<Known> {
        let (identity, print) = (message.identity(), message.fingerprint());
        let same = |found, state, number| match found == print {
            true => Known::Same(state, number),
            false => Known::Other,
        };
        let stored = rows::find(self.connection, of.number, identity)?;
        let state = stored.as_ref().map(|s| s.work.as_ref().map(|w| w.state));
        if let (Some(stored), Some(Some(state))) = (&stored, state)
            && !state.is_final()
        {
            return Ok(same(stored.fingerprint, state, Some(stored.number)));
        }
        let record = records::brief(self.connection, identity)?;
        let state = state.flatten().unwrap_or(State::Completed);
        Ok(match (stored, record) {
            (None, Some(record)) if record.is_settled(self.kept_since()) => {
                same(record.fingerprint, state, None)
            }
            (None, _) => Known::Nothing,
            // Also a record that another door is at: the message was dealt with.
            (Some(stored), Some(record)) if !record.is_expired(self.kept_since()) => {
                same(stored.fingerprint, state, Some(stored.number))
            }
            (Some(stored), _) => Known::Past(stored.number),
        })
    }

    fn count_duplicate(&self, number: Option<i64>) -> Result<()> {
        let Some(number) = number else {
            return Ok(());
        };
        sql::run(
            self.connection,
            "INSERT INTO semel_duplicates (number, count, last_ms) VALUES (?1, 1, ?2) \
             ON CONFLICT (number) DO UPDATE SET count = count + 1, last_ms = excluded.last_ms",
            params![number, self.now.as_millis()],
        )
        .map(drop)
    }

    /// Parks a conflict beside the message whose id it has; one that keeps coming is counted.
    fn set_beside(&mut self, of: Consumer<'_>, conflict: &Message) -> Result<()> {
        match self.known(of, conflict)? {
            Known::Same(_, number) => return self.count_duplicate(number),
            // The id follows from the payload, so this is what came before.
            Known::Other => return Ok(()),
            Known::Past(number) => self.forget_message(number)?,
            Known::Nothing => {}
        }
        let number = rows::insert(self.connection, of, conflict, self.now)?;
        let placed = Placed::parked(Cause::Conflict);
        self.add_work(of, number, placed, None)?;
        self.keep_transition(number, placed.state, placed.cause, None)
    }

    /// Stores a new message at its place.
    fn store(&mut self, of: Consumer<'_>, message: &Message) -> Result<Receipt> {
        let number = rows::insert(self.connection, of, message, self.now)?;
        let sequence = sequence_in_lane(of.plan.order, message);
        let placed = match (message.lane(), sequence) {
            (Some(lane), Some(sequence)) => {
                let name = lane.as_str();
                let place = self.place(Lane { of, name }, Spot { sequence, number }, 0)?;
                let placed = self.placed(of, place);
                self.add_work(of, number, placed, Some((name, sequence)))?;
                placed
            }
            _ => {
                let placed = Placed::due(self.now.as_millis());
                self.add_work(of, number, placed, None)?;
                placed
            }
        };
        if placed.cause.is_some() {
            self.keep_transition(number, placed.state, placed.cause, None)?;
        }
        if placed.state == State::SkippedDuplicate {
            self.settle_message(&Settlement {
                identity: message.identity(),
                fingerprint: message.fingerprint(),
                fence: None,
                attempt: 0,
                claimed_ms: self.now.as_millis(),
                outcome: &Outcome::succeeded(""),
                took: Duration::ZERO,
                retention: of.plan.retention,
            })?;
        }
        let state = placed.state;
        Ok(Receipt::Stored { state })
    }

    fn add_work(
        &mut self,
        of: Consumer<'_>,
        number: i64,
        placed: Placed,
        lane: Option<(&str, i64)>,
    ) -> Result<()> {
        // What was passed over does not stand in its lane.
        let lane = lane.filter(|_| placed.state != State::SkippedDuplicate);
        sql::run(
            self.connection,
            "INSERT INTO semel_work (number, consumer, state, due_ms, fence, attempts, generation, \
             replay, changed_ms, sequence, deadline_ms, lane, cause) \
             VALUES (?1, ?2, ?3, ?4, 0, 0, 0, 0, ?5, ?6, ?7, ?8, ?9)",
            params![
                number,
                of.number,
                SqlState(placed.state),
                placed.due_ms,
                self.now.as_millis(),
                lane.map_or(-1, |(_, sequence)| sequence),
                placed.deadline_ms,
                lane.map(|(name, _)| name),
                SqlCause(placed.cause),
            ],
        )?;
        if placed.due_ms.is_some() {
            self.wake(&of.plan.consumer);
        }
        Ok(())
    }
}
