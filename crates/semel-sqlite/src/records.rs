//! Records as rows: loading one, and applying a change to one, inside the caller's transaction.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};
use semel_core::outcome::{BODY_BYTES_MAX, Settled};
use semel_core::protocol::Change;
use semel_core::record::UnknownCause;
use semel_core::store::Nonce;
use semel_core::{
    About, Body, Error, Evidence, Fence, Fingerprint, Headers, Identity, Key, Outcome, Record,
    Result, Scope, State, Tenant, Timestamp, Verdict,
};

use crate::erase::{erase, overwriting};
use crate::error::{damaged, from_sqlite};
use crate::fences;

const FLAG_FAILED: u8 = 1;
const FLAG_ARCHIVE: u8 = 2;
/// The outcome was decided, not brought by its run. 4 means something else in another store.
const FLAG_RESOLVED: u8 = 8;
/// The contents were erased.
pub(crate) const FLAG_ERASED: u8 = 16;

/// The columns that [`record_of`] reads, in its order; lists read the length of bodies instead of them.
macro_rules! record_columns {
    (whole) => {
        record_columns!("o.body", "o.omitted_len", "c.nonce")
    };
    (archived) => {
        record_columns!("o.body", "o.omitted_len", "NULL")
    };
    (listed) => {
        record_columns!("NULL", "coalesce(o.omitted_len, length(o.body), 0)", "NULL")
    };
    ($body:literal, $omitted_len:literal, $nonce:literal) => {
        concat!(
            "c.fence, c.tenant, c.scope, c.version, c.key, c.fingerprint, c.attempt, c.claimed_ms, \
             l.until_ms, l.since_ms, l.cause, \
             o.expires_ms, o.settled_ms, o.took_ms, o.flags, o.status, o.headers, ",
            $body,
            ", ",
            $omitted_len,
            ", o.omitted_digest, c.about, l.evidence, ",
            $nonce
        )
    };
}
pub(crate) use record_columns;

/// The stored record of an identity, whatever the clock says about it. What is settled is kept longer by `grace`.
pub(crate) fn load(
    connection: &Connection,
    identity: &Identity,
    grace: Duration,
) -> Result<Option<Record>> {
    const SQL: &str = concat!(
        "SELECT ",
        record_columns!(whole),
        " FROM semel_keys k JOIN semel_claims c ON c.fence = k.fence \
         LEFT JOIN semel_leases l ON l.fence = k.fence \
         LEFT JOIN semel_outcomes o ON o.fence = k.fence WHERE k.digest = ?1"
    );
    let failed = |e| from_sqlite("looking up a record", e);
    let mut statement = connection.prepare_cached(SQL).map_err(failed)?;
    let mut rows = statement
        .query(params![identity.digest().short()])
        .map_err(failed)?;
    let Some(row) = rows.next().map_err(failed)? else {
        return Ok(None);
    };
    let record = record_of(row, Some(identity))?;
    if record.identity != *identity {
        // Sixteen equal bytes of two BLAKE3 digests: refuse rather than mix two operations up.
        return Err(damaged("two identities share one short digest"));
    }
    Ok(Some(kept_longer(record, grace)))
}

/// The record as it is to be judged while a jump of the clock is doubted.
fn kept_longer(mut record: Record, grace: Duration) -> Record {
    if let State::Settled(settled) = &mut record.state {
        settled.expires_at = settled.expires_at.after(grace);
    }
    record
}

/// Reads a record from the columns of [`record_columns`].
///
/// `expected` is the identity that was asked for: when the text is the same, its digest need not
/// be computed again.
pub(crate) fn record_of(row: &Row<'_>, expected: Option<&Identity>) -> Result<Record> {
    let failed = |e| from_sqlite("reading a record", e);
    let read = || -> rusqlite::Result<_> {
        let fence: u64 = row.get(0)?;
        let print: [u8; 32] = row.get(5)?;
        let (about, nonce) = (row.get_ref(20)?.as_str_or_null()?, row.get(22)?);
        let known = (about.and_then(About::new), nonce);
        Ok((fence, print, row.get(6)?, row.get(7)?, known))
    };
    let (fence, print, attempt, claimed_ms, (about, nonce)) = read().map_err(failed)?;
    let nonce: Option<i64> = nonce;
    Ok(Record {
        identity: identity_of(row, expected)?,
        fingerprint: Fingerprint::from_bytes(print),
        fence: Fence::new(fence),
        attempt,
        claimed_at: Timestamp::from_millis(claimed_ms),
        about,
        nonce: nonce.and_then(Nonce::from_i64),
        state: state_of(row)?,
    })
}

