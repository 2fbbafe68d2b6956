//! A second, small trait: keeping outcomes of claims that were granted by another store.
//!
//! A hybrid claims in a fast store and keeps outcomes in a durable one. The durable one is the
//! arbiter: of two owners of one identity at most one can keep its outcome, whatever the fast store
//! has forgotten. To that end it knows, besides settled records, *bars*: "only claims of this
//! fence or higher may keep". A takeover bars before it runs, so an old owner comes either before
//! the bar, and the new one finds its outcome, or after it, and is refused.
//!
//! What every implementation holds to, and the suite `conformance::outcomes` checks:
//!
//! - `keep` and `bar` of one identity never pass each other: whichever commits second sees the first.
//!   Both decide by [`room`], or by a statement that says the same.
//! - Fences come with the items. The store never draws one for a kept record.
//! - Instants and retention are the store's own: `at` is its clock when the record is kept,
//!   `expires_at` is `at` plus the retention, `claimed_at` is what was brought but never later than `at`.
//! - A kept record is a settled record like any other: it is looked up, listed, counted, swept,
//!   archived and erased as one, and answers the store's own claims. A bar is none of that: an
//!   identity that has only a bar is absent, and nothing shows it.
//! - A bar outlives the sweep of records. It goes no sooner than old events do.
//! - A batch behaves as its items would one after another, in order, and each item is answered by itself.

use std::sync::Arc;
use std::time::Duration;

use super::{Answers, Batch, Store};
use crate::clock::Timestamp;
use crate::fingerprint::Fingerprint;
use crate::known::About;
use crate::outcome::{Outcome, Settled};
use crate::policy::Retention;
use crate::protocol::Standing;
use crate::record::{Claim, EventKind, Fence, Record, State};

/// A store that can keep outcomes of claims that were granted elsewhere.
pub trait OutcomeStore: Store {
    /// Says what stands in the way of each claim's outcome. Writes nothing and waits for no writer.
    fn check(&self, items: Batch<Claim>) -> Answers<'_, Room>;

    /// Keeps outcomes under the fences that they bring. Kept ones are durable when this returns.
    ///
    /// A record whose retention has ended makes room, and goes to the archive if that was asked of it.
    /// A refused outcome is not written down; [`OutcomeStore::note`] can do that.
    fn keep(&self, items: Batch<KeepRequest>) -> Answers<'_, KeepAnswer>;

    /// From now on only claims of these fences or higher may keep an outcome: the answer to that is
    /// [`Room::Open`]. With any other answer nothing has changed. Bars are durable when this returns.
    /// A fence may be used for a bar here and for the record of another identity.
    fn bar(&self, items: Batch<Claim>) -> Answers<'_, Room>;

    /// Adds events to the history, at the store's own time and under its usual limits.
    fn note(&self, items: Batch<NoteRequest>) -> Answers<'_, ()>;
}

/// An outcome to keep, with all that the granting store knows about its claim.
#[derive(Debug, Clone)]
pub struct KeepRequest {
    /// The claim under which it was run; its fence becomes the record's.
    pub claim: Claim,
    /// What was asked.
    pub fingerprint: Fingerprint,
    /// Which attempt it was.
    pub attempt: u32,
    /// When the claim was granted, by the clock of the store that did.
    pub claimed_at: Timestamp,
    /// What was asked, for people.
    pub about: Option<About>,
    /// What came of it.
    pub outcome: Outcome,
    /// How long the run took.
    pub took: Duration,
    /// How long to keep it, from the moment when it is kept.
    pub retention: Retention,
    /// Whether a decision about an unknown outcome brought it.
    pub resolved: bool,
}

impl KeepRequest {
    /// The record to write if it is kept at `now`.
    pub fn record(&self, now: Timestamp) -> Record {
        Record {
            identity: self.claim.identity.clone(),
            fingerprint: self.fingerprint,
            fence: self.claim.fence,
            attempt: self.attempt,
            // Stores tell time by their newest claim: a foreign clock must not move theirs.
            claimed_at: self.claimed_at.min(now),
            about: self.about.clone(),
            nonce: None,
            state: State::Settled(Settled {
                outcome: self.outcome.clone(),
                at: now,
                took: self.took,
                expires_at: now.after(self.retention.keep()),
                archive: self.retention.archive(),
                resolved: self.resolved,
                erased: false,
            }),
        }
    }
}

/// The answer to a keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeepAnswer {
    /// The outcome is on record. Also the answer to a keep that is sent again.
    Kept,
    /// Another outcome is on record, or a higher claim has barred this one; nothing changed.
    Superseded,
}

/// What stands in the way of an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Room {
    /// Nothing.
    Open,
    /// An outcome is on record and its retention lasts.
    Settled(Arc<Record>),
    /// This fence: a bar above the claim's, or a claim that the store has had on record already.
    Barred(Fence),
}

/// Something to remember about a claim.
#[derive(Debug, Clone)]
pub struct NoteRequest {
    /// The claim that it concerns.
    pub claim: Claim,
    /// What happened.
    pub kind: EventKind,
}

/// What stands in the way of an outcome under `fence`: the one decision behind the trait's verbs.
///
/// `current` is the identity's stored record, whatever the clock says about it; `bar` its bar;
/// `other` is `fence` itself if the store's layout has room for one record of a fence, and another
/// record, or one in the archive, has that place already: the granting store has drawn it twice. Bars
/// take up no such place, so for [`OutcomeStore::bar`] it is `None`.
pub fn room(
    current: Option<&Record>,
    bar: Option<Fence>,
    other: Option<Fence>,
    fence: Fence,
    now: Timestamp,
) -> Room {
    match Standing::of(current, now) {
        Standing::Settled { record, .. } => return Room::Settled(Arc::new(record.clone())),
        // The store has granted the identity itself: whoever mixes the two gets no second owner.
        Standing::Running { record, .. }
        | Standing::Ended { record, .. }
        | Standing::Unknown { record, .. } => return Room::Barred(record.fence),
        Standing::Absent => {}
    }
    // An outcome whose retention has ended was once kept: nothing as old comes after it.
    let past = current.map(|record| record.fence);
    let in_the_way = [
        bar.filter(|bar| *bar > fence),
        past.filter(|past| *past >= fence),
        other,
    ];
    let highest = in_the_way.into_iter().flatten().max();
    highest.map_or(Room::Open, Room::Barred)
}

/// Whether `room` is taken by this very outcome: the keep was sent again because its answer was lost.
pub fn is_kept(room: &Room, request: &KeepRequest) -> bool {
    match room {
        Room::Settled(record) => {
            record.fence == request.claim.fence
                && matches!(&record.state, State::Settled(settled) if settled.is_of(&request.outcome))
        }
        Room::Open | Room::Barred(_) => false,
    }
}
