//! The heart of Semel: what "the same operation" means and how it takes effect once.
//!
//! Read it in this order:
//!
//! 1. [`identity`] and [`fingerprint`] say *which* operation is meant and *what* was asked.
//! 2. [`record`] and [`outcome`] hold what is known about it.
//! 3. [`protocol`] is the state machine: pure, total functions from a record to the next one.
//! 4. [`store`] is the trait that makes those transitions durable; [`memory`] is the simplest one.
//! 5. [`cache`] answers duplicates from memory, in front of any store.
//! 6. [`once`] runs a function under the protocol: claim, run, settle.
//! 7. [`inbox`] is the second trait: messages that wait to take effect.
//! 8. [`budget`] limits how much of anything there is at once; [`duplicate`] is what is reported of what came again.
//! 9. [`trace`] says which request or message caused what.
//!
//! This crate does no IO: it opens no file and no socket. It reads no clock but the
//! one it is given ([`clock`]), waits by the timer of the runtime that calls it, and names no store
//! but the one in memory.

pub mod budget;
pub mod cache;
pub mod clock;
pub mod duplicate;
pub mod duration;
pub mod error;
pub mod fingerprint;
pub mod identity;
pub mod inbox;
pub mod known;
pub mod memory;
pub mod once;
pub mod outcome;
pub mod policy;
pub mod protocol;
pub mod record;
pub mod store;
pub mod template;
pub mod trace;

pub use budget::{Budget, Permit};
pub use cache::Cached;
pub use clock::{Clock, ManualClock, ServerClock, SteadyClock, SystemClock, Timestamp};
pub use duplicate::Duplicate;
pub use error::{Error, Kind, Result};
pub use fingerprint::Fingerprint;
pub use identity::{Digest, Identity, Key, Scope, Tenant};
pub use inbox::Inbox;
pub use known::{About, Evidence};
pub use memory::MemoryStore;
pub use once::Once;

pub use outcome::{Body, Headers, Outcome, Verdict};
pub use policy::{InProgress, LeaseTerm, OnFailure, OnUnknown, Policy, Retention};
pub use record::{Claim, Event, EventKind, Fence, Lease, Record, State};
pub use store::{Store, StoreExt};
pub use template::Template;
pub use trace::{TraceContext, Tracer};
