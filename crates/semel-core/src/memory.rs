//! A store in memory: for tests, and as a read cache in front of a durable store.
//!
//! It is **not** a source of truth: it forgets everything when the process ends, so nothing
//! that it says survives the crashes that Semel exists for. It holds whole records and decides by
//! [`crate::protocol`] directly, which makes it the shortest reading of the protocol.

mod keep;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::clock::{Clock, SteadyClock, SystemClock, Timestamp};
use crate::error::{Error, Kind, Result};
use crate::identity::{Digest, Identity};
use crate::protocol::{self, Change, Step};
use crate::record::{Claim, Event, EventKind, Fence, Record, State};
use crate::store::{
    Answer, Answers, AuditEntry, Batch, ClaimAnswer, ClaimRequest, EVENTS_MAX, Limits, MarkAnswer,
    MarkRequest, Page, Query, ReleaseAnswer, RenewAnswer, RenewRequest, Resolution, ResolveAnswer,
    ResolveRequest, SettleAnswer, SettleRequest, StateFilter, Stats, Store, Swept, check_batch,
    each_fails,
};

/// The most records that the store holds; claims beyond it are refused.
pub const RECORDS_MAX: usize = 1_000_000;
/// The most lines of the audit; the oldest go first.
const AUDIT_MAX: usize = 10_000;

/// A store that lives and dies with the process.
#[derive(Debug)]
pub struct MemoryStore {
    clock: SteadyClock,
    /// A std mutex, not an async one: it is held for pure computation only, never over an await.
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    records: HashMap<Digest, Record>,
    archive: BTreeMap<Fence, Record>,
    history: HashMap<Digest, Vec<Event>>,
    last_fence: u64,
    /// The lowest fences that may still keep an outcome.
    bars: HashMap<Digest, Fence>,
    /// What people decided, the newest last; at most [`AUDIT_MAX`] lines.
    audit: VecDeque<AuditEntry>,
}

impl MemoryStore {
    /// An empty store on the machine's clock.
    pub fn new() -> Self {
        Self::with_clock(Arc::new(SystemClock::new()))
    }