fn identity_of(row: &Row<'_>, expected: Option<&Identity>) -> Result<Identity> {
    let failed = |e| from_sqlite("reading an identity", e);
    let text = |column: usize| -> Result<&str> {
        let value = row.get_ref(column).map_err(failed)?;
        value.as_str().map_err(|e| failed(e.into()))
    };
    let (tenant, name, key) = (text(1)?, text(2)?, text(4)?);
    let version: u32 = row.get(3).map_err(failed)?;
    if let Some(expected) = expected
        && expected.tenant().as_str() == tenant
        && expected.key().as_str() == key
        && expected.scope().name() == name
        && expected.scope().version() == version
    {
        return Ok(expected.clone());
    }
    let identity = || {
        let scope = Scope::new(name, version)?;
        Ok(Identity::new(Tenant::new(tenant)?, scope, Key::new(key)?))
    };
    identity().map_err(|e: Error| damaged("an identity breaks the rules").caused_by(e))
}

fn state_of(row: &Row<'_>) -> Result<State> {
    let failed = |e| from_sqlite("reading a state", e);
    if let Some(expires_ms) = row.get::<_, Option<i64>>(11).map_err(failed)? {
        return Ok(State::Settled(settled_of(row, expires_ms)?));
    }
    let lease =
        || -> rusqlite::Result<(Option<i64>, Option<i64>)> { Ok((row.get(8)?, row.get(9)?)) };
    let cause = row.get_ref(10).and_then(|v| Ok(v.as_str_or_null()?));
    match (lease().map_err(failed)?, cause.map_err(failed)?) {
        ((Some(until_ms), None), None) => Ok(State::Running {
            lease_until: Timestamp::from_millis(until_ms),
        }),
        ((Some(_), Some(since_ms)), Some(cause)) => Ok(State::Unknown {
            since: Timestamp::from_millis(since_ms),
            cause: UnknownCause::from_name(cause).ok_or_else(|| damaged("unknown cause"))?,
            evidence: evidence_of(row, 21)?,
        }),
        _ => Err(damaged("a claim has neither a lease nor an outcome")),
    }
}

/// What the owner of an unknown outcome could still say.
pub(crate) fn evidence_of(row: &Row<'_>, column: usize) -> Result<Option<Evidence>> {
    let found = row.get_ref(column).and_then(|v| Ok(v.as_str_or_null()?));
    let found = found.map_err(|e| from_sqlite("reading evidence", e))?;
    Ok(found.and_then(Evidence::decode))
}

fn settled_of(row: &Row<'_>, expires_ms: i64) -> Result<Settled> {
    let failed = |e| from_sqlite("reading an outcome", e);
    let read =
        || -> rusqlite::Result<(i64, u64, u8)> { Ok((row.get(12)?, row.get(13)?, row.get(14)?)) };
    let (settled_ms, took_ms, flags) = read().map_err(failed)?;
    Ok(Settled {
        outcome: outcome_of(row, 14)?,
        at: Timestamp::from_millis(settled_ms),
        took: Duration::from_millis(took_ms),
        expires_at: Timestamp::from_millis(expires_ms),
        archive: flags & FLAG_ARCHIVE != 0,
        resolved: flags & FLAG_RESOLVED != 0,
        erased: flags & FLAG_ERASED != 0,
    })
}

/// Reads flags, status, headers, body and what is left of an omitted one, from column `first` on.
pub(crate) fn outcome_of(row: &Row<'_>, first: usize) -> Result<Outcome> {
    let failed = |e| from_sqlite("reading an outcome", e);
    let flags: u8 = row.get(first).map_err(failed)?;
    let headers = match row.get_ref(first + 2).map_err(failed)? {
        ValueRef::Blob(bytes) => Headers::decode(bytes)?,
        _ => Headers::default(),
    };
    let omitted: Option<u64> = row.get(first + 4).map_err(failed)?;
    let body = match (omitted, row.get_ref(first + 3).map_err(failed)?) {
        (Some(len), _) => Body::Omitted {
            len,
            digest: row.get(first + 5).map_err(failed)?,
        },
        (None, ValueRef::Blob(bytes)) => Body::Kept(Bytes::copy_from_slice(bytes)),
        (None, _) => Body::empty(),
    };
    Ok(Outcome {
        verdict: match flags & FLAG_FAILED {
            0 => Verdict::Succeeded,
            _ => Verdict::Failed,
        },
        status: row.get(first + 1).map_err(failed)?,
        headers,
        body,
    })
}

