//! What readers ask: records, histories, lists and counts. Nothing here writes.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, Row, params};
use semel_core::protocol::{Standing, view};
use semel_core::record::{Event, EventKind, Resolved, UnknownCause};
use semel_core::store::{Page, Query, StateFilter};
use semel_core::{Fence, Fingerprint, Identity, Record, Result, Scope, State, Timestamp};

use crate::error::{damaged, from_sqlite};
use crate::records::{self, record_columns};

/// The record of an identity as it stands at `now`.
pub(crate) fn look_up(
    connection: &Connection,
    identity: &Identity,
    (now, grace): (Timestamp, Duration),
) -> Result<Option<Arc<Record>>> {
    let found = records::load(connection, identity, Duration::ZERO)?;
    Ok(view_kept(found, now, grace).map(Arc::new))
}

/// The record as a reader sees it at `now`, if everything is kept longer by `grace`. What it says about itself is what was
/// written down.
pub(crate) fn view_kept(found: Option<Record>, now: Timestamp, grace: Duration) -> Option<Record> {
    let is_settled = |record: &Record| matches!(record.state, State::Settled(_));
    let at = match found.as_ref().is_some_and(is_settled) {
        true => now.before(grace),
        false => now,
    };
    view(found, at)
}

/// The events of an identity, oldest first.
pub(crate) fn history(connection: &Connection, identity: &Identity) -> Result<Vec<Event>> {
    let sql = "SELECT at_ms, fence, event, detail, from_fence, fingerprint, \
               flags, status, headers, body, omitted_len, omitted_digest, note \
               FROM semel_history WHERE digest = ?1 ORDER BY id";
    collect(connection, sql, params![identity.digest().short()], |row| {
        event_of(row).map(Some)
    })
}

fn event_of(row: &Row<'_>) -> Result<Event> {
    let failed = |e| from_sqlite("reading an event", e);
    let read =
        || -> rusqlite::Result<_> { Ok((row.get(0)?, row.get(1)?, row.get::<_, String>(2)?)) };
    let (at_ms, fence, name) = read().map_err(failed)?;
    Ok(Event {
        at: Timestamp::from_millis(at_ms),
        fence: Fence::new(fence),
        kind: kind_of(row, &name)?,
    })
}

fn kind_of(row: &Row<'_>, name: &str) -> Result<EventKind> {
    let failed = |e| from_sqlite("reading an event", e);
    let detail = || row.get::<_, String>(3).map_err(failed);
    let from = || row.get::<_, u64>(4).map_err(failed);
    let note = || row.get::<_, Option<String>>(12).map_err(failed);
    Ok(match name {
        "took-over" => EventKind::TookOver {
            from: Fence::new(from()?),
        },
        "released" => EventKind::Released,
        "became-unknown" => {
            let cause = UnknownCause::from_name(&detail()?);
            EventKind::BecameUnknown {
                cause: cause.ok_or_else(|| damaged("unknown cause"))?,
                evidence: records::evidence_of(row, 12)?,
            }
        }
        "resolved" => EventKind::Resolved {
            by: detail()?,
            how: resolved_of(row.get(4).map_err(failed)?)?,
            reason: note()?,
        },
        "late-outcome" => EventKind::LateOutcome(records::outcome_of(row, 6)?),
        "mismatch" => {
            let print = row.get(5).map_err(failed)?;
            EventKind::Mismatch(Fingerprint::from_bytes(print))
        }
        "erased" => EventKind::Erased {
            by: detail()?,
            reason: note()?,
        },
        "contents-erased" => EventKind::ContentsErased {
            by: detail()?,
            reason: note()?,
        },
        other => return Err(damaged(&format!("the history has an event {other:?}"))),
    })
}

fn resolved_of(code: i64) -> Result<Resolved> {
    Resolved::from_code(code).ok_or_else(|| damaged("a decision is not known"))
}

