//! Sources: where messages come from.
//!
//! A source delivers raw parts with an opaque handle; a [`Rule`] makes messages of them; the pump stores them and tells the source.
//! Nothing is acknowledged before it is durable. A consumer that acknowledges after the effect keeps its deliveries open until their messages
//! are dealt with or among the dead letters, and the engine's heartbeat extends the source's own leases meanwhile.

mod delivery;
pub mod file;
pub mod http;
mod keeper;
mod open;
mod pump;
pub mod rule;

pub use delivery::{Batch, Delivery, Handle, Raw};
pub use file::FileSource;
pub use http::{Signature, Webhook};
pub(crate) use open::Open;
pub(crate) use pump::{Feed, Pump};
pub use rule::{Compare, Locator, Refusal, Rule};

use std::time::Duration;

use semel_core::store::Answer;

/// Where messages come from: a broker, a queue, a file.
///
/// Futures are boxed, so that the trait stays object-safe. All methods may be called at the same time, but `next` only once at a time.
pub trait Source: Send + Sync + 'static {
    /// Its name, for people, and for the position that is kept in the store. It must be the same after a restart.
    fn name(&self) -> &str;

    /// Called once before the first delivery, with the position that the store has for it.
    fn resume(&self, position: Option<String>) -> Answer<'_, ()>;

    /// The next deliveries, at most so many. Waits until there is at least one, or the end.
    fn next(&self, max: usize) -> Answer<'_, Batch>;

    /// These were taken for good.
    fn ack(&self, handles: Vec<Handle>) -> Answer<'_, ()>;

    /// This one was not taken: it may be delivered again after so much time.
    fn nack(&self, handle: Handle, after: Duration) -> Answer<'_, ()>;

    /// This one can never be taken, for this reason. It must not be lost: it is set aside where people find it.
    fn reject(&self, handle: Handle, reason: String) -> Answer<'_, ()>;

    /// These are still being worked on: their leases begin anew.
    fn extend(&self, handles: Vec<Handle>) -> Answer<'_, ()>;

    /// How long a delivery may stay open unless it is extended; `None` if for ever.
    fn lease(&self) -> Option<Duration>;
}