/// An outcome as column values: flags, status, headers, body, omitted length, omitted digest.
pub(crate) type OutcomeColumns<'a> = (
    u8,
    u16,
    Option<Vec<u8>>,
    Option<&'a [u8]>,
    Option<u64>,
    Option<[u8; 32]>,
);

/// The columns of an outcome; empty parts are null, which costs no space.
pub(crate) fn outcome_columns(outcome: &Outcome, archive: bool) -> OutcomeColumns<'_> {
    let failed = match outcome.verdict {
        Verdict::Succeeded => 0,
        Verdict::Failed => FLAG_FAILED,
    };
    let flags = failed | if archive { FLAG_ARCHIVE } else { 0 };
    let headers = (!outcome.headers.is_empty()).then(|| outcome.headers.encode());
    match &outcome.body {
        // Larger than any store keeps: what is left of it is all that can be on record.
        Body::Kept(bytes) if bytes.len() > BODY_BYTES_MAX => {
            let digest = outcome.body.digest();
            (
                flags,
                outcome.status,
                headers,
                None,
                Some(outcome.body.len()),
                digest,
            )
        }
        Body::Kept(bytes) => {
            let body = (!bytes.is_empty()).then_some(bytes.as_ref());
            (flags, outcome.status, headers, body, None, None)
        }
        Body::Omitted { len, digest } => {
            (flags, outcome.status, headers, None, Some(*len), *digest)
        }
    }
}

/// Makes a change that the protocol decided. `current` is the record that it was decided on.
pub(crate) fn apply(
    connection: &Connection,
    identity: &Identity,
    current: Option<&Record>,
    change: &Change,
) -> Result<()> {
    write(connection, identity, current, change).map_err(|e| from_sqlite("writing a record", e))
}

fn write(
    connection: &Connection,
    identity: &Identity,
    current: Option<&Record>,
    change: &Change,
) -> rusqlite::Result<()> {
    match (change, current) {
        (Change::None, _) => Ok(()),
        (Change::Grant(record), current) => {
            if let Some(current) = current {
                archive_if_asked(connection, current)?;
                drop_rows(connection, current)?;
            }
            grant(connection, record)
        }
        (Change::Extend { lease_until }, Some(record)) => run(
            connection,
            "UPDATE semel_leases SET until_ms = ?2 WHERE fence = ?1",
            params![record.fence.get(), lease_until.as_millis()],
        ),
        (
            Change::Unknown {
                since,
                cause,
                evidence,
            },
            Some(record),
        ) => run(
            connection,
            "UPDATE semel_leases SET since_ms = ?2, cause = ?3, evidence = ?4 WHERE fence = ?1",
            params![
                record.fence.get(),
                since.as_millis(),
                cause.name(),
                evidence.as_ref().map(Evidence::encode),
            ],
        ),
        (Change::Settle(settled), Some(record)) => {
            if matches!(record.state, State::Settled(_)) {
                drop_outcome(connection, record.fence)?;
            }
            settle(connection, record.fence, settled)
        }
        (Change::EraseContents(settled), Some(record)) => {
            erase(connection, identity, record, settled)
        }
        // What a decision takes away is to be gone from the file, too: it may be the key of contents that are elsewhere.
        (Change::Remove, Some(record)) if matches!(record.state, State::Settled(_)) => {
            overwriting(connection, |connection| {
                remove(connection, identity, record)
            })
        }
        (Change::Remove, Some(record)) => remove(connection, identity, record),
        (
            Change::Extend { .. }
            | Change::Unknown { .. }
            | Change::Settle(_)
            | Change::EraseContents(_)
            | Change::Remove,
            None,
        ) => unreachable!("the protocol changes only records that there are"),
    }
}

fn grant(connection: &Connection, record: &Record) -> rusqlite::Result<()> {
    let State::Running { lease_until } = record.state else {
        unreachable!("a granted record is running");
    };
    let identity = &record.identity;
    run(
        connection,
        "INSERT INTO semel_keys (digest, fence) VALUES (?1, ?2) \
         ON CONFLICT (digest) DO UPDATE SET fence = excluded.fence",
        params![identity.digest().short(), record.fence.get()],
    )?;
    run(
        connection,
        "INSERT INTO semel_claims \
         (fence, tenant, scope, version, key, fingerprint, attempt, claimed_ms, about, nonce) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            record.fence.get(),
            identity.tenant().as_str(),
            identity.scope().name(),
            identity.scope().version(),
            identity.key().as_str(),
            record.fingerprint.as_bytes(),
            record.attempt,
            record.claimed_at.as_millis(),
            record.about.as_ref().map(About::as_str),
            record.nonce.map(Nonce::to_i64),
        ],
    )?;
    run(
        connection,
        "INSERT INTO semel_leases (fence, until_ms) VALUES (?1, ?2)",
        params![record.fence.get(), lease_until.as_millis()],
    )
}

