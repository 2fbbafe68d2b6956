//! What every store across a network needs, written once beside the trait.
//!
//! A call of a verb goes this way:
//!
//! 1. [`batcher`](super::batcher) collects the items of many callers into one round trip.
//! 2. The store implements [`Attempt`]: one round trip, in which each item is answered or fails by itself, and
//!    each [`Failure`] says what may help.
//! 3. [`answered`] tries again what may help to try again, and cuts a batch that failed as a whole into parts, so that
//!    only the culprit hears of it.
//! 4. A claim carries a [`Nonce`], by which its owner knows it again when the answer was lost.
//! 5. [`Orphans`] gives back the claims whose callers never learn of them.
//!
//! Nothing here speaks to a server or knows one. What a store need not use it leaves alone: one whose driver tries
//! again by itself, item by item, needs no [`Attempt`].

mod attempt;
mod nonce;
mod orphans;
mod pauses;

pub use attempt::{Attempt, COLLISIONS_MAX, Failure, Remedy, answered};
pub use nonce::Nonce;
pub use orphans::{GiveBack, GivenBack, ORPHANS_MAX, Orphan, Orphans, Unheard};
pub use pauses::Pauses;
