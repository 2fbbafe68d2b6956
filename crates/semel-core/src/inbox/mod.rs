//! Messages that wait to take effect: the second trait, which stores on SQL implement over the same records.
//!
//! A message is an operation like any other: tenant + consumer (the scope) + message id (the key). What has been
//! dealt with is a settled record, the truth that suppresses duplicates; what is still to do is a row of *work*,
//! which is gone when the record is there. The message itself (payload, headers, where it came from) is
//! written once and never updated.
//!
//! ```text
//!             receive                claim_batch               finish: completed
//!   absent ───────────▶ RECEIVED ────────────────▶ IN_PROGRESS ─────────────────▶ COMPLETED          ┐
//!      │ unreadable,     ▲   ▲                      │  │  │  └─ skipped ─────────▶ SKIPPED_DUPLICATE ┴ record settled
//!      │ gap, conflict   │   └── returned unstarted ┘  │  │
//!      ▼                 │                             │  └─ retry ──▶ FAILED_RETRYABLE ──(its time comes)──▶ claim_batch
//!   PARKED ──────────────┘                             └─ terminal ──▶ FAILED_TERMINAL ┐  attempts used up ──▶ PARKED
//!      gap filled, or an operator's retry ◀────────────────────────────────────────────┘
//! ```
//!
//! A claim of work has a fence and a lease like any claim. A lease that ends makes the row claimable
//! again, with a higher fence; what the old owner brings then is kept as a late attempt and changes nothing. An owner
//! whose lease ended and whose row nobody has claimed since may still finish: its effect has happened, and
//! running it again would be the duplicate that we are here to avoid.
//!
//! Read on in this order: [`message`], [`state`], [`plan`] (what a consumer wants), [`order`], [`lanes`] (which message of a lane may run,
//! pure), [`work`] (claim and finish), [`positions`] (how far a source has come), [`seen`] and [`operate`] (what people see and do), [`edit`] (what they make of a message),
//! [`decide`] (what their acts come to, pure).

pub mod counting;
pub mod decide;
pub mod edit;
pub mod lanes;
pub mod message;
pub mod operate;
pub mod order;
pub mod plan;
pub mod positions;
pub mod seen;
pub mod state;
pub mod wake_up;
pub mod work;

pub use crate::record::Claim;
pub use counting::CountsCache;
pub use edit::{Edit, Edited};
pub use message::{Message, Origin};
pub use operate::{Action, Operation, Report, Selection};
pub use order::{Baseline, OnGap, OnTerminal, Order};
pub use plan::{Plan, UnknownPolicy};
pub use positions::{Progress, Taken};
pub use seen::{Attempt, Counts, Detail, Entry, Gap, Page, Pause, Query, Transition, WaitingLane};
pub use state::{Cause, State};
pub use wake_up::{WakeUp, WakeUps};
pub use work::{
    Arrivals, ClaimBatch, Claimed, Disposition, Finish, Finished, First, Intent, Job, Receipt,
    Renewal, Step, WorkerName,
};

use crate::identity::{Identity, Scope};
use crate::policy::LeaseTerm;
use crate::store::{Actor, Answer};

/// The most messages in one call of a verb.
pub const BATCH_MAX: usize = crate::store::BATCH_MAX;

