//! What readers ask: records, histories, lists and counts. Nothing here writes or locks.

use std::collections::HashMap;
use std::sync::Arc;

use semel_core::protocol::view;
use semel_core::record::{Event, EventKind, Resolved};
use semel_core::store::batcher::{Follow, Item};
use semel_core::store::{Cursor, Page, Query, StateFilter, Stats};
use semel_core::{Evidence, Fence, Fingerprint, Identity, Record, Result, Scope, Timestamp};
use uuid::Uuid;

use crate::connection::Failure;
use crate::engine::Engine;
use crate::error::damaged;
use crate::records::{Stored, bytes32, cause_of, digest, fence_of, outcome_of, sql_fence};
use crate::sql::RECORD_COLUMNS;
use crate::value::{Row, Value};

/// Above so many rows, settled records are estimated instead of counted.
pub(crate) const COUNTED_MAX: i64 = 200_000;

/// A row as it is stored, and when it was read; `None` if there is none.
pub(crate) type Found = Option<(Arc<Stored>, Timestamp)>;

/// A look-up on its way.
#[derive(Debug, Clone)]
pub(crate) struct Look(pub(crate) Identity);

impl Item for Look {
    type Answer = Found;

    fn identity(&self) -> &Identity {
        &self.0
    }

    /// Whoever looks at the same at the same time sees the same.
    fn follow(&self, _later: &Self) -> Option<Follow<Found>> {
        Some(Box::new(Clone::clone))
    }
}

/// The record that a reader sees in what was found.
pub(crate) fn seen(found: Found) -> Option<Arc<Record>> {
    let (stored, now) = found?;
    view(stored.record.clone(), now).map(Arc::new)
}

impl Engine {
    /// Reads once, and once more if the connection turns out to be broken: reading is always safe.
    pub(crate) async fn read(&self, doing: &str, sql: &str, params: &[Value]) -> Result<Vec<Row>> {
        let first = match self.links.get().await?.ask_alone(sql, params).await {
            Ok(rows) => return Ok(rows),
            Err(failure) => failure,
        };
        match first {
            Failure::Lost(_) => {
                self.links.forget_idle();
                let again = self.links.get().await?.ask_alone(sql, params).await;
                again.map_err(|failure| failure.into_error(doing))
            }
            failure => Err(failure.into_error(doing)),
        }
    }

    /// The rows of identities as they are stored, and when they were read.
    pub(crate) async fn load(&self, identities: &[Identity]) -> Result<Vec<Found>> {
        if identities.is_empty() {
            return Ok(Vec::new());
        }
        let asked: HashMap<Uuid, &Identity> = identities.iter().map(|i| (digest(i), i)).collect();
        let digests = Value::Uuids(asked.keys().copied().collect());
        let rows = self.read("looking up", &self.sql.load, &[digests]).await?;
        let mut found = HashMap::with_capacity(rows.len());
        for row in &rows {
            let stored = Stored::of(row, asked.get(&row.digest(0)?).copied())?;
            let now = Timestamp::from_millis(row.number(RECORD_COLUMNS)?);
            self.heard(now);
            found.insert(stored.digest, (Arc::new(stored), now));
        }
        let of = |identity| found.get(&digest(identity)).cloned();
        Ok(identities.iter().map(of).collect())
    }

    /// The events of an identity, oldest first.
    pub(crate) async fn history(&self, identity: &Identity) -> Result<Vec<Event>> {
        let params = [Value::Uuid(Some(digest(identity)))];
        let rows = self
            .read("reading a history", &self.sql.history, &params)
            .await?;
        rows.iter().map(event_of).collect()
    }

