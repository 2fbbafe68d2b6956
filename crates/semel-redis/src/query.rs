//! What readers ask: histories, lists and counts. Nothing here writes.

use std::collections::VecDeque;

use redis::Value;
use semel_core::protocol::view;
use semel_core::record::Event;
use semel_core::store::batcher::BYTES_MAX;
use semel_core::store::{AuditEntry, EVENTS_MAX, PAGE_MAX, Page, Query, StateFilter, Stats};
use semel_core::{Fence, Identity, Record, Result, Scope, State, Timestamp};
use tokio::time::Instant;

use crate::engine::Engine;
use crate::error::damaged;
use crate::events;
use crate::keys::{Bucket, Of};
use crate::records;
use crate::reply::{self, Reply};
use crate::script::{Call, LIST, RUNNING, STATS};

/// The most running records of a bucket that one call reads.
const RUNNING_STEP: usize = 1_000;
/// How many bytes of records a bucket returns at least, before it asks to be read on.
const LISTED_BYTES_MIN: usize = 128 * 1024;
/// The most running records of a bucket that are looked at for the oldest.
const OLDEST_OF: usize = 1_000;

impl Engine {
    /// The events of an identity, oldest first.
    pub(crate) async fn history(&self, identity: &Identity) -> Result<Vec<Event>> {
        let (deadline, bucket) = (self.link.deadline(), self.keys.bucket(identity));
        let all = Call::plain("LRANGE").keys([self.keys.history(identity)]);
        let all = self.link.call(all.number(0).number(-1), deadline).await?;
        let mut found = Vec::new();
        for event in reply::array(all)? {
            let event = reply::bytes(event)?.ok_or_else(reply::unexpected)?;
            found.push(events::decode(&event, bucket)?);
        }
        // A late outcome has a body, so each is read alone. The newest first: the oldest may go meanwhile, and those
        // behind them move up.
        for nth in 1..=EVENTS_MAX {
            let late = Call::plain("LINDEX").keys([self.keys.late(identity)]);
            let late = late.arg(format!("-{nth}"));
            let late = self.link.call(late, deadline).await?;
            let Some(event) = reply::bytes(late)? else {
                break;
            };
            found.push(events::decode(&event, bucket)?);
        }
        found.sort_by_key(|(number, _)| *number);
        found.dedup_by_key(|(number, _)| *number);
        Ok(found.into_iter().map(|(_, event)| event).collect())
    }

    /// Counts for operators.
    pub(crate) async fn stats(&self) -> Result<Stats> {
        let call = |bucket| {
            let of = [
                Of::Running,
                Of::Unknown,
                Of::Expiring,
                Of::Archived,
                Of::Meta,
            ];
            Call::new(&STATS)
                .keys(of.map(|what| self.keys.of(bucket, what)))
                .number(OLDEST_OF)
                .arg(self.keys.records(bucket))
        };
        let mut stats = Stats::default();
        for mut reply in self
            .call_each(
                self.keys.buckets().map(call).collect(),
                self.link.deadline(),
            )
            .await?
        {
            stats.running += reply.number::<u64>()?;
            stats.unknown += reply.number::<u64>()?;
            stats.settled += reply.number::<u64>()?;
            stats.archived += reply.number::<u64>()?;
            stats.late_outcomes += reply.number::<u64>()?;
            stats.oldest_running = earliest(stats.oldest_running, &mut reply)?;
            stats.oldest_unknown = earliest(stats.oldest_unknown, &mut reply)?;
        }
        Ok(stats)
    }

    /// What people decided, the newest first: each bucket knows about its own records.
    pub(crate) async fn audit(&self, limit: usize) -> Result<Vec<AuditEntry>> {
        let limit = limit.min(PAGE_MAX);
        let deadline = self.link.deadline();
        let newest = format!("-{}", limit.max(1));
        let call = |bucket| {
            let all = Call::plain("LRANGE").keys([self.keys.of(bucket, Of::Audit)]);
            all.arg(newest.clone()).number(-1)
        };
        let calls = self.keys.buckets().map(call).collect();
        let mut lines = Vec::new();
        for all in self.link.call_all(calls, deadline).await {
            for line in reply::array(all?)?.into_iter().rev() {
                let line = reply::bytes(line)?.ok_or_else(reply::unexpected)?;
                let line = std::str::from_utf8(&line).ok().and_then(AuditEntry::decode);
                lines.push(line.ok_or_else(|| damaged("a line of the audit is not known"))?);
            }
        }
        lines.sort_by_key(|line: &AuditEntry| std::cmp::Reverse(line.at));
        lines.truncate(limit);
        Ok(lines)
    }

