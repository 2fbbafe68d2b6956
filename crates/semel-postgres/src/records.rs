//! Between rows and records.

use std::time::Duration;

use bytes::Bytes;
use semel_core::outcome::{BODY_BYTES_MAX, Settled};
use semel_core::record::UnknownCause;
use semel_core::{
    About, Body, Error, Evidence, Fence, Fingerprint, Headers, Identity, Key, Outcome, Record,
    Result, Scope, State, Tenant, Timestamp, Verdict,
};
use uuid::Uuid;

use crate::error::damaged;
use crate::value::{Row, Value};

const FLAG_FAILED: i64 = 1;
const FLAG_ARCHIVE: i64 = 2;
/// The record took the place of a bar.
pub(crate) const FLAG_BARRED: i64 = 4;
/// The outcome was decided, not brought by its run.
const FLAG_RESOLVED: i64 = 8;
/// The contents were erased.
const FLAG_ERASED: i64 = 16;

/// The place of an identity in the tables.
pub(crate) fn digest(identity: &Identity) -> Uuid {
    Uuid::from_bytes(identity.digest().short())
}

/// A row of `semel_records`. A vacant one holds no record.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) digest: Uuid,
    pub(crate) fence: Fence,
    pub(crate) nonce: i64,
    pub(crate) record: Option<Record>,
}

impl Stored {
    /// Reads a row whose first columns are a record's. `expected` is the identity that was asked for.
    pub(crate) fn of(row: &Row, expected: Option<&Identity>) -> Result<Self> {
        let stored = Self {
            digest: row.digest(0)?,
            fence: fence_of(row.number(1)?),
            nonce: row.number(2)?,
            record: record_of(row, expected)?,
        };
        let found = stored.record.as_ref().map(|record| &record.identity);
        if let (Some(expected), Some(found)) = (expected, found)
            && expected != found
        {
            // Sixteen equal bytes of two BLAKE3 digests: refuse rather than mix two operations up.
            return Err(damaged("two identities share one short digest"));
        }
        Ok(stored)
    }
}

/// Fences are drawn from a sequence of the same range.
pub(crate) fn fence_of(number: i64) -> Fence {
    Fence::new(u64::try_from(number).unwrap_or(0))
}

/// A fence as a column; one that no store can have drawn must not spoil the batch it came in.
pub(crate) fn sql_fence(fence: Fence) -> i64 {
    i64::try_from(fence.get()).unwrap_or(i64::MAX)
}

/// A duration as a column, far from any overflow of an instant that it is added to.
pub(crate) fn sql_ms(duration: Duration) -> i64 {
    let ms = duration.as_nanos().div_ceil(1_000_000);
    i64::try_from(ms).unwrap_or(i64::MAX).min(i64::MAX / 4)
}

fn record_of(row: &Row, expected: Option<&Identity>) -> Result<Option<Record>> {
    let Some(state) = state_of(row)? else {
        return Ok(None);
    };
    Ok(Some(Record {
        identity: identity_of(row, expected)?,
        fingerprint: Fingerprint::from_bytes(bytes32(row, 8)?),
        fence: fence_of(row.number(1)?),
        attempt: small(row, 9)?,
        claimed_at: Timestamp::from_millis(row.number(10)?),
        about: row.text(23)?.and_then(About::new),
        nonce: None,
        state,
    }))
}

fn state_of(row: &Row) -> Result<Option<State>> {
    let ms = |at| row.number(at).map(Timestamp::from_millis);
    Ok(Some(match row.number(3)? {
        0 => State::Running {
            lease_until: ms(11)?,
        },
        1 => State::Unknown {
            since: ms(12)?,
            cause: cause_of(row.text(13)?)?,
            evidence: row.text(24)?.and_then(Evidence::decode),
        },
        2 => State::Settled(Settled {
            expires_at: ms(14)?,
            at: ms(15)?,
            took: Duration::from_millis(u64::try_from(row.number(16)?).unwrap_or(0)),
            archive: row.number(17)? & FLAG_ARCHIVE != 0,
            outcome: outcome_of(row, 17)?,
            resolved: row.number(17)? & FLAG_RESOLVED != 0,
            erased: row.number(17)? & FLAG_ERASED != 0,
        }),
        3 => return Ok(None),
        other => return Err(damaged(&format!("a record has the state {other}"))),
    }))
}

pub(crate) fn cause_of(name: Option<&str>) -> Result<UnknownCause> {
    name.and_then(UnknownCause::from_name)
        .ok_or_else(|| damaged(&format!("an unknown cause {name:?}")))
}

