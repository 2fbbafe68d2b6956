//! Sources: where messages come from.
//!
//! A source delivers raw parts with an opaque handle; a [`Rule`] makes messages of them; the pump stores them and settles the handles.
//! Nothing is acknowledged before it is durable. A consumer that acknowledges after the effect keeps its deliveries open until their messages
//! are dealt with or among the dead letters, and the engine's heartbeat extends the source's own leases meanwhile.
//!
//! What cannot be read is not rejected, because brokers drop what is rejected: it is stored in the inbox as PARKED with cause `unreadable`, and
//! then acknowledged as any other delivery.

pub mod address;
pub mod buffer;
mod delivery;
mod event;
mod facts;
pub mod file;
mod held;
pub mod http;
mod keeper;
mod notes;
mod open;
mod pump;
pub mod rule;
mod settle;
mod status;
mod trail;
mod watermark;

pub use delivery::{Delivery, Handle, HeaderField, Raw};
pub use event::{Batch, Event, Gone, Partition, Position, Want};
pub use facts::{DeliveryLimit, Facts, Retained};
pub use file::FileSource;
pub use http::{Signature, StandardKey, Webhook};
pub use notes::{Notes, edited_headers};
pub(crate) use notes::{delivered_before, is_note};
pub use open::OPEN_MAX;
pub(crate) use open::Open;
pub(crate) use pump::{Feed, Pump};
pub use rule::{Compare, Locator, Refusal, Rule};
pub use settle::{Settle, Settled, SourceLease};
pub use status::{SourceState, SourceView, Sources};
pub use watermark::Watermark;

use semel_core::store::Answer;

/// Where messages come from: a broker, a queue, a file.
///
/// Futures are boxed, so that the trait stays object-safe. All methods may be called at the same time, but `next` only once at a time. An
/// error says by its kind whether it passes: after one that does, the call is made again with growing pauses; after another one too, but
/// seldom, and operators see it as the source's state.
pub trait Source: Send + Sync + 'static {
    /// Its name, for people, and for positions that are kept in the store. It must be the same after a restart.
    fn name(&self) -> &str;

    /// How long a delivery may stay open; `None` if for ever.
    fn lease(&self) -> Option<SourceLease> {
        None
    }

    /// The partitions whose positions are kept in the store together with the messages; none for a broker that keeps them itself.
    fn kept_partitions(&self) -> Vec<Partition> {
        Vec::new()
    }

    /// Called before the first delivery, with the positions that the store has of [`Source::kept_partitions`]. After an error it is called again.
    fn open(&self, positions: Vec<(Partition, Position)>) -> Answer<'_, ()>;

    /// The next deliveries, or what happened to earlier ones. Waits until there is something.
    ///
    /// It may be dropped at any moment, and loses nothing then: what it had taken is delivered by the next call. With a [`Want`] of no messages
    /// it delivers none, but says what became of earlier ones.
    fn next(&self, want: Want) -> Answer<'_, Event>;

    /// Answers deliveries, each by itself: the same number of results in the same order. A handle whose delivery is no longer this
    /// reader's is [`Settled::Gone`], whatever was asked.
    fn settle(&self, items: Vec<(Handle, Settle)>) -> Answer<'_, Vec<Settled>>;

    /// What the broker says about itself.
    fn facts(&self) -> Answer<'_, Facts> {
        Box::pin(async { Ok(Facts::default()) })
    }

    /// Ends well: what was acknowledged reaches the broker, the rest may be delivered elsewhere at once. Nothing is called afterwards.
    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}
