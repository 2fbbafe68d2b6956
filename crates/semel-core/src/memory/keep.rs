//! Outcomes of claims that another store granted, in memory.

use super::{MemoryStore, Table};
use crate::clock::Timestamp;
use crate::protocol::{Change, Step};
use crate::record::{Claim, Event, Fence};
use crate::store::outcomes::{is_kept, room};
use crate::store::{Answers, Batch, KeepAnswer, KeepRequest, NoteRequest, OutcomeStore, Room};

impl Table {
    /// `other` is a fence in the way that is no bar.
    fn room(&self, claim: &Claim, other: Option<Fence>, now: Timestamp) -> Room {
        let Claim { identity, fence } = claim;
        let bar = self.bars.get(&identity.digest()).copied();
        room(self.current(identity), bar, other, *fence, now)
    }

    /// The archive has one place per fence.
    fn archived(&self, fence: Fence) -> Option<Fence> {
        self.archive.contains_key(&fence).then_some(fence)
    }

    fn keep(&mut self, request: &KeepRequest, now: Timestamp) -> KeepAnswer {
        let Claim { identity, fence } = &request.claim;
        let room = self.room(&request.claim, self.archived(*fence), now);
        if is_kept(&room, request) {
            return KeepAnswer::Kept;
        }
        if room != Room::Open {
            return KeepAnswer::Superseded;
        }
        self.last_fence = self.last_fence.max(fence.get());
        let step = Step {
            answer: KeepAnswer::Kept,
            change: Change::Grant(request.record(now)),
            events: Vec::new(),
            audit: None,
        };
        self.apply(identity, step)
    }

    fn bar(&mut self, claim: &Claim, now: Timestamp) -> Room {
        let room = self.room(claim, None, now);
        if room == Room::Open {
            self.bars.insert(claim.identity.digest(), claim.fence);
        }
        room
    }

    fn note(&mut self, item: NoteRequest, now: Timestamp) {
        let NoteRequest { claim, kind } = item;
        let event = Event {
            at: now,
            fence: claim.fence,
            kind,
        };
        let step = Step {
            answer: (),
            change: Change::None,
            events: vec![event],
            audit: None,
        };
        self.apply(&claim.identity, step);
    }
}

impl OutcomeStore for MemoryStore {
    fn check(&self, items: Batch<Claim>) -> Answers<'_, Room> {
        self.each(items, |table, claim, now| {
            Ok(table.room(&claim, table.archived(claim.fence), now))
        })
    }

    fn keep(&self, items: Batch<KeepRequest>) -> Answers<'_, KeepAnswer> {
        self.each(items, |table, item, now| {
            table.has_room()?;
            Ok(table.keep(&item, now))
        })
    }

    fn bar(&self, items: Batch<Claim>) -> Answers<'_, Room> {
        self.each(items, |table, claim, now| {
            table.has_room()?;
            Ok(table.bar(&claim, now))
        })
    }

    fn note(&self, items: Batch<NoteRequest>) -> Answers<'_, ()> {
        self.each(items, |table, item, now| {
            table.note(item, now);
            Ok(())
        })
    }
}