/// One page of records, the newest claim first; bodies are left out.
pub(crate) fn list(
    connection: &Connection,
    query: &Query,
    (now, grace): (Timestamp, Duration),
) -> Result<Page> {
    let scope: Option<Scope> = query.scope.as_deref().map(str::parse).transpose()?;
    let before = query.before_fence()?.map_or(i64::MAX, |fence| {
        i64::try_from(fence.get()).unwrap_or(i64::MAX)
    });
    let params = params![
        before,
        query.tenant,
        scope.as_ref().map(Scope::name),
        scope.as_ref().map(Scope::version),
        now.as_millis(),
        now.before(grace).as_millis(),
        query.key,
        query.method
    ];
    let archived = query.state == Some(StateFilter::Archived);
    let records = collect_some(
        connection,
        sql_for(query.state),
        params,
        query.page_len() + 1,
        |row| {
            let record = records::record_of(row, None)?;
            Ok(if archived {
                Some(record)
            } else {
                view_kept(Some(record), now, grace)
            })
        },
    )?;
    Ok(Page::by_fence(records, query))
}

/// Running and unknown records are found through the small table of leases, settled ones
/// through the claims, newest first.
fn sql_for(state: Option<StateFilter>) -> &'static str {
    macro_rules! sql {
        ($from:literal, $filter:literal) => {
            concat!(
                "SELECT ",
                record_columns!(listed),
                " FROM ",
                $from,
                " WHERE ?6 IS NOT NULL AND c.fence < ?1 AND (?2 IS NULL OR c.tenant = ?2) \
                 AND (?3 IS NULL OR c.scope = ?3 AND c.version = ?4) \
                 AND (?7 IS NULL OR c.key = ?7) \
                 AND (?8 IS NULL OR coalesce(c.about, c.scope) >= ?8 || ' ' \
                      AND coalesce(c.about, c.scope) < ?8 || '!') AND ",
                $filter,
                " ORDER BY c.fence DESC"
            )
        };
    }
    macro_rules! live {
        ($filter:literal) => {
            sql!(
                "semel_claims c LEFT JOIN semel_leases l USING (fence) \
                 LEFT JOIN semel_outcomes o USING (fence)",
                $filter
            )
        };
    }
    macro_rules! leased {
        ($filter:literal) => {
            sql!(
                "semel_leases l CROSS JOIN semel_claims c USING (fence) \
                 LEFT JOIN semel_outcomes o USING (fence)",
                $filter
            )
        };
    }
    match state {
        None => live!("(o.expires_ms IS NULL OR o.expires_ms > ?6)"),
        Some(StateFilter::Running) => leased!("l.cause IS NULL AND l.until_ms > ?5"),
        Some(StateFilter::Unknown) => leased!("(l.cause IS NOT NULL OR l.until_ms <= ?5)"),
        Some(StateFilter::Settled) => live!("o.expires_ms > ?6"),
        Some(StateFilter::Succeeded) => live!("o.expires_ms > ?6 AND o.flags & 1 = 0"),
        Some(StateFilter::Failed) => live!("o.expires_ms > ?6 AND o.flags & 1 = 1"),
        Some(StateFilter::Archived) => sql!(
            "semel_archive c JOIN semel_archive o USING (fence) \
             LEFT JOIN semel_leases l USING (fence)",
            "true"
        ),
    }
}

fn collect<T>(
    connection: &Connection,
    sql: &str,
    params: &[&dyn rusqlite::ToSql],
    each: impl FnMut(&Row<'_>) -> Result<Option<T>>,
) -> Result<Vec<T>> {
    collect_some(connection, sql, params, usize::MAX, each)
}

/// Reads rows until `limit` values were made of them.
fn collect_some<T>(
    connection: &Connection,
    sql: &str,
    params: &[&dyn rusqlite::ToSql],
    limit: usize,
    mut each: impl FnMut(&Row<'_>) -> Result<Option<T>>,
) -> Result<Vec<T>> {
    let failed = |e| from_sqlite("reading", e);
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let mut rows = statement.query(params).map_err(failed)?;
    let mut found = Vec::new();
    while found.len() < limit {
        let Some(row) = rows.next().map_err(failed)? else {
            break;
        };
        found.extend(each(row)?);
    }
    Ok(found)
}

/// Whether a claim can be answered without the writer: settled, and asked for the same thing.
pub(crate) fn is_replay(record: &Record, fingerprint: Fingerprint, now: Timestamp) -> bool {
    let settled = matches!(Standing::of(Some(record), now), Standing::Settled { .. });
    settled && record.fingerprint == fingerprint
}