    /// One page of records, the newest claim first.
    pub(crate) async fn list(&self, query: &Query) -> Result<Page> {
        let (sql, choice) = match query.state {
            Some(StateFilter::Running) => (&self.sql.list_open, Some(1)),
            Some(StateFilter::Unknown) => (&self.sql.list_open, Some(0)),
            Some(StateFilter::Succeeded) => (&self.sql.list, Some(0)),
            Some(StateFilter::Failed) => (&self.sql.list, Some(1)),
            Some(StateFilter::Settled) => (&self.sql.list, Some(2)),
            Some(StateFilter::Archived) => (&self.sql.list_archived, None),
            None => (&self.sql.list, None),
        };
        let Some(params) = list_values(query, query.before_fence()?, choice) else {
            return Ok(Page::default());
        };
        let rows = self.read("listing", sql, &params).await?;
        let archived = query.state == Some(StateFilter::Archived);
        let mut records = Vec::with_capacity(rows.len());
        for row in &rows {
            let record = Stored::of(row, None)?.record;
            let now = Timestamp::from_millis(row.number(RECORD_COLUMNS)?);
            // An archived record is past its retention, and shown all the same.
            records.extend(if archived { record } else { view(record, now) });
        }
        let more = rows.len() > query.page_len();
        records.truncate(query.page_len());
        let last = records.last().filter(|_| more);
        Ok(Page {
            next: last.map(|record| Cursor::before(record.fence)),
            records,
        })
    }

    /// Counts for operators.
    pub(crate) async fn stats(&self) -> Result<Stats> {
        let rows = self
            .read("counting", &self.sql.stats, &[Value::int(COUNTED_MAX)])
            .await?;
        let row = rows.first().ok_or_else(|| damaged("no counts"))?;
        let count =
            |at| Ok::<_, semel_core::Error>(u64::try_from(row.int(at)?.unwrap_or(0)).unwrap_or(0));
        let instant = |at| Ok::<_, semel_core::Error>(row.int(at)?.map(Timestamp::from_millis));
        self.heard(Timestamp::from_millis(row.number(8)?));
        Ok(Stats {
            running: count(0)?,
            unknown: count(1)?,
            settled: count(2)?,
            archived: count(3)?,
            late_outcomes: count(4)?,
            oldest_running: instant(5)?,
            oldest_unknown: instant(6)?,
            bytes: row.int(7)?.and_then(|bytes| u64::try_from(bytes).ok()),
        })
    }
}

/// `None` for a scope that no record can have.
fn list_values(query: &Query, behind: Option<Fence>, choice: Option<i64>) -> Option<[Value; 8]> {
    let (scope, version) = match &query.scope {
        None => (None, None),
        Some(text) => {
            let scope: Scope = text.parse().ok()?;
            (
                Some(scope.name().to_owned()),
                Some(i64::from(scope.version())),
            )
        }
    };
    // One more than the page, to know whether there is another.
    let limit = i64::try_from(query.page_len() + 1).unwrap_or(i64::MAX);
    Some([
        Value::Int(behind.map(sql_fence)),
        Value::Text(query.tenant.clone()),
        Value::Text(scope),
        Value::Int(version),
        Value::Int(choice),
        Value::int(limit),
        Value::Text(query.key.clone()),
        Value::Text(query.method.clone()),
    ])
}

fn event_of(row: &Row) -> Result<Event> {
    Ok(Event {
        at: Timestamp::from_millis(row.number(0)?),
        fence: fence_of(row.number(1)?),
        kind: kind_of(row)?,
    })
}

fn kind_of(row: &Row) -> Result<EventKind> {
    let detail = || Ok::<_, semel_core::Error>(row.text(3)?.unwrap_or_default().to_owned());
    let note = || Ok::<_, semel_core::Error>(row.text(12)?.map(str::to_owned));
    Ok(match row.text(2)?.unwrap_or_default() {
        "took-over" => EventKind::TookOver {
            from: fence_of(row.number(4)?),
        },
        "released" => EventKind::Released,
        "became-unknown" => EventKind::BecameUnknown {
            cause: cause_of(row.text(3)?)?,
            evidence: row.text(12)?.and_then(Evidence::decode),
        },
        "resolved" => EventKind::Resolved {
            by: detail()?,
            how: Resolved::from_code(row.number(4)?)
                .ok_or_else(|| damaged("a decision is not known"))?,
            reason: note()?,
        },
        "late-outcome" => EventKind::LateOutcome(outcome_of(row, 6)?),
        "mismatch" => EventKind::Mismatch(Fingerprint::from_bytes(bytes32(row, 5)?)),
        "erased" => EventKind::Erased {
            by: detail()?,
            reason: note()?,
        },
        "contents-erased" => EventKind::ContentsErased {
            by: detail()?,
            reason: note()?,
        },
        other => return Err(damaged(&format!("an event of the kind {other:?}"))),
    })
}
