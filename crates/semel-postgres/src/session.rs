//! The protocol's verbs on an open transaction: lock the rows, decide, apply, remember what was unusual.
//!
//! This is the way of everything that is not the happy path, and of all verbs in a user's own transaction. What
//! to do is decided by [`semel_core::protocol`], so this store cannot differ from the others in it.

use std::collections::HashMap;
use std::time::Duration;

use semel_core::outcome::Settled;
use semel_core::protocol::{Change, Step};
use semel_core::record::{Claim, Event, EventKind};
use semel_core::store::EVENTS_MAX;
use semel_core::{About, Error, Evidence, Fence, Identity, Kind, Record, Result, State, Timestamp};
use uuid::Uuid;

use crate::records::{OutcomeColumns, Stored, digest, sql_fence, sql_ms};
use crate::sql::Sql;
use crate::value::{Row, Value};

/// How long a vacant row keeps its fence. Longer than any statement can take between drawing a fence and
/// inserting it.
pub(crate) const VACANT_FOR: Duration = Duration::from_secs(60 * 60);

/// Something that runs statements inside an open transaction.
pub trait Driver: Send {
    /// What goes wrong.
    type Error: From<Error> + Send;

    /// Runs one statement and returns its rows.
    fn rows(
        &mut self,
        sql: &str,
        params: Vec<Value>,
    ) -> impl Future<Output = Result<Vec<Row>, Self::Error>> + Send;
}

/// Verbs on an open transaction.
pub(crate) struct Session<'a, D> {
    pub(crate) driver: &'a mut D,
    pub(crate) sql: &'a Sql,
    /// Claims whose lease was found to have ended, in this transaction.
    pub(crate) ended: Vec<Claim>,
}

impl<'a, D: Driver> Session<'a, D> {
    pub(crate) const fn new(driver: &'a mut D, sql: &'a Sql) -> Self {
        Self {
            driver,
            sql,
            ended: Vec::new(),
        }
    }

    /// Locks the rows of identities until the transaction ends.
    pub(crate) async fn lock(
        &mut self,
        identities: &[&Identity],
    ) -> Result<HashMap<Uuid, Stored>, D::Error> {
        self.lock_by(&self.sql.lock, identities).await
    }

    /// The same without the rows that another transaction holds.
    pub(crate) async fn lock_free(
        &mut self,
        identities: &[&Identity],
    ) -> Result<HashMap<Uuid, Stored>, D::Error> {
        self.lock_by(&self.sql.lock_free, identities).await
    }

    async fn lock_by(
        &mut self,
        sql: &str,
        identities: &[&Identity],
    ) -> Result<HashMap<Uuid, Stored>, D::Error> {
        let digests: Vec<Uuid> = identities.iter().map(|identity| digest(identity)).collect();
        let asked: HashMap<Uuid, &Identity> = digests
            .iter()
            .copied()
            .zip(identities.iter().copied())
            .collect();
        let rows = self.driver.rows(sql, vec![Value::Uuids(digests)]).await?;
        let mut found = HashMap::with_capacity(rows.len());
        for row in &rows {
            let stored = Stored::of(row, asked.get(&row.digest(0)?).copied())?;
            found.insert(stored.digest, stored);
        }
        Ok(found)
    }

    /// The server's time.
    pub(crate) async fn now(&mut self) -> Result<Timestamp, D::Error> {
        let rows = self.driver.rows(&self.sql.now, Vec::new()).await?;
        Ok(Timestamp::from_millis(first(&rows)?.number(0)?))
    }

    /// The server's time and a new fence, above that of the locked row.
    pub(crate) async fn draw(&mut self, stored: &Stored) -> Result<(Timestamp, Fence), D::Error> {
        let params = vec![Value::int(sql_fence(stored.fence))];
        let rows = self.driver.rows(&self.sql.draw, params).await?;
        let row = first(&rows)?;
        let fence = crate::records::fence_of(row.number(1)?);
        Ok((Timestamp::from_millis(row.number(0)?), fence))
    }

