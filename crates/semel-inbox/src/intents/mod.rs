//! Intents: what handlers want sent to others, stored with their effect and sent by the engine.
//!
//! An intent is a message of its own, of the consumer `intent:TARGET@1`. Its id follows from the message that wants it and the
//! intent's name, so it is the same over attempts, crashes and replays, and so is the key that the provider is given. What the provider
//! answered is the intent's outcome.
//!
//! | the provider | the intent |
//! |---|---|
//! | 2xx | done; status, some headers and the body are kept |
//! | 408, 409, 425, 429, 503 | tried again, not before `Retry-After` |
//! | it was not reached | tried again, and the attempt does not count |
//! | 401 or 403, several times in a row and nothing succeeds | its circuit opens: tried again, and the attempt does not count, until a request succeeds |
//! | other 3xx and 4xx | failed for good |
//! | other 5xx, no answer in time, or the connection broke after something was sent | unknown: [`OnUnknown`] decides |
//! | it was first sent so long ago that its key would no longer be recognised | parked with cause `key-expired`, not sent; an operator's retry with a new key sends it |
//!
//! A target may also be a topic, queue, subject or stream of a broker: an [`Outlet`]. What the broker refuses has failed for good, what did not reach
//! it is tried again, and what may have reached it is published again with the same id unless the target holds it.
//!
//! A provider that is away opens the circuit of its target as a handler does that of its consumer: see [`crate::deliver`].

mod convention;
mod draft;
mod field;
mod http;
mod outlet;
mod publisher;
mod reconcile;
mod sender;
mod target;
mod targets;

pub use crate::vendors::Vendor;
pub use convention::KeyPlace;
pub use draft::Draft;
pub use outlet::{Outgoing, Outlet, Sending, Sent};
pub use reconcile::ReconcileUrl;
pub(crate) use sender::Sender;
pub(crate) use target::{CONSUMER_PREFIX, scope as target_scope};
pub use target::{OnUnknown, Target};
pub(crate) use targets::Targets;
