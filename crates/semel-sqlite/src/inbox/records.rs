//! The records of messages: what was dealt with is settled there, in the space that all doors share.

use std::time::Duration;

use rusqlite::{Connection, params};
use semel_core::inbox::Cause;
use semel_core::inbox::lanes::Placed;
use semel_core::{Fence, Fingerprint, Identity, Outcome, Result, Retention, Timestamp};

use super::notes::Consumer;
use super::rows::{self, Work};
use super::sql;
use crate::error::damaged;
use crate::records;
use crate::verbs::Session;

/// What receivers and finishers need to know of a record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Brief {
    pub(super) fence: Fence,
    pub(super) fingerprint: Fingerprint,
    /// When its retention ends, if it is settled.
    expires_ms: Option<i64>,
    claimed_ms: i64,
    settled_ms: Option<i64>,
    took_ms: Option<i64>,
}

impl Brief {
    /// Whether it is settled and its retention lasts: only then it suppresses.
    pub(super) fn is_settled(&self, now: Timestamp) -> bool {
        self.expires_ms.is_some_and(|ms| ms > now.as_millis())
    }

    /// Whether it is settled and its retention has ended: then it is as good as absent.
    pub(super) fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_ms.is_some_and(|ms| ms <= now.as_millis())
    }

    /// When it was claimed.
    pub(super) const fn claimed_at(&self) -> Timestamp {
        Timestamp::from_millis(self.claimed_ms)
    }

    /// When it was settled, if it is.
    pub(super) fn settled_at(&self) -> Option<Timestamp> {
        self.settled_ms.map(Timestamp::from_millis)
    }

    /// How long its run took, if it is settled.
    pub(super) fn took(&self) -> Option<Duration> {
        let ms = u64::try_from(self.took_ms?);
        ms.ok().map(Duration::from_millis)
    }
}

/// The record of an identity, without its outcome.
pub(super) fn brief(connection: &Connection, identity: &Identity) -> Result<Option<Brief>> {
    let sql = "SELECT k.fence, c.fingerprint, o.expires_ms, \
               c.key = ?2 AND c.tenant = ?3 AND c.scope = ?4 AND c.version = ?5, c.claimed_ms, o.took_ms, o.settled_ms \
               FROM semel_keys k JOIN semel_claims c ON c.fence = k.fence \
               LEFT JOIN semel_outcomes o ON o.fence = k.fence WHERE k.digest = ?1";
    let (key, scope) = (identity.key().as_str(), identity.scope());
    let values = params![
        identity.digest().short(),
        key,
        identity.tenant().as_str(),
        scope.name(),
        scope.version()
    ];
    let found = sql::one(connection, sql, values, |row| {
        let brief = Brief {
            fence: Fence::new(row.get(0)?),
            fingerprint: Fingerprint::from_bytes(row.get(1)?),
            expires_ms: row.get(2)?,
            claimed_ms: row.get(4)?,
            took_ms: row.get(5)?,
            settled_ms: row.get(6)?,
        };
        Ok((brief, row.get::<_, bool>(3)?))
    })?;
    match found {
        Some((_, false)) => Err(damaged("two identities share one short digest")),
        found => Ok(found.map(|(brief, _)| brief)),
    }
}

/// How a message was dealt with.
pub(super) struct Settlement<'a> {
    pub(super) identity: &'a Identity,
    pub(super) fingerprint: Fingerprint,
    /// The fence of its claim; a new one is drawn for what was never claimed.
    pub(super) fence: Option<Fence>,
    pub(super) attempt: u32,
    pub(super) claimed_ms: i64,
    pub(super) outcome: &'a Outcome,
    pub(super) took: Duration,
    pub(super) retention: Retention,
}

impl Session<'_> {
    /// Settles the record of a message that never ran to its end.
    pub(super) fn settle_unrun(
        &mut self,
        of: Consumer<'_>,
        identity: &Identity,
        fingerprint: Fingerprint,
        attempt: u32,
    ) -> Result<()> {
        let now_ms = self.now.as_millis();
        self.settle_message(&Settlement {
            identity,
            fingerprint,
            fence: None,
            attempt,
            claimed_ms: now_ms,
            outcome: &Outcome::succeeded(""),
            took: Duration::ZERO,
            retention: of.plan.retention,
        })
    }

    /// Passes a row over: its record is settled, and it stays for people to see. It does not leave its lane by this.
    pub(super) fn skip(
        &mut self,
        of: Consumer<'_>,
        work: &Work,
        cause: Cause,
        detail: Option<&str>,
    ) -> Result<()> {
        let (identity, fingerprint) = rows::named(self.connection, &of.plan.consumer, work.number)?;
        self.settle_unrun(of, &identity, fingerprint, work.attempts)?;
        let placed = Placed::skipped(cause);
        self.put(of, work.number, placed, true)?;
        self.keep_transition(work.number, placed.state, placed.cause, detail)
    }

    /// Settles the record of a message. A live record that is there already stays as it is.
    pub(super) fn settle_message(&mut self, settlement: &Settlement<'_>) -> Result<()> {
        match brief(self.connection, settlement.identity)? {
            Some(brief) if !brief.is_expired(self.kept_since()) => return Ok(()),
            Some(_) => {
                if let Some(expired) = self.load(settlement.identity)? {
                    records::retire(self.connection, &expired).map_err(records::writing)?;
                }
            }
            None => {}
        }
        let mut fence = settlement.fence.unwrap_or_else(|| self.draw());
        // A fence of ours may be taken by an outcome that another store granted and this one keeps.
        while insert_claim(self.connection, fence, settlement)? == 0 {
            fence = self.draw();
        }
        sql::run(
            self.connection,
            "INSERT INTO semel_keys (digest, fence) VALUES (?1, ?2)",
            params![settlement.identity.digest().short(), fence.get()],
        )?;
        self.insert_outcome(fence, settlement)
    }

    fn insert_outcome(&self, fence: Fence, settlement: &Settlement<'_>) -> Result<()> {
        let archive = settlement.retention.archive();
        let (flags, status, headers, body, omitted_len, omitted_digest) =
            records::outcome_columns(settlement.outcome, archive);
        sql::run(
            self.connection,
            records::INSERT_OUTCOME,
            params![
                fence.get(),
                self.now.after(settlement.retention.keep()).as_millis(),
                self.now.as_millis(),
                i64::try_from(settlement.took.as_millis()).unwrap_or(i64::MAX),
                flags,
                status,
                headers,
                body,
                omitted_len,
                omitted_digest,
            ],
        )
        .map(drop)
    }
}

fn insert_claim(
    connection: &Connection,
    fence: Fence,
    settlement: &Settlement<'_>,
) -> Result<usize> {
    let identity = settlement.identity;
    sql::run(
        connection,
        "INSERT OR IGNORE INTO semel_claims \
         (fence, tenant, scope, version, key, fingerprint, attempt, claimed_ms) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            fence.get(),
            identity.tenant().as_str(),
            identity.scope().name(),
            identity.scope().version(),
            identity.key().as_str(),
            settlement.fingerprint.as_bytes(),
            settlement.attempt,
            settlement.claimed_ms,
        ],
    )
}
