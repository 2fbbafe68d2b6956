//! The protocol's verbs on an open transaction: load, decide, apply, remember what was unusual.

use std::time::Duration;

use rusqlite::{Connection, params};
use semel_core::protocol::{self, Change, Step};
use semel_core::record::{Claim, Event, EventKind, Resolved, UnknownCause};
use semel_core::store::{
    BATCH_MAX, ClaimAnswer, ClaimRequest, EVENTS_MAX, Limits, MarkAnswer, MarkRequest,
    ReleaseAnswer, RenewAnswer, RenewRequest, ResolveAnswer, ResolveRequest, SettleAnswer,
    SettleRequest, Swept,
};
use semel_core::{Fence, Identity, Record, Result, Scope, State, SteadyClock, Timestamp};

use crate::error::from_sqlite;
use crate::fences;
use crate::inbox::Notes;
use crate::rows::{self, record_columns, run};

/// A write transaction in progress: the connection, the present instant, the next fence.
pub(crate) struct Session<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) now: Timestamp,
    pub(crate) last_fence: u64,
    /// Claims whose lease was found to have ended, in this transaction.
    ended: Vec<Claim>,
    /// What the verbs of the inbox know for the length of this transaction.
    pub(crate) inbox: Notes,
}

impl<'a> Session<'a> {
    /// Begins verbs on a connection whose write transaction is open.
    pub(crate) fn begin(connection: &'a Connection, clock: &SteadyClock) -> Result<Self> {
        let (last_fence, at_ms) = fences::newest(connection)?;
        clock.seen(at_ms);
        Ok(Self {
            connection,
            now: clock.now(),
            last_fence,
            ended: Vec::new(),
            inbox: Notes::default(),
        })
    }

    pub(crate) fn claim(&mut self, request: &ClaimRequest) -> Result<ClaimAnswer> {
        let current = rows::load(self.connection, &request.identity)?;
        let next = Fence::new(self.last_fence + 1);
        let step = protocol::claim(current.as_ref(), request, next, self.now);
        if matches!(step.change, Change::Grant(_)) {
            self.last_fence = next.get();
        }
        self.finish(&request.identity, current.as_ref(), step)
    }

    pub(crate) fn renew(&mut self, request: &RenewRequest) -> Result<RenewAnswer> {
        let fence = request.claim.fence;
        self.decide(&request.claim.identity, |current, now| {
            protocol::renew(current, fence, request.lease, now)
        })
    }

    pub(crate) fn settle(&mut self, request: &SettleRequest) -> Result<SettleAnswer> {
        Limits::exact().check(&request.outcome)?;
        let highest = Fence::new(self.last_fence);
        self.decide(&request.claim.identity, |current, now| {
            protocol::settle(current, request, highest, now)
        })
    }

    pub(crate) fn release(&mut self, claim: &Claim) -> Result<ReleaseAnswer> {
        self.decide(&claim.identity, |current, now| {
            protocol::release(current, claim.fence, now)
        })
    }

    pub(crate) fn mark_unknown(&mut self, request: &MarkRequest) -> Result<MarkAnswer> {
        self.decide(&request.claim.identity, |current, now| {
            protocol::mark_unknown(current, request, now)
        })
    }

    pub(crate) fn resolve(&mut self, request: &ResolveRequest) -> Result<ResolveAnswer> {
        self.decide(&request.claim.identity, |current, now| {
            protocol::resolve(current, request, now)
        })
    }

    fn decide<A>(
        &mut self,
        identity: &Identity,
        verb: impl FnOnce(Option<&Record>, Timestamp) -> Step<A>,
    ) -> Result<A> {
        let current = rows::load(self.connection, identity)?;
        let step = verb(current.as_ref(), self.now);
        self.finish(identity, current.as_ref(), step)
    }

    fn finish<A>(
        &mut self,
        identity: &Identity,
        current: Option<&Record>,
        step: Step<A>,
    ) -> Result<A> {
        rows::apply(self.connection, identity, current, &step.change)?;
        for event in &step.events {
            remember(self.connection, identity, event).map_err(rows::writing)?;
            if event.kind == EventKind::BecameUnknown(UnknownCause::LeaseEnded) {
                let (identity, fence) = (identity.clone(), event.fence);
                self.ended.push(Claim { identity, fence });
            }
        }
        Ok(step.answer)
    }

    /// Claims whose lease was found to have ended, and consumers for whom something became due; true once the
    /// transaction is durable.
    pub(crate) fn into_news(self) -> (Vec<Claim>, Vec<Scope>) {
        (self.ended, self.inbox.into_due())
    }

    /// One bounded step of housekeeping.
    pub(crate) fn sweep(&mut self, limit: usize, history_keep: Duration) -> Result<Swept> {
        let limit = limit.clamp(1, BATCH_MAX);
        let leases_ended = self.end_leases(limit)?;
        let (deleted, archived) = self.drop_expired(limit)?;
        let more_messages = self.sweep_messages(limit)?;
        let events_deleted = self.forget_events(limit, history_keep)?
            + self.forget_bars(limit, history_keep)?
            + self.forget_audit(limit, history_keep)?;
        let full = |count| count >= limit;
        Ok(Swept {
            leases_ended,
            deleted,
            archived,
            events_deleted,
            more: full(leases_ended)
                || full(deleted + archived)
                || full(events_deleted)
                || more_messages,
        })
    }

