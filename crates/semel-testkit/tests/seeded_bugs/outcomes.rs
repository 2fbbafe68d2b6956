//! The same store where it keeps outcomes for others.

use semel_core::Result;
use semel_core::record::Claim;
use semel_core::store::{
    Answers, Batch, KeepAnswer, KeepRequest, NoteRequest, OutcomeStore, Room, one, only,
};

use crate::bugs::Bug;
use crate::wrong::Wrong;

impl Wrong {
    async fn keep_item(&self, item: KeepRequest) -> Result<KeepAnswer> {
        let is_there = self.current(&item.claim.identity).await.is_some();
        match self.bug {
            Bug::KeepIgnored => Ok(KeepAnswer::Kept),
            Bug::KeepAgainIsSuperseded if is_there => Ok(KeepAnswer::Superseded),
            Bug::SupersededReportedAsKept => {
                only(self.memory.keep(one(item)).await)?;
                Ok(KeepAnswer::Kept)
            }
            _ => only(self.memory.keep(one(item)).await),
        }
    }

    async fn bar_item(&self, item: Claim) -> Result<Room> {
        if self.bug == Bug::BarIgnored {
            return Ok(Room::Open);
        }
        let identity = item.identity.clone();
        self.barred.lock().unwrap().insert(identity);
        only(self.memory.bar(one(item)).await)
    }

    async fn note_item(&self, item: NoteRequest) -> Result<()> {
        match self.bug {
            Bug::NotesDropped => Ok(()),
            _ => only(self.memory.note(one(item)).await),
        }
    }
}

impl OutcomeStore for Wrong {
    fn check(&self, items: Batch<Claim>) -> Answers<'_, Room> {
        self.memory.check(items)
    }

    fn keep(&self, items: Batch<KeepRequest>) -> Answers<'_, KeepAnswer> {
        Box::pin(self.each(items, move |item| self.keep_item(item)))
    }

    fn bar(&self, items: Batch<Claim>) -> Answers<'_, Room> {
        Box::pin(self.each(items, move |item| self.bar_item(item)))
    }

    fn note(&self, items: Batch<NoteRequest>) -> Answers<'_, ()> {
        Box::pin(self.each(items, move |item| self.note_item(item)))
    }
}