fn identity_of(row: &Row, expected: Option<&Identity>) -> Result<Identity> {
    let text = |at| Ok::<_, Error>(row.text(at)?.unwrap_or_default());
    let (tenant, name, key) = (text(4)?, text(5)?, text(7)?);
    let version: u32 = small(row, 6)?;
    // When the text is the same, its digest need not be computed again.
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

fn small(row: &Row, at: usize) -> Result<u32> {
    u32::try_from(row.number(at)?).map_err(|_| damaged(&format!("column {at} is out of range")))
}

pub(crate) fn bytes32(row: &Row, at: usize) -> Result<[u8; 32]> {
    let bytes = row.bytes(at)?.map_or(&[][..], |bytes| bytes);
    bytes.try_into().map_err(|_| {
        let found = bytes.len();
        damaged(&format!("column {at} should have 32 bytes, found {found}"))
    })
}

/// Reads flags, status, headers, body and what is left of an omitted one, from column `first` on.
pub(crate) fn outcome_of(row: &Row, first: usize) -> Result<Outcome> {
    let headers = row.bytes(first + 2)?;
    let body = match row.int(first + 4)? {
        Some(len) => Body::Omitted {
            len: u64::try_from(len).unwrap_or(0),
            digest: match row.bytes(first + 5)? {
                Some(_) => Some(bytes32(row, first + 5)?),
                None => None,
            },
        },
        None => Body::Kept(row.bytes(first + 3)?.cloned().unwrap_or_default()),
    };
    let status = row.number(first + 1)?;
    Ok(Outcome {
        verdict: match row.number(first)? & FLAG_FAILED {
            0 => Verdict::Succeeded,
            _ => Verdict::Failed,
        },
        status: u16::try_from(status).map_err(|_| damaged("a status is out of range"))?,
        headers: headers.map_or_else(|| Ok(Headers::default()), |bytes| Headers::decode(bytes))?,
        body,
    })
}

/// An outcome as column values; empty parts are null, which costs no space.
pub(crate) struct OutcomeColumns {
    pub(crate) flags: i64,
    pub(crate) status: i64,
    pub(crate) headers: Option<Bytes>,
    pub(crate) body: Option<Bytes>,
    pub(crate) omitted_len: Option<i64>,
    pub(crate) omitted_digest: Option<Bytes>,
}

impl OutcomeColumns {
    pub(crate) fn of(outcome: &Outcome, archive: bool) -> Self {
        let failed = match outcome.verdict {
            Verdict::Succeeded => 0,
            Verdict::Failed => FLAG_FAILED,
        };
        let archived = if archive { FLAG_ARCHIVE } else { 0 };
        // Larger than any store keeps: what is left of it is all that can be on record.
        let kept = outcome
            .body
            .kept()
            .filter(|bytes| bytes.len() <= BODY_BYTES_MAX);
        let digest = || {
            outcome
                .body
                .digest()
                .map(|digest| Bytes::copy_from_slice(&digest))
        };
        Self {
            flags: failed | archived,
            status: i64::from(outcome.status),
            headers: (!outcome.headers.is_empty()).then(|| outcome.headers.encode().into()),
            body: kept.filter(|bytes| !bytes.is_empty()).cloned(),
            omitted_len: match kept {
                Some(_) => None,
                None => Some(i64::try_from(outcome.body.len()).unwrap_or(i64::MAX)),
            },
            omitted_digest: if kept.is_some() { None } else { digest() },
        }
    }

    /// The same for an outcome that was decided, if it was.
    pub(crate) const fn resolved(mut self, resolved: bool) -> Self {
        self.flags |= if resolved { FLAG_RESOLVED } else { 0 };
        self
    }

    /// Those of many outcomes, a parameter per column, in the order of the columns.
    pub(crate) fn arrays(all: impl Iterator<Item = Self>) -> [Value; 6] {
        let (mut flags, mut status) = (Vec::new(), Vec::new());
        let (mut headers, mut bodies) = (Vec::new(), Vec::new());
        let (mut lens, mut digests) = (Vec::new(), Vec::new());
        for columns in all {
            flags.push(Some(columns.flags));
            status.push(Some(columns.status));
            headers.push(columns.headers);
            bodies.push(columns.body);
            lens.push(columns.omitted_len);
            digests.push(columns.omitted_digest);
        }
        [
            Value::Ints(flags),
            Value::Ints(status),
            Value::ByteStrings(headers),
            Value::ByteStrings(bodies),
            Value::Ints(lens),
            Value::ByteStrings(digests),
        ]
    }

    /// In the order of the columns.
    pub(crate) fn values(self) -> [Value; 6] {
        [
            Value::int(self.flags),
            Value::int(self.status),
            Value::Bytes(self.headers),
            Value::Bytes(self.body),
            Value::Int(self.omitted_len),
            Value::Bytes(self.omitted_digest),
        ]
    }
}
