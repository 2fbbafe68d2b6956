//! Messages that arrive: new ones are stored and take their place, known ones are counted.

use rusqlite::params;
use semel_core::inbox::decide::place_outside_lanes;
use semel_core::inbox::lanes::{Placed, Rerun, Row, Spot};
use semel_core::inbox::{Arrivals, Cause, First, Message, Receipt, State};
use semel_core::{Result, Timestamp};

use super::lanes::{self, LaneKey};
use super::notes::Consumer;
use super::records;
use super::rows;
use super::sql::{self, SqlCause, SqlState};
use crate::verbs::Session;

/// What is known of the identity of a message that arrives.
enum Known {
    /// Nothing that counts.
    Nothing,
    /// What there was is past its retention: it makes room.
    Past(i64),
    /// The same message, in this state.
    Same(State, Kept),
    /// Another payload.
    Other,
}

/// The first message with an id.
#[derive(Clone, Copy)]
struct Kept {
    /// Its number as long as it is kept.
    number: Option<i64>,
    first: First,
}

impl Session<'_> {
    /// Stores messages, each as if it had come by itself. They have been checked.
    pub(super) fn receive(&mut self, arrivals: &Arrivals) -> Result<Vec<Receipt>> {
        self.move_positions(&arrivals.positions)?;
        let mut receipts = Vec::with_capacity(arrivals.messages.len());
        if !arrivals.messages.is_empty() {
            let of = self.consumer_or_new(&arrivals.plan)?;
            for message in &arrivals.messages {
                receipts.push(self.receive_one(of, message)?);
            }
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
            Known::Same(state, Kept { number, first }) => {
                self.count_duplicate(number)?;
                Ok(Receipt::Duplicate { state, first })
            }
            Known::Other => {
                self.set_beside(of, &message.clone().as_conflict())?;
                Ok(Receipt::Conflict)
            }
        }
    }

    fn known(&self, of: Consumer<'_>, message: &Message) -> Result<Known> {
        let (identity, print) = (message.identity(), message.fingerprint());
        let same = |found, state, number, (since, record): (Timestamp, Option<&records::Brief>)| {
            match found == print {
                true => {
                    let settled = record.and_then(records::Brief::settled_at);
                    let first = First {
                        age: Some(self.now.since(since)),
                        settled: settled.map(|at| self.now.since(at)),
                        took: record.and_then(records::Brief::took),
                    };
                    Known::Same(state, Kept { number, first })
                }
                false => Known::Other,
            }
        };
        let received = |stored: &rows::Stored| Timestamp::from_millis(stored.received_ms);
        let stored = rows::find(self.connection, of.number, identity)?;
        let state = stored.as_ref().map(|s| s.work.as_ref().map(|w| w.state));
        if let (Some(stored), Some(Some(state))) = (&stored, state)
            && !state.is_final()
        {
            let first = (received(stored), None);
            return Ok(same(stored.fingerprint, state, Some(stored.number), first));
        }
        let record = records::brief(self.connection, identity)?;
        let state = state.flatten().unwrap_or(State::Completed);
        Ok(match (stored, record) {
            (None, Some(record)) if record.is_settled(self.kept_since()) => {
                let first = (record.claimed_at(), Some(&record));
                same(record.fingerprint, state, None, first)
            }
            (None, _) => Known::Nothing,
            // Also a record that another door is at: the message was dealt with.
            (Some(stored), Some(record)) if !record.is_expired(self.kept_since()) => {
                let first = (received(&stored), Some(&record));
                same(stored.fingerprint, state, Some(stored.number), first)
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
            Known::Same(_, kept) => return self.count_duplicate(kept.number),
            // The id follows from the payload, so this is what came before.
            Known::Other => return Ok(()),
            Known::Past(number) => self.forget_message(number)?,
            Known::Nothing => {}
        }
        let placed = Placed::parked(Cause::Conflict);
        self.add_outside_lanes(of, conflict, placed)
    }

    /// Writes a new message down that stands in no lane. Why it could not be read is its error and part of its history.
    fn add_outside_lanes(
        &mut self,
        of: Consumer<'_>,
        message: &Message,
        placed: Placed,
    ) -> Result<()> {
        let number = rows::insert(self.connection, of, message, self.now)?;
        self.add_work(of, number, placed, None)?;
        let reason = message.unreadable();
        if reason.is_some() {
            let sql = "UPDATE semel_work SET error = ?2 WHERE number = ?1";
            sql::run(self.connection, sql, params![number, reason])?;
        }
        match placed.cause {
            Some(_) => self.keep_transition(number, placed.state, placed.cause, reason),
            None => Ok(()),
        }
    }

    /// Stores a new message at its place.
    fn store(&mut self, of: Consumer<'_>, message: &Message) -> Result<Receipt> {
        let Some((key, sequence)) = lanes::home(of, message) else {
            let placed = place_outside_lanes(message);
            self.add_outside_lanes(of, message, placed)?;
            let state = placed.state;
            return Ok(Receipt::Stored { state });
        };
        let number = rows::insert(self.connection, of, message, self.now)?;
        let spot = Spot { sequence, number };
        let placed = self.in_lane(key, |mut lane| lane.arrives(spot))?;
        if let Some(cause) = placed.cause {
            self.keep_transition(number, placed.state, Some(cause), None)?;
        }
        let state = placed.state;
        if state == State::SkippedDuplicate {
            // What was passed over does not stand in its lane.
            self.add_work(of, number, placed, None)?;
            self.settle_unrun(of, message.identity(), message.fingerprint(), 0)?;
            return Ok(Receipt::Stored { state });
        }
        self.add_work(of, number, placed, Some((key, sequence)))?;
        let row = Row {
            spot,
            state,
            cause: placed.cause,
            is_due: placed.is_due,
            has_deadline: placed.deadline.is_some(),
            rerun: Rerun::No,
            received_at: self.now,
        };
        self.in_lane(key, |mut lane| lane.arrived(&row))?;
        Ok(Receipt::Stored { state })
    }

    fn add_work(
        &mut self,
        of: Consumer<'_>,
        number: i64,
        placed: Placed,
        lane: Option<(LaneKey<'_>, Option<u64>)>,
    ) -> Result<()> {
        let now_ms = self.now.as_millis();
        sql::run(
            self.connection,
            "INSERT INTO semel_work (number, consumer, state, due_ms, fence, attempts, generation, \
             replay, changed_ms, sequence, deadline_ms, lane, tenant, cause) \
             VALUES (?1, ?2, ?3, ?4, 0, 0, 0, 0, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                number,
                of.number,
                SqlState(placed.state),
                placed.is_due.then_some(now_ms),
                now_ms,
                lanes::sql_sequence(lane.and_then(|(_, sequence)| sequence)),
                placed.deadline.map(Timestamp::as_millis),
                lane.map(|(key, _)| key.name),
                lane.map(|(key, _)| key.tenant),
                SqlCause(placed.cause),
            ],
        )?;
        if placed.is_due {
            self.wake(&of.plan.consumer);
        }
        Ok(())
    }
}