    /// A fence that no granted claim of an identity exceeds, whose locked row is `stored`.
    pub(crate) async fn highest(&mut self, stored: Option<&Stored>) -> Result<Fence, D::Error> {
        if let Some(stored) = stored {
            return Ok(stored.fence);
        }
        let rows = self.driver.rows(&self.sql.highest, Vec::new()).await?;
        Ok(crate::records::fence_of(first(&rows)?.number(0)?))
    }

    /// Does what was decided about `identity`, whose locked row is `stored`.
    pub(crate) async fn finish<A>(
        &mut self,
        identity: &Identity,
        stored: Option<&Stored>,
        step: Step<A>,
        nonce: i64,
        now: Timestamp,
    ) -> Result<A, D::Error> {
        self.apply(identity, stored, &step.change, nonce, now)
            .await?;
        for event in &step.events {
            self.remember(identity, event).await?;
            if event.kind.is_lease_end() {
                let (identity, fence) = (identity.clone(), event.fence);
                self.ended.push(Claim { identity, fence });
            }
        }
        if let Some(line) = &step.audit {
            self.note_audit(line).await?;
        }
        Ok(step.answer)
    }

    async fn apply(
        &mut self,
        identity: &Identity,
        stored: Option<&Stored>,
        change: &Change,
        nonce: i64,
        now: Timestamp,
    ) -> Result<(), D::Error> {
        if *change == Change::None {
            return Ok(());
        }
        let stored = stored.ok_or_else(|| gone(identity))?;
        let sql = self.sql;
        match change {
            Change::None => Ok(()),
            Change::Grant(record) => {
                self.archive_if_asked(stored).await?;
                self.change(&sql.grant, stored, grant_values(record, nonce))
                    .await
            }
            Change::Extend { lease_until } => {
                let until = Value::int(lease_until.as_millis());
                self.change(&sql.extend, stored, [until]).await
            }
            Change::Unknown {
                since,
                cause,
                evidence,
            } => {
                let values = [
                    Value::int(since.as_millis()),
                    Value::text(cause.name()),
                    Value::Text(evidence.as_ref().map(Evidence::encode)),
                ];
                self.change(&sql.unknown, stored, values).await
            }
            Change::Settle(settled) => {
                self.change(&sql.settle_one, stored, settled_values(settled))
                    .await
            }
            Change::EraseContents(settled) => {
                self.change(&sql.erase, stored, erased_values(settled))
                    .await?;
                self.erase_history(identity).await
            }
            Change::Remove => {
                let until = now.after(VACANT_FOR).as_millis();
                let state = stored.record.as_ref().map(|record| &record.state);
                if let Some(State::Settled(_)) = state {
                    self.change(&sql.note_erased, stored, []).await?;
                }
                self.change(&sql.vacate, stored, [Value::int(until)]).await
            }
        }
    }

    pub(crate) async fn archive_if_asked(&mut self, stored: &Stored) -> Result<(), D::Error> {
        let state = stored.record.as_ref().map(|record| &record.state);
        match state {
            Some(State::Settled(settled)) if settled.archive => {
                let sql = &self.sql.archive;
                self.change(sql, stored, []).await
            }
            Some(State::Settled(_) | State::Running { .. } | State::Unknown { .. }) | None => {
                Ok(())
            }
        }
    }

