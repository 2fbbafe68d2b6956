//! Outcomes of claims that another store granted: the durable half of a hybrid.
//!
//! A kept record has the same rows as one that was claimed here; only bars have a table of their own.
//! The writer's lock orders `keep` and `bar`, so neither can pass the other.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use semel_core::protocol::Change;
use semel_core::record::{Claim, Event};
use semel_core::store::outcomes::{is_kept, room};
use semel_core::store::{Answers, Batch, KeepAnswer, KeepRequest, NoteRequest, OutcomeStore, Room};
use semel_core::{Fence, Record, Result, State, Timestamp};

use crate::error::from_sqlite;
use crate::job::{Manner, body_bytes};
use crate::records::{self, run};
use crate::store::SqliteStore;
use crate::verbs::{Session, remember, sql_fence};

impl OutcomeStore for SqliteStore {
    fn check(&self, items: Batch<Claim>) -> Answers<'_, Room> {
        let grace = self.clock.grace();
        self.read_each(items, move |connection, claim, now| {
            let current = records::load(connection, &claim.identity, grace)?;
            room_in(connection, current.as_ref(), claim, now)
        })
    }

    fn keep(&self, items: Batch<KeepRequest>) -> Answers<'_, KeepAnswer> {
        let bytes = items.iter().map(|item| body_bytes(&item.outcome)).sum();
        self.write_each(items, bytes, Manner::FACT, |session, item| {
            session.keep(item)
        })
    }

    fn bar(&self, items: Batch<Claim>) -> Answers<'_, Room> {
        self.write_each(items, 0, Manner::FACT, |session, item| session.bar(item))
    }

    fn note(&self, items: Batch<NoteRequest>) -> Answers<'_, ()> {
        self.write_each(items, 0, Manner::FACT, |session, item| session.note(item))
    }
}

pub(crate) const OLD_BARS: &str = "DELETE FROM semel_bars WHERE digest IN \
     (SELECT digest FROM semel_bars WHERE at_ms < ?1 ORDER BY at_ms LIMIT ?2)";

impl Session<'_> {
    fn keep(&mut self, request: &KeepRequest) -> Result<KeepAnswer> {
        let Claim { identity, fence } = &request.claim;
        let current = self.load(identity)?;
        let room = room_in(self.connection, current.as_ref(), &request.claim, self.now)?;
        if is_kept(&room, request) {
            return Ok(KeepAnswer::Kept);
        }
        // A fence that no column holds was never drawn by anybody.
        if room != Room::Open || i64::try_from(fence.get()).is_err() {
            return Ok(KeepAnswer::Superseded);
        }
        let kept = request.record(self.now);
        let claimed = Record {
            state: State::Running {
                lease_until: self.now,
            },
            ..kept.clone()
        };
        let State::Settled(settled) = kept.state else {
            unreachable!("a kept record is settled");
        };
        // Claimed and settled in one transaction: nobody sees the moment in between.
        let grant = Change::Grant(claimed.clone());
        records::apply(self.connection, identity, current.as_ref(), &grant)?;
        let settle = Change::Settle(settled);
        records::apply(self.connection, identity, Some(&claimed), &settle)?;
        self.last_fence = self.last_fence.max(fence.get());
        Ok(KeepAnswer::Kept)
    }

    fn bar(&mut self, claim: &Claim) -> Result<Room> {
        let current = self.load(&claim.identity)?;
        let bar = bar_of(self.connection, claim)?;
        let room = room(current.as_ref(), bar, None, claim.fence, self.now);
        if room == Room::Open {
            run(
                self.connection,
                "INSERT INTO semel_bars (digest, fence, at_ms) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (digest) DO UPDATE SET fence = excluded.fence, at_ms = excluded.at_ms",
                params![
                    claim.identity.digest().short(),
                    sql_fence(claim.fence),
                    self.now.as_millis()
                ],
            )
            .map_err(records::writing)?;
        }
        Ok(room)
    }

    fn note(&mut self, item: &NoteRequest) -> Result<()> {
        let event = Event {
            at: self.now,
            fence: item.claim.fence,
            kind: item.kind.clone(),
        };
        remember(self.connection, &item.claim.identity, &event).map_err(records::writing)
    }

    /// Bars go when old events do: by then nobody is still on the way to keep an outcome.
    pub(crate) fn forget_bars(&self, limit: usize, keep: Duration) -> Result<usize> {
        let mut statement = self
            .connection
            .prepare_cached(OLD_BARS)
            .map_err(records::writing)?;
        let deleted = statement.execute(params![self.cutoff_ms(keep), limit]);
        deleted.map_err(records::writing)
    }
}

/// [`room`] with what the file knows about the claim's identity and fence.
fn room_in(
    connection: &Connection,
    current: Option<&Record>,
    claim: &Claim,
    now: Timestamp,
) -> Result<Room> {
    let fence = claim.fence;
    let bar = bar_of(connection, claim)?;
    let other = "SELECT fence FROM semel_claims WHERE fence = ?1 \
                 UNION SELECT fence FROM semel_archive WHERE fence = ?1";
    let other = fence_by(connection, other, params![sql_fence(fence)])?;
    Ok(room(current, bar, other, fence, now))
}

fn bar_of(connection: &Connection, claim: &Claim) -> Result<Option<Fence>> {
    let sql = "SELECT fence FROM semel_bars WHERE digest = ?1";
    fence_by(connection, sql, params![claim.identity.digest().short()])
}

fn fence_by(
    connection: &Connection,
    sql: &str,
    params: &[&dyn rusqlite::ToSql],
) -> Result<Option<Fence>> {
    let failed = |e| from_sqlite("looking for a fence", e);
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let found = statement.query_row(params, |row| row.get(0)).optional();
    Ok(found.map_err(failed)?.map(Fence::new))
}