    /// An empty store on the given clock.
    pub fn with_clock(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock: SteadyClock::new(clock),
            table: Mutex::default(),
        }
    }

    fn table(&self) -> (MutexGuard<'_, Table>, Timestamp) {
        // No code that holds the lock can panic half-way through a change, so a poisoned table is whole.
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        (table, self.clock.now())
    }

    /// Runs one verb over all items under one lock.
    fn each<'a, I, A: Send + 'a>(
        &'a self,
        items: Batch<I>,
        verb: impl Fn(&mut Table, I, Timestamp) -> Result<A>,
    ) -> Answers<'a, A> {
        if let Err(error) = check_batch(items.len()) {
            return ready(each_fails(items.len(), &error));
        }
        let (mut table, now) = self.table();
        let answers = items.into_iter().map(|item| verb(&mut table, item, now));
        ready(answers.collect())
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl Table {
    fn apply<A>(&mut self, identity: &Identity, step: Step<A>) -> A {
        let digest = identity.digest();
        if matches!(step.change, Change::EraseContents(_)) {
            self.erase_history(digest);
        }
        if !step.events.is_empty() {
            let history = self.history.entry(digest).or_default();
            history.extend(step.events);
            // Late outcomes are counted apart, so that nothing else can push them out.
            for late in [true, false] {
                let of_kind = |e: &Event| matches!(e.kind, EventKind::LateOutcome(_)) == late;
                let mut excess = history.iter().filter(|e| of_kind(e)).count();
                history.retain(|event| {
                    let kept = !of_kind(event) || excess <= EVENTS_MAX;
                    excess -= usize::from(!kept);
                    kept
                });
            }
        }
        self.audit.extend(step.audit);
        let excess = self.audit.len().saturating_sub(AUDIT_MAX);
        self.audit.drain(..excess);
        if step.change != Change::None {
            let current = self.records.remove(&digest);
            if matches!(step.change, Change::Grant(_)) {
                self.keep_archived(current.as_ref());
            }
            if let Some(record) = step.change.apply(current) {
                self.records.insert(digest, record);
            }
        }
        step.answer
    }

    /// A record whose retention ended is archived when it makes room, if that was asked.
    fn keep_archived(&mut self, replaced: Option<&Record>) -> bool {
        match replaced {
            Some(record) if matches!(&record.state, State::Settled(s) if s.archive) => {
                self.archive.insert(record.fence, record.clone());
                true
            }
            _ => false,
        }
    }

    fn erase_history(&mut self, digest: Digest) {
        for event in self.history.get_mut(&digest).into_iter().flatten() {
            // A cheap stand-in while the event is taken apart.
            let kind = std::mem::replace(&mut event.kind, EventKind::Released);
            event.kind = kind.without_contents();
        }
    }

    fn resolve(&mut self, request: &ResolveRequest, now: Timestamp) -> ResolveAnswer {
        let Claim { identity, fence } = &request.claim;
        let step = protocol::resolve(self.current(identity), request, now);
        if step.answer == ResolveAnswer::Refused
            && let Resolution::EraseContents = request.resolution
            && let Some(archived) = self.archive.get(fence)
            && archived.identity == *identity
        {
            return self.resolve_archived(archived.clone(), request, now);
        }
        self.apply(identity, step)
    }

    /// What is decided about an archived record changes it there, and not what is current.
    fn resolve_archived(
        &mut self,
        archived: Record,
        request: &ResolveRequest,
        now: Timestamp,
    ) -> ResolveAnswer {
        let mut step = protocol::resolve(Some(&archived), request, now);
        let (identity, fence) = (archived.identity.clone(), archived.fence);
        let change = std::mem::replace(&mut step.change, Change::None);
        self.erase_history(identity.digest());
        self.archive
            .extend(change.apply(Some(archived)).map(|record| (fence, record)));
        self.apply(&identity, step)
    }

    fn claim(&mut self, request: &ClaimRequest, now: Timestamp) -> Result<ClaimAnswer> {
        self.has_room()?;
        let current = self.records.get(&request.identity.digest());
        let next = Fence::new(self.last_fence + 1);
        let step = protocol::claim(current, request, next, now);
        if matches!(step.change, Change::Grant(_)) {
            self.last_fence = next.get();
        }
        Ok(self.apply(&request.identity, step))
    }

    fn settle(&mut self, request: &SettleRequest, now: Timestamp) -> Result<SettleAnswer> {
        Limits::exact().check(&request.outcome)?;
        let identity = &request.claim.identity;
        let highest = Fence::new(self.last_fence);
        let step = protocol::settle(self.current(identity), request, highest, now);
        Ok(self.apply(identity, step))
    }

    /// Whether there is room for one more record, with its history and archive.
    fn has_room(&self) -> Result<()> {
        let held = self
            .records
            .len()
            .max(self.history.len())
            .max(self.archive.len())
            .max(self.bars.len());
        if held >= RECORDS_MAX {
            let message = format!("the store in memory holds at most {RECORDS_MAX} records");
            return Err(Error::new(Kind::Limit, message));
        }
        Ok(())
    }

    fn current(&self, identity: &Identity) -> Option<&Record> {
        self.records.get(&identity.digest())
    }

    fn sweep(&mut self, limit: usize, now: Timestamp) -> Swept {
        let limit = limit.max(1);
        let mut swept = Swept::default();
        let due: Vec<Identity> = self
            .records
            .values()
            .filter(|record| is_due(record, now))
            .take(limit)
            .map(|record| record.identity.clone())
            .collect();
        swept.more = due.len() == limit;
        for identity in due {
            let step = protocol::sweep_lease(self.current(&identity), now);
            if self.apply(&identity, step) {
                swept.leases_ended += 1;
            } else if let Some(record) = self.records.remove(&identity.digest()) {
                match self.keep_archived(Some(&record)) {
                    true => swept.archived += 1,
                    false => swept.deleted += 1,
                }
            }
        }
        swept
    }

    fn stats(&self, now: Timestamp) -> Stats {
        let mut stats = Stats {
            archived: self.archive.len() as u64,
            ..Stats::default()
        };
        for record in self.records.values() {
            match &record.state {
                State::Running { lease_until } if *lease_until > now => {
                    stats.running += 1;
                    stats.oldest_running = earliest(stats.oldest_running, record.claimed_at);
                }
                State::Running { lease_until: since } | State::Unknown { since, .. } => {
                    stats.unknown += 1;
                    stats.oldest_unknown = earliest(stats.oldest_unknown, *since);
                }
                State::Settled(_) => stats.settled += 1,
            }
        }
        let events = self.history.values().flatten();
        let late = events.filter(|e| matches!(e.kind, EventKind::LateOutcome(_)));
        stats.late_outcomes = late.count() as u64;
        stats
    }

    fn list(&self, query: &Query, now: Timestamp) -> Result<Page> {
        let behind = query.before_fence()?;
        let archived = query.state == Some(StateFilter::Archived);
        let mut found: Vec<Record> = if archived {
            self.archive.values().cloned().collect()
        } else {
            let records = self.records.values().cloned();
            records
                .filter_map(|r| protocol::view(Some(r), now))
                .collect()
        };
        found.retain(|record| query.state.is_none_or(|filter| filter.takes(&record.state)));
        found.retain(|record| query.is_about(record));
        found.retain(|record| behind.is_none_or(|behind| record.fence < behind));
        for record in &mut found {
            if let State::Settled(settled) = &mut record.state {
                settled.outcome.body = settled.outcome.body.left_out();
            }
        }
        found.sort_by_key(|record| std::cmp::Reverse(record.fence));
        Ok(Page::by_fence(found, query))
    }
}