    /// Changes a locked row by a statement that names it first.
    pub(crate) async fn change(
        &mut self,
        sql: &str,
        stored: &Stored,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<(), D::Error> {
        let row = [
            Value::Uuid(Some(stored.digest)),
            Value::int(sql_fence(stored.fence)),
        ];
        let params = row.into_iter().chain(values).collect();
        self.driver.rows(sql, params).await.map(drop)
    }

    /// Writes an event and drops the oldest of the identity beyond [`EVENTS_MAX`].
    pub(crate) async fn remember(
        &mut self,
        identity: &Identity,
        event: &Event,
    ) -> Result<(), D::Error> {
        let id = Value::Uuid(Some(digest(identity)));
        let mut params = vec![
            id.clone(),
            Value::int(event.at.as_millis()),
            Value::int(sql_fence(event.fence)),
            Value::text(event.kind.name()),
        ];
        params.extend(event_values(&event.kind));
        self.driver.rows(&self.sql.remember, params).await?;
        let late = matches!(event.kind, EventKind::LateOutcome(_));
        let kept = i64::try_from(EVENTS_MAX).unwrap_or(i64::MAX);
        let params = vec![id, Value::int(late), Value::int(kept)];
        self.driver.rows(&self.sql.trim, params).await.map(drop)
    }
}

/// A locked row cannot vanish, so a verb that changes one that is not there has met a sweep.
fn gone(identity: &Identity) -> Error {
    Error::new(
        Kind::Unavailable,
        format!("the record of {identity} went away meanwhile"),
    )
}

fn first(rows: &[Row]) -> Result<&Row> {
    rows.first()
        .ok_or_else(|| crate::error::damaged("no answer to a question about the time"))
}

fn grant_values(record: &Record, nonce: i64) -> [Value; 7] {
    let State::Running { lease_until } = record.state else {
        unreachable!("a granted record is running");
    };
    [
        Value::int(sql_fence(record.fence)),
        Value::int(record.claimed_at.as_millis()),
        Value::int(lease_until.as_millis()),
        Value::int(nonce),
        Value::int(record.attempt),
        Value::bytes(record.fingerprint.as_bytes()),
        about_value(record.about.as_ref()),
    ]
}

pub(crate) fn settled_values(settled: &Settled) -> [Value; 9] {
    let [flags, status, headers, body, len, digest] =
        OutcomeColumns::of(&settled.outcome, settled.archive)
            .resolved(settled.resolved)
            .values();
    [
        Value::int(settled.at.as_millis()),
        Value::int(settled.expires_at.as_millis()),
        Value::int(sql_ms(settled.took)),
        flags,
        status,
        headers,
        body,
        len,
        digest,
    ]
}

/// Length and digest of the body whose contents are erased.
pub(crate) fn erased_values(settled: &Settled) -> [Value; 2] {
    let columns = OutcomeColumns::of(&settled.outcome, settled.archive);
    [
        Value::Int(columns.omitted_len),
        Value::Bytes(columns.omitted_digest),
    ]
}

/// What was asked, as a column.
pub(crate) fn about_value(about: Option<&About>) -> Value {
    Value::Text(about.map(|about| about.as_str().to_owned()))
}

/// Detail, fence, fingerprint, outcome and note of an event.
fn event_values(kind: &EventKind) -> Vec<Value> {
    let (mut detail, mut from, mut print, mut outcome) = (None, None, None, None);
    let mut note = None;
    match kind {
        EventKind::TookOver { from: fence } => from = Some(sql_fence(*fence)),
        EventKind::Released => {}
        EventKind::BecameUnknown { cause, evidence } => {
            detail = Some(cause.name().to_owned());
            note = evidence.as_ref().map(Evidence::encode);
        }
        EventKind::Resolved { by, how, reason } => {
            (detail, note) = (Some(by.clone()), reason.clone());
            from = Some(i64::from(how.code()));
        }
        EventKind::LateOutcome(late) => outcome = Some(OutcomeColumns::of(late, false)),
        EventKind::Mismatch(found) => print = Some(found.as_bytes().to_vec().into()),
        EventKind::Erased { by, reason } | EventKind::ContentsErased { by, reason } => {
            (detail, note) = (Some(by.clone()), reason.clone());
        }
    }
    let mut values = vec![Value::Text(detail), Value::Int(from), Value::Bytes(print)];
    match outcome {
        Some(outcome) => values.extend(outcome.values()),
        None => {
            let none = [Value::Int(None), Value::Int(None), Value::Bytes(None)];
            values.extend(none);
            values.extend([Value::Bytes(None), Value::Int(None), Value::Bytes(None)]);
        }
    }
    values.push(Value::Text(note));
    values
}
