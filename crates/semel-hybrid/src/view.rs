//! What readers and operators see: one set of records, although two stores hold them.

use std::collections::HashSet;
use std::sync::Arc;

use semel_core::record::{Event, EventKind, Record, State};
use semel_core::store::{
    AuditEntry, Batch, Cursor, EVENTS_MAX, PAGE_MAX, Page, Query, StateFilter, Stats, StoreExt,
    Swept, all,
};
use semel_core::{Fence, Identity, Result};

use crate::Hybrid;
use crate::copy::{Repair, claim_of, end_unknown, is_about_a_copy, is_settled};

impl Hybrid {
    /// Each decision is in the audit of the store that carried it out.
    pub(crate) async fn merged_audit(&self, limit: usize) -> Result<Vec<AuditEntry>> {
        let mut lines = self.durable.audit(limit).await?;
        lines.extend(self.fast.audit(limit).await?);
        lines.sort_by_key(|line| std::cmp::Reverse(line.at));
        lines.truncate(limit);
        Ok(lines)
    }

    /// The fast store first: an outcome that is kept in between is found in the durable one.
    pub(crate) async fn look_up_all(
        &self,
        identities: Batch<Identity>,
    ) -> Batch<Result<Option<Arc<Record>>>> {
        let fast = self.fast.look_up(identities.clone()).await;
        let durable = self.durable.look_up(identities).await;
        let both = fast.into_iter().zip(durable);
        let seen = both.map(|(fast, durable)| {
            let (fast, durable) = (fast?, durable?);
            // A copy without its record is on its way out.
            Ok(durable.or_else(|| fast.filter(|record| !is_settled(record))))
        });
        seen.collect()
    }

    pub(crate) async fn merged_history(&self, identity: Identity) -> Result<Vec<Event>> {
        let mut events = self.fast.history(identity.clone()).await?;
        events.retain(|event| !is_about_a_copy(event));
        events.extend(self.durable.history(identity.clone()).await?);
        events.sort_by_key(|event| event.at);
        if let Some(erased) = self.erased_up_to(identity, &events).await? {
            for event in events.iter_mut().filter(|event| event.fence <= erased) {
                event.kind = event.kind.clone().without_contents();
            }
        }
        // Each store bounds its own; together they hold to the same limits.
        for late in [true, false] {
            let of_kind = |event: &Event| is_late(event) == late;
            let mut excess = events.iter().filter(|event| of_kind(event)).count();
            events.retain(|event| {
                let kept = !of_kind(event) || excess <= EVENTS_MAX;
                excess -= usize::from(!kept);
                kept
            });
        }
        Ok(events)
    }

    /// The newest claim whose contents were erased: what the fast store's history still holds of it is not shown.
    async fn erased_up_to(&self, identity: Identity, events: &[Event]) -> Result<Option<Fence>> {
        let record = self.durable.look_up_one(identity).await?;
        let record = record
            .filter(|record| matches!(&record.state, State::Settled(settled) if settled.erased));
        let said = events
            .iter()
            .filter(|event| matches!(event.kind, EventKind::ContentsErased { .. }));
        let fences = said.map(|event| event.fence);
        Ok(fences.chain(record.map(|record| record.fence)).max())
    }

    /// What runs or is unknown stands in the fast store, what is settled in the durable one.
    pub(crate) async fn merged_list(&self, query: Query) -> Result<Page> {
        let Some(state) = query.state else {
            return self.list_all(query).await;
        };
        match state {
            StateFilter::Running | StateFilter::Unknown => self.list_unsettled(query).await,
            StateFilter::Succeeded
            | StateFilter::Failed
            | StateFilter::Settled
            | StateFilter::Archived => self.durable.list(query).await,
        }
    }

    /// A page of the fast store without what the durable one has settled: it may be short.
    async fn list_unsettled(&self, query: Query) -> Result<Page> {
        let Page { mut records, next } = self.fast.list(query).await?;
        let mut settled = self.settled_of(&records).await?.into_iter();
        records.retain(|_| settled.next().flatten().is_none());
        Ok(Page { records, next })
    }