/// A durable home for messages that wait to take effect.
///
/// As with [`crate::Store`], an `Err` means that nothing can be said about any item of the call: nothing is
/// acknowledged and nothing is run. Items are valid by construction.
pub trait Inbox: std::fmt::Debug + Send + Sync + 'static {
    /// Stores messages: one durable write for all. Only after it returns may a source be told.
    ///
    /// All messages must belong to the consumer of [`Arrivals::plan`]. A batch behaves as its messages would one
    /// after another. A known message is a duplicate, or, with another payload, a conflict, which is stored beside it
    /// under [`Message::as_conflict`] and parked. What a source could not read ([`Message::as_unreadable`]) is parked as it is.
    ///
    /// [`Arrivals::positions`] move with the messages or not at all: if one of them is owned by a newer reader, the whole call is refused
    /// as [`Kind::Fenced`](crate::Kind::Fenced), and nothing of it is stored. If one message alone is the reason of an error, the error says so
    /// ([`Error::is_about_an_item`](crate::Error::is_about_an_item)), and the others may be offered without it.
    fn receive(&self, arrivals: Arrivals) -> Answer<'_, Vec<Receipt>>;

    /// Makes the caller the owner of the positions of these partitions of a source, and says where they stand, in the order asked. The epoch
    /// of each grows by one, durably: the reader that took it before is [`Kind::Fenced`](crate::Kind::Fenced) from now on. A receive of the former
    /// owner that is under way is either in the positions that are answered or refused.
    fn take_positions(&self, source: String, partitions: Vec<String>) -> Answer<'_, Vec<Taken>>;

    /// Claims up to so many messages that are due, oldest due first: those received, those whose retry has come, and those whose owner's
    /// lease has ended. Claims are durable when this returns.
    fn claim_batch(&self, ask: ClaimBatch) -> Answer<'_, Claimed>;

    /// Extends the leases of everything that a worker still works on, in one call.
    fn renew(&self, claims: Vec<Claim>, lease: LeaseTerm) -> Answer<'_, Vec<Renewal>>;

    /// Ends attempts. Each item compares its fence; the intents of an item are stored with it or not at all.
    fn finish(&self, plan: Plan, items: Vec<Finish>) -> Answer<'_, Vec<Finished>>;

    /// Remembers a step of a handler and its result, if the claim still holds. A step that is there already stays as it is.
    fn remember_step(&self, claim: Claim, step: Step) -> Answer<'_, Renewal>;

    /// Moves the lanes of one consumer on where time or a change of its plan lets them: waits for missing versions that have lasted too long,
    /// messages that wait under an order that the consumer no longer has, and what a call left to do because it was too much for one commit.
    /// One bounded step; how many messages changed.
    fn advance_lanes(&self, plan: Plan, limit: usize) -> Answer<'_, usize>;

    /// Rings when something may have become due for a consumer. It may ring for nothing, and a process that died may fail to ring
    /// another: whoever waits also looks now and then.
    fn wake_up(&self, consumer: &Scope) -> WakeUp;

    /// One page of messages, the newest first.
    fn list_messages(&self, query: Query) -> Answer<'_, Page>;

    /// Where messages stand, in one call; `None` for those that are not known.
    fn states(&self, identities: Vec<Identity>) -> Answer<'_, Vec<Option<State>>>;

    /// All that is known about one message; `None` if it is not known.
    fn message(&self, identity: Identity) -> Answer<'_, Option<Detail>>;

    /// Which versions lanes wait for, at most so many lanes.
    fn gaps(&self, consumer: Scope, limit: usize) -> Answer<'_, Vec<Gap>>;

    /// The lanes of a consumer in which messages wait for others, that with the oldest of them first; at most so many lanes, of the oldest
    /// [`seen::WAITING_MAX`] messages that wait.
    fn waiting_lanes(&self, consumer: Scope, limit: usize) -> Answer<'_, Vec<WaitingLane>>;

    /// Counts for operators, one per consumer that has or had messages.
    fn counts(&self) -> Answer<'_, Vec<Counts>>;

    /// Changes the state of messages by an operator's hand, with a line in the audit; or says what it would do.
    fn operate(&self, operation: Operation) -> Answer<'_, Report>;

    /// Stops claims of a consumer's messages or lets them go on, in all processes and until the opposite is said,
    /// with a line in the audit. Messages are received all the same. Whether this changed anything.
    fn set_paused(
        &self,
        consumer: Scope,
        paused: bool,
        by: Actor,
        reason: Option<String>,
    ) -> Answer<'_, bool>;

    /// Makes a view of this name in the store, with the columns `consumer_name`, `message_id` and `processed_at`, for people and
    /// tools that look for a table of processed messages. Making it again changes nothing. The name is a plain identifier
    /// (`a-z`, `0-9`, `_`, at most 63 characters, no digit first) that does not begin with `semel_`; another kind of object of that name is an error.
    fn expose_processed(&self, view: String) -> Answer<'_, ()>;
}