/// Columns are named in every insert: a newer version may add some while this one runs.
pub(crate) const INSERT_OUTCOME: &str = "INSERT INTO semel_outcomes \
     (fence, expires_ms, settled_ms, took_ms, flags, status, headers, body, omitted_len, omitted_digest) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";

fn settle(connection: &Connection, fence: Fence, settled: &Settled) -> rusqlite::Result<()> {
    run(
        connection,
        "DELETE FROM semel_leases WHERE fence = ?1",
        params![fence.get()],
    )?;
    let columns = outcome_columns(&settled.outcome, settled.archive);
    let resolved = if settled.resolved { FLAG_RESOLVED } else { 0 };
    run(
        connection,
        INSERT_OUTCOME,
        params![
            fence.get(),
            settled.expires_at.as_millis(),
            settled.at.as_millis(),
            i64::try_from(settled.took.as_millis()).unwrap_or(i64::MAX),
            columns.0 | resolved,
            columns.1,
            columns.2,
            columns.3,
            columns.4,
            columns.5,
        ],
    )
}

/// A decision that is corrected: the other outcome takes the place of this one.
fn drop_outcome(connection: &Connection, fence: Fence) -> rusqlite::Result<()> {
    run(
        connection,
        "DELETE FROM semel_outcomes WHERE fence = ?1",
        params![fence.get()],
    )
}

/// Ends a settled record whose retention has ended: archived if that was asked, else deleted.
pub(crate) fn retire(connection: &Connection, record: &Record) -> rusqlite::Result<()> {
    archive_if_asked(connection, record)?;
    remove(connection, &record.identity, record)
}

fn remove(connection: &Connection, identity: &Identity, record: &Record) -> rusqlite::Result<()> {
    drop_rows(connection, record)?;
    run(
        connection,
        "DELETE FROM semel_keys WHERE digest = ?1 AND fence = ?2",
        params![identity.digest().short(), record.fence.get()],
    )
}

/// Deletes the rows of a claim, all but its key.
///
/// The fence is written down first, so that it is never drawn again.
fn drop_rows(connection: &Connection, record: &Record) -> rusqlite::Result<()> {
    fences::keep(connection, record.fence)?;
    for sql in [
        "DELETE FROM semel_claims WHERE fence = ?1",
        "DELETE FROM semel_leases WHERE fence = ?1",
        "DELETE FROM semel_outcomes WHERE fence = ?1",
    ] {
        run(connection, sql, params![record.fence.get()])?;
    }
    Ok(())
}

fn archive_if_asked(connection: &Connection, record: &Record) -> rusqlite::Result<()> {
    match &record.state {
        State::Settled(settled) if settled.archive => archive(connection, record.fence),
        State::Settled(_) | State::Running { .. } | State::Unknown { .. } => Ok(()),
    }
}

fn archive(connection: &Connection, fence: Fence) -> rusqlite::Result<()> {
    run(
        connection,
        "INSERT INTO semel_archive \
         (fence, tenant, scope, version, key, fingerprint, attempt, claimed_ms, \
          expires_ms, settled_ms, took_ms, flags, status, headers, body, omitted_len, omitted_digest, about) \
         SELECT c.fence, c.tenant, c.scope, c.version, c.key, c.fingerprint, c.attempt, c.claimed_ms, \
                o.expires_ms, o.settled_ms, o.took_ms, o.flags, o.status, o.headers, o.body, \
                o.omitted_len, o.omitted_digest, c.about \
         FROM semel_claims c JOIN semel_outcomes o USING (fence) WHERE fence = ?1",
        params![fence.get()],
    )
}

pub(crate) fn run(
    connection: &Connection,
    sql: &str,
    params: &[&dyn rusqlite::ToSql],
) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute(params).map(drop)
}

/// An error of SQLite while a record was written, as an error of the core.
pub(crate) fn writing(error: rusqlite::Error) -> Error {
    from_sqlite("writing a record", error)
}