    /// For each of the fast store's records, the durable one's of the same identity if it is settled.
    async fn settled_of(&self, records: &[Record]) -> Result<Vec<Option<Arc<Record>>>> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let identities = records.iter().map(|record| record.identity.clone());
        let found = all(self.durable.look_up(identities.collect()).await)?;
        let settled = found
            .into_iter()
            .map(|found| found.filter(|record| is_settled(record)));
        Ok(settled.collect())
    }

    async fn list_all(&self, query: Query) -> Result<Page> {
        let unsettled = |state| {
            self.list_unsettled(Query {
                state: Some(state),
                ..query.clone()
            })
        };
        let pages = [
            unsettled(StateFilter::Running).await?,
            unsettled(StateFilter::Unknown).await?,
            self.durable.list(query.clone()).await?,
        ];
        merged(pages, query.page_len())
    }

    /// Both stores sweep; operations that only the fast store still takes for unknown are ended there.
    pub(crate) async fn sweep_both(&self, limit: usize) -> Result<Swept> {
        let fast = self.fast.sweep(limit).await?;
        let durable = self.durable.sweep(limit).await?;
        self.end_settled_unknowns(limit).await?;
        Ok(Swept {
            leases_ended: fast.leases_ended + durable.leases_ended,
            // A copy is no record: its end is not counted.
            deleted: durable.deleted,
            archived: durable.archived,
            events_deleted: fast.events_deleted + durable.events_deleted,
            more: fast.more || durable.more,
        })
    }

    async fn end_settled_unknowns(&self, limit: usize) -> Result<()> {
        let query = Query {
            state: Some(StateFilter::Unknown),
            limit: limit.clamp(1, PAGE_MAX),
            ..Query::default()
        };
        let unknown = self.fast.list(query).await?.records;
        let settled = self.settled_of(&unknown).await?;
        let settled = unknown
            .iter()
            .zip(&settled)
            .filter_map(|(record, settled)| {
                let settled = settled.as_deref()?;
                let same_request = settled.fingerprint == record.fingerprint;
                Some(end_unknown(claim_of(record), settled, same_request))
            });
        let repair = Repair {
            decisions: settled.collect(),
            ..Repair::default()
        };
        self.repair(repair).await;
        Ok(())
    }

    /// An operation that the fast store takes for unknown and the durable one has settled counts as
    /// both until a claim or a sweep comes by.
    pub(crate) async fn merged_stats(&self) -> Result<Stats> {
        let fast = self.fast.stats().await?;
        let durable = self.durable.stats().await?;
        let sum = |a: Option<u64>, b: Option<u64>| match (a, b) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0) + b.unwrap_or(0)),
        };
        Ok(Stats {
            running: fast.running,
            unknown: fast.unknown,
            // The fast store's settled records are copies.
            settled: durable.settled,
            archived: durable.archived,
            late_outcomes: fast.late_outcomes + durable.late_outcomes,
            oldest_running: fast.oldest_running,
            oldest_unknown: fast.oldest_unknown,
            bytes: sum(fast.bytes, durable.bytes),
        })
    }
}

fn is_late(event: &Event) -> bool {
    matches!(event.kind, EventKind::LateOutcome(_))
}

/// The newest records of all pages. Where a page ends and its store has more, only what is newer
/// than that end is known whole. Both stores must list by fence.
fn merged(pages: [Page; 3], page_len: usize) -> Result<Page> {
    let ends = pages.iter().filter_map(|page| page.next.as_ref());
    let ends: Vec<Fence> = ends.map(Cursor::fence).collect::<Result<_>>()?;
    let whole_down_to = ends.into_iter().max();
    // A record may change its state between two pages; the later page knows it better.
    let mut seen = HashSet::new();
    let pages = pages.into_iter().rev().flat_map(|page| page.records);
    let mut records: Vec<Record> = pages
        .filter(|record| seen.insert(record.identity.clone()))
        .collect();
    records.retain(|record| whole_down_to.is_none_or(|end| record.fence >= end));
    records.sort_by_key(|record| std::cmp::Reverse(record.fence));
    let cut = records.len() > page_len;
    records.truncate(page_len);
    let next = match cut {
        true => records.last().map(|record| record.fence),
        false => whole_down_to,
    };
    Ok(Page {
        next: next.map(Cursor::before),
        records,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_core::{Fingerprint, Timestamp};

    #[test]
    fn a_record_that_changes_between_two_pages_is_listed_once_as_the_later_page_has_it() {
        let at = Timestamp::from_millis(5);
        let record = |key: &str, fence, state| Record {
            identity: Identity::parse("public", "a@1", key).unwrap(),
            fingerprint: Fingerprint::none(),
            fence: Fence::new(fence),
            attempt: 1,
            claimed_at: at,
            about: None,
            nonce: None,
            state,
        };
        let running = || State::Running { lease_until: at };
        let page = |records| Page {
            records,
            next: None,
        };
        let later = record("lost", 3, running());
        let pages = [
            page(vec![
                record("lost", 2, running()),
                record("other", 1, running()),
            ]),
            page(vec![later.clone()]),
            page(Vec::new()),
        ];
        let found = merged(pages, 9).unwrap().records;
        assert_eq!(found, [later, record("other", 1, running())]);
    }
}