    fn end_leases(&mut self, limit: usize) -> Result<usize> {
        const SQL: &str = concat!(
            "SELECT ",
            record_columns!(listed),
            " FROM semel_leases l JOIN semel_claims c USING (fence) \
             LEFT JOIN semel_outcomes o USING (fence) \
             WHERE l.cause IS NULL AND l.until_ms <= ?1 LIMIT ?2"
        );
        let ended = self.due(SQL, limit)?;
        for record in &ended {
            let step = protocol::sweep_lease(Some(record), self.now);
            self.finish(&record.identity, Some(record), step)?;
        }
        Ok(ended.len())
    }

    fn drop_expired(&mut self, limit: usize) -> Result<(usize, usize)> {
        const SQL: &str = concat!(
            "SELECT ",
            record_columns!(listed),
            " FROM semel_outcomes o JOIN semel_claims c USING (fence) \
             LEFT JOIN semel_leases l USING (fence) \
             WHERE o.expires_ms <= ?1 ORDER BY o.expires_ms LIMIT ?2"
        );
        let expired = self.due(SQL, limit)?;
        let is_archived =
            |record: &&Record| matches!(&record.state, State::Settled(settled) if settled.archive);
        for record in &expired {
            rows::retire(self.connection, record).map_err(rows::writing)?;
            self.forget_message_of(&record.identity)?;
        }
        let archived = expired.iter().filter(is_archived).count();
        Ok((expired.len() - archived, archived))
    }

    fn due(&self, sql: &str, limit: usize) -> Result<Vec<Record>> {
        let failed = |e| from_sqlite("sweeping", e);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let mut found = statement
            .query(params![self.now.as_millis(), limit])
            .map_err(failed)?;
        let mut records = Vec::new();
        while let Some(row) = found.next().map_err(failed)? {
            records.push(rows::record_of(row, None)?);
        }
        Ok(records)
    }

    fn forget_events(&self, limit: usize, keep: Duration) -> Result<usize> {
        let keep_ms = i64::try_from(keep.as_millis()).unwrap_or(i64::MAX);
        let cutoff = self.now.as_millis().saturating_sub(keep_ms);
        // A late outcome stays as long as its record does: it may be all that is known.
        let sql = "DELETE FROM semel_history WHERE id IN \
                   (SELECT id FROM semel_history h WHERE at_ms < ?1 AND NOT \
                    (event = 'late-outcome' AND EXISTS \
                     (SELECT 1 FROM semel_keys k WHERE k.digest = h.digest)) \
                    ORDER BY id LIMIT ?2)";
        let mut statement = self.connection.prepare_cached(sql).map_err(rows::writing)?;
        statement
            .execute(params![cutoff, limit])
            .map_err(rows::writing)
    }
}

/// Writes an event and drops the oldest of the identity beyond [`EVENTS_MAX`]; late outcomes are
/// counted apart, so that nothing else can push them out.
pub(crate) fn remember(
    connection: &Connection,
    identity: &Identity,
    event: &Event,
) -> rusqlite::Result<()> {
    let digest = identity.digest().short();
    let (mut detail, mut from, mut print, mut outcome) = (None, None, None, None);
    match &event.kind {
        EventKind::TookOver { from: fence } => from = Some(sql_fence(*fence)),
        EventKind::Released => {}
        EventKind::BecameUnknown(cause) => detail = Some(cause.name().to_owned()),
        EventKind::Resolved { by, how } => {
            detail = Some(by.clone());
            from = Some(i64::from(matches!(how, Resolved::Settled)));
        }
        EventKind::LateOutcome(late) => outcome = Some(rows::outcome_columns(late, false)),
        EventKind::Mismatch(found) => print = Some(*found.as_bytes()),
        EventKind::Erased { by } => detail = Some(by.clone()),
    }
    let outcome_is_late = outcome.is_some();
    let (flags, status, headers, body, omitted_len, omitted_digest) = match outcome {
        Some((flags, status, headers, body, len, digest)) => {
            (Some(flags), Some(status), headers, body, len, digest)
        }
        None => Default::default(),
    };
    run(
        connection,
        "INSERT INTO semel_history (digest, at_ms, fence, event, detail, from_fence, fingerprint, \
         flags, status, headers, body, omitted_len, omitted_digest) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            digest,
            event.at.as_millis(),
            sql_fence(event.fence),
            event.kind.name(),
            detail,
            from,
            print,
            flags,
            status,
            headers,
            body,
            omitted_len,
            omitted_digest,
        ],
    )?;
    run(
        connection,
        "DELETE FROM semel_history WHERE digest = ?1 AND (event = 'late-outcome') = ?3 AND id <= \
         (SELECT id FROM semel_history WHERE digest = ?1 AND (event = 'late-outcome') = ?3 \
          ORDER BY id DESC LIMIT 1 OFFSET ?2)",
        params![digest, EVENTS_MAX, outcome_is_late],
    )
}

/// A fence as a column; one that no store can have drawn must not spoil the batch it came in.
pub(crate) fn sql_fence(fence: Fence) -> i64 {
    i64::try_from(fence.get()).unwrap_or(i64::MAX)
}