fn earliest(so_far: Option<Timestamp>, at: Timestamp) -> Option<Timestamp> {
    Some(so_far.map_or(at, |so_far| so_far.min(at)))
}

fn is_due(record: &Record, now: Timestamp) -> bool {
    match &record.state {
        State::Running { lease_until } => *lease_until <= now,
        State::Unknown { .. } => false,
        State::Settled(settled) => settled.expires_at <= now,
    }
}

/// Nothing in memory waits, so every verb answers at once.
fn ready<'a, T: Send + 'a>(answer: T) -> Pin<Box<dyn Future<Output = T> + Send + 'a>> {
    Box::pin(std::future::ready(answer))
}

impl Store for MemoryStore {
    fn limits(&self) -> Limits {
        Limits::exact()
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn claim(&self, items: Batch<ClaimRequest>) -> Answers<'_, ClaimAnswer> {
        self.each(items, |table, item, now| table.claim(&item, now))
    }

    fn renew(&self, items: Batch<RenewRequest>) -> Answers<'_, RenewAnswer> {
        self.each(items, |table, RenewRequest { claim, lease }, now| {
            let step = protocol::renew(table.current(&claim.identity), claim.fence, lease, now);
            Ok(table.apply(&claim.identity, step))
        })
    }

    fn settle(&self, items: Batch<SettleRequest>) -> Answers<'_, SettleAnswer> {
        self.each(items, |table, item, now| table.settle(&item, now))
    }

    fn release(&self, items: Batch<Claim>) -> Answers<'_, ReleaseAnswer> {
        self.each(items, |table, Claim { identity, fence }, now| {
            let step = protocol::release(table.current(&identity), fence, now);
            Ok(table.apply(&identity, step))
        })
    }

    fn mark_unknown(&self, items: Batch<MarkRequest>) -> Answers<'_, MarkAnswer> {
        self.each(items, |table, item, now| {
            let step = protocol::mark_unknown(table.current(&item.claim.identity), &item, now);
            Ok(table.apply(&item.claim.identity, step))
        })
    }

    fn resolve(&self, items: Batch<ResolveRequest>) -> Answers<'_, ResolveAnswer> {
        self.each(items, |table, item, now| Ok(table.resolve(&item, now)))
    }

    fn look_up(&self, identities: Batch<Identity>) -> Answers<'_, Option<Arc<Record>>> {
        self.each(identities, |table, identity, now| {
            let found = table.current(&identity).cloned();
            Ok(protocol::view(found, now).map(Arc::new))
        })
    }

    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>> {
        let (table, _) = self.table();
        let events = table.history.get(&identity.digest());
        ready(Ok(events.cloned().unwrap_or_default()))
    }

    fn list(&self, query: Query) -> Answer<'_, Page> {
        let (table, now) = self.table();
        ready(table.list(&query, now))
    }

    fn sweep(&self, limit: usize) -> Answer<'_, Swept> {
        let (mut table, now) = self.table();
        ready(Ok(table.sweep(limit, now)))
    }

    fn stats(&self) -> Answer<'_, Stats> {
        let (table, now) = self.table();
        ready(Ok(table.stats(now)))
    }

    fn audit(&self, limit: usize) -> Answer<'_, Vec<AuditEntry>> {
        let (table, _) = self.table();
        ready(Ok(table.audit.iter().rev().take(limit).cloned().collect()))
    }
}