    /// One page of records, the newest claim first; bodies are left out.
    pub(crate) async fn list(&self, query: &Query) -> Result<Page> {
        let filter = Filter::of(query)?;
        let deadline = self.link.deadline();
        let mut records = match query.state {
            Some(StateFilter::Running) => self.running(&filter, deadline).await?,
            Some(StateFilter::Unknown) => {
                let mut found = self.running(&filter, deadline).await?;
                found.extend(
                    self.indexed(Of::UnknownByFence, &filter, query, deadline)
                        .await?,
                );
                found
            }
            Some(StateFilter::Archived) => {
                self.indexed(Of::Archived, &filter, query, deadline).await?
            }
            None | Some(StateFilter::Succeeded | StateFilter::Failed | StateFilter::Settled) => {
                self.indexed(Of::All, &filter, query, deadline).await?
            }
        };
        records.sort_by_key(|record| std::cmp::Reverse(record.fence));
        // A lease that ended between two looks is seen by both.
        records.dedup_by_key(|record| record.fence);
        Ok(Page::by_fence(records, query))
    }

    /// Everything in the index of what runs; it is as small as what goes on at the moment.
    async fn running(&self, filter: &Filter<'_>, deadline: Instant) -> Result<Vec<Record>> {
        let mut found = Vec::new();
        let mut buckets: Vec<Bucket> = self.keys.buckets().collect();
        let mut first = 0;
        while !buckets.is_empty() {
            let call = |bucket: &Bucket| {
                Call::new(&RUNNING)
                    .keys([self.keys.of(*bucket, Of::Running)])
                    .number(first)
                    .number(first + RUNNING_STEP - 1)
                    .arg(self.keys.records(*bucket))
            };
            let replies = self
                .call_each(buckets.iter().map(call).collect(), deadline)
                .await?;
            let mut rest = Vec::new();
            for (bucket, mut reply) in buckets.into_iter().zip(replies) {
                let mut count = 0;
                while let Some(value) = reply.next() {
                    count += 1;
                    let bytes = reply::bytes(value)?.filter(|bytes| !bytes.is_empty());
                    let stored = bytes
                        .map(|bytes| records::decode_found(bytes, bucket))
                        .transpose()?;
                    found.extend(stored.and_then(|s| filter.pass(s.record, reply.now)));
                }
                if count == RUNNING_STEP {
                    rest.push(bucket);
                }
            }
            buckets = rest;
            first += RUNNING_STEP;
        }
        Ok(found)
    }

    /// The newest records of an index by fence, one more than a page has: buckets are read a little at a time and merged.
    async fn indexed(
        &self,
        index: Of,
        filter: &Filter<'_>,
        query: &Query,
        deadline: Instant,
    ) -> Result<Vec<Record>> {
        let wanted = query.page_len() + 1;
        let step = wanted.div_ceil(self.keys.count()) * 2 + 6;
        let mut sources: Vec<Source> = self
            .keys
            .buckets()
            .map(|bucket| Source::new(bucket, filter.behind))
            .collect();
        let mut found = Vec::new();
        while found.len() < wanted {
            self.refill(&mut sources, index, step, deadline).await?;
            let newest = sources.iter_mut().max_by_key(|source| source.newest());
            match newest.and_then(|source| source.entries.pop_front()) {
                Some((_, entry)) => {
                    found.extend(entry.and_then(|(record, now)| filter.pass(record, now)))
                }
                None => break,
            }
        }
        Ok(found)
    }

