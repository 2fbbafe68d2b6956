//! The protocol's verbs on an open transaction: load, decide, apply, remember what was unusual.

use std::time::Duration;

use rusqlite::{Connection, params};
use semel_core::protocol::{self, Change, Step};
use semel_core::record::{Claim, Event, EventKind};
use semel_core::store::{
    ClaimAnswer, ClaimRequest, EVENTS_MAX, Limits, MarkAnswer, MarkRequest, ReleaseAnswer,
    RenewAnswer, RenewRequest, ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest,
};
use semel_core::{Error, Evidence, Fence, Identity, Record, Result, Scope, SteadyClock, Timestamp};

use crate::audit;
use crate::inbox::Notes;
use crate::records::{self, run};
use crate::time::FileTime;

/// A write transaction in progress: the connection, the present instant, the next fence.
pub(crate) struct Session<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) now: Timestamp,
    /// How much longer than written down everything is kept, because a jump of the clock is doubted.
    pub(crate) grace: Duration,
    pub(crate) file: FileTime,
    pub(crate) last_fence: u64,
    /// Claims whose lease was found to have ended, in this transaction.
    ended: Vec<Claim>,
    /// What the sweep passed over in this transaction, because it cannot be read.
    pub(crate) troubles: Vec<Error>,
    /// What the verbs of the inbox know for the length of this transaction.
    pub(crate) inbox: Notes,
}

/// What a transaction has brought besides its answers.
#[derive(Debug)]
pub(crate) struct News {
    /// Claims whose lease was found to have ended.
    pub(crate) ended: Vec<Claim>,
    /// Consumers for whom something became due.
    pub(crate) due: Vec<Scope>,
    /// What the sweep could not read.
    pub(crate) troubles: Vec<Error>,
}

/// How far a session had come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark {
    last_fence: u64,
    ended: usize,
    inbox: (usize, usize),
}

impl<'a> Session<'a> {
    /// Begins verbs on a connection whose write transaction is open, by the file's time and the clock's.
    pub(crate) fn begin(connection: &'a Connection, clock: &SteadyClock) -> Result<Self> {
        let file = FileTime::read(connection)?;
        let correction = clock.judge(file.known);
        file.correct(connection, correction, clock)?;
        Ok(Self::at(connection, clock, file))
    }

    /// The same for an operator who looks: what is doubted is left to those who serve.
    pub(crate) fn begin_looking(connection: &'a Connection, clock: &SteadyClock) -> Result<Self> {
        let file = FileTime::read(connection)?;
        clock.judge(file.known);
        Ok(Self::at(connection, clock, file))
    }

    fn at(connection: &'a Connection, clock: &SteadyClock, file: FileTime) -> Self {
        Self {
            connection,
            now: clock.now(),
            grace: clock.grace(),
            last_fence: file.last_fence,
            file,
            ended: Vec::new(),
            troubles: Vec::new(),
            inbox: Notes::default(),
        }
    }

    /// The instant that retention is judged by.
    pub(crate) fn kept_since(&self) -> Timestamp {
        self.now.before(self.grace)
    }

    /// Before when events go that are kept for `keep`.
    pub(crate) fn cutoff_ms(&self, keep: Duration) -> i64 {
        self.kept_since().before(keep).as_millis()
    }

    /// The stored record of an identity, whatever the clock says about it.
    pub(crate) fn load(&self, identity: &Identity) -> Result<Option<Record>> {
        records::load(self.connection, identity, self.grace)
    }

    pub(crate) fn claim(&mut self, request: &ClaimRequest) -> Result<ClaimAnswer> {
        let current = self.load(&request.identity)?;
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
        let answer = self.decide(&request.claim.identity, |current, now| {
            protocol::resolve(current, request, now)
        })?;
        match answer {
            ResolveAnswer::Refused => self.resolve_archived(request),
            ResolveAnswer::Resolved => Ok(answer),
        }
    }

    fn decide<A>(
        &mut self,
        identity: &Identity,
        verb: impl FnOnce(Option<&Record>, Timestamp) -> Step<A>,
    ) -> Result<A> {
        let current = self.load(identity)?;
        let step = verb(current.as_ref(), self.now);
        self.finish(identity, current.as_ref(), step)
    }

    pub(crate) fn finish<A>(
        &mut self,
        identity: &Identity,
        current: Option<&Record>,
        step: Step<A>,
    ) -> Result<A> {
        records::apply(self.connection, identity, current, &step.change)?;
        for event in &step.events {
            remember(self.connection, identity, event).map_err(records::writing)?;
            if event.kind.is_lease_end() {
                let (identity, fence) = (identity.clone(), event.fence);
                self.ended.push(Claim { identity, fence });
            }
        }
        if let Some(line) = &step.audit {
            audit::note(self.connection, line)?;
        }
        Ok(step.answer)
    }

    /// What this remembers besides the transaction, to return to when an item is rolled back.
    pub(crate) fn mark(&self) -> Mark {
        Mark {
            last_fence: self.last_fence,
            ended: self.ended.len(),
            inbox: self.inbox.mark(),
        }
    }

    /// Forgets what an item left that has been rolled back.
    pub(crate) fn return_to(&mut self, mark: Mark) {
        self.last_fence = mark.last_fence;
        self.ended.truncate(mark.ended);
        self.inbox.return_to(mark.inbox);
    }

    /// What is to be told once the transaction is durable.
    pub(crate) fn into_news(self) -> News {
        News {
            ended: self.ended,
            due: self.inbox.into_due(),
            troubles: self.troubles,
        }
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
    let mut note = None;
    match &event.kind {
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
        EventKind::LateOutcome(late) => outcome = Some(records::outcome_columns(late, false)),
        EventKind::Mismatch(found) => print = Some(*found.as_bytes()),
        EventKind::Erased { by, reason } | EventKind::ContentsErased { by, reason } => {
            (detail, note) = (Some(by.clone()), reason.clone());
        }
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
         flags, status, headers, body, omitted_len, omitted_digest, note) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
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
            note,
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