    /// Reads on in the buckets of which nothing is left to merge.
    async fn refill(
        &self,
        sources: &mut [Source],
        index: Of,
        step: usize,
        deadline: Instant,
    ) -> Result<()> {
        let empty = sources
            .iter_mut()
            .filter(|source| source.entries.is_empty() && !source.at_end);
        let empty: Vec<&mut Source> = empty.collect();
        if empty.is_empty() {
            return Ok(());
        }
        // Of many buckets each may return a little.
        let bytes = (BYTES_MAX / self.keys.count()).max(LISTED_BYTES_MIN);
        let call = |source: &&mut Source| {
            let records = match index {
                Of::Archived => self.keys.archives(source.bucket),
                _ => self.keys.records(source.bucket),
            };
            Call::new(&LIST)
                .keys([self.keys.of(source.bucket, index)])
                .arg(source.before.as_str())
                .number(step)
                .arg(records)
                .number(bytes)
        };
        let replies = self
            .call_each(empty.iter().map(call).collect(), deadline)
            .await?;
        for (source, reply) in empty.into_iter().zip(replies) {
            source.take_in(reply, step)?;
        }
        Ok(())
    }
}

/// A bucket as far as it has been read.
struct Source {
    bucket: Bucket,
    before: String,
    /// Fence and record, if it is still there, with the time at which it was read.
    entries: VecDeque<(Fence, Option<(Record, Timestamp)>)>,
    at_end: bool,
}

impl Source {
    fn new(bucket: Bucket, before: Option<Fence>) -> Self {
        let before = before.map_or_else(
            || "+inf".to_owned(),
            |fence| format!("({}", bucket.number_from(fence)),
        );
        Self {
            bucket,
            before,
            entries: VecDeque::new(),
            at_end: false,
        }
    }

    fn newest(&self) -> Option<Fence> {
        self.entries.front().map(|(fence, _)| *fence)
    }

    fn take_in(&mut self, mut reply: Reply, step: usize) -> Result<()> {
        let mut count = 0;
        let more = reply.bytes()?.is_some_and(|more| !more.is_empty());
        while let Some(entry) = reply.next() {
            count += 1;
            let mut entry = reply::array(entry)?.into_iter();
            let mut next = || entry.next().unwrap_or(Value::Nil);
            let number: u64 = reply::number_of(next())?;
            let fence = self.bucket.fence(number);
            let bytes = reply::bytes(next())?.filter(|bytes| !bytes.is_empty());
            let len: usize = reply::number_of(next())?;
            let stored = bytes
                .map(|bytes| records::decode_listed(bytes, len, self.bucket))
                .transpose()?;
            // What an index says of another claim than the record's is out of date.
            let record = stored
                .map(|stored| stored.record)
                .filter(|record| record.fence == fence);
            self.entries
                .push_back((fence, record.map(|record| (record, reply.now))));
            self.before = format!("({number}");
        }
        self.at_end = count < step && !more;
        Ok(())
    }
}

/// Which records a query wants.
struct Filter<'a> {
    query: &'a Query,
    behind: Option<Fence>,
}

impl<'a> Filter<'a> {
    fn of(query: &'a Query) -> Result<Self> {
        // A scope that breaks the rules is a mistake, not a scope without records.
        query
            .scope
            .as_deref()
            .map(str::parse::<Scope>)
            .transpose()?;
        Ok(Self {
            behind: query.before_fence()?,
            query,
        })
    }

    /// The record as it stands at `now`, if it is wanted.
    fn pass(&self, record: Record, now: Timestamp) -> Option<Record> {
        let mut record = match self.query.state {
            Some(StateFilter::Archived) => record,
            _ => view(Some(record), now)?,
        };
        let of_state = |filter: StateFilter| filter.takes(&record.state);
        let wanted = self.query.state.is_none_or(of_state)
            && self.query.is_about(&record)
            && self.behind.is_none_or(|before| record.fence < before);
        if let State::Settled(settled) = &mut record.state {
            settled.outcome.body = settled.outcome.body.left_out();
        }
        wanted.then_some(record)
    }
}

/// The earlier of a time and the one that a reply tells next, which may be none.
fn earliest(so_far: Option<Timestamp>, reply: &mut Reply) -> Result<Option<Timestamp>> {
    let Some(digits) = reply.bytes()?.filter(|digits| !digits.is_empty()) else {
        return Ok(so_far);
    };
    let at = Timestamp::from_millis(records::number(&digits)?);
    Ok(Some(so_far.map_or(at, |so_far| so_far.min(at))))
}
