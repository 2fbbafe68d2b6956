//! Intents: what handlers want sent to others, stored with their effect and sent by the engine.
//!
//! An intent is a message of its own, of the consumer `intent:TARGET@1`. Its id follows from the message that wants it and the
//! intent's name, so it is the same over attempts, crashes and replays, and so is the key that the provider is given. What the provider
//! answered is the intent's outcome.
//!
//! | the provider | the intent |
//! |---|---|
//! | 2xx | done; status, some headers and the body are kept |
//! | 408, 409, 425, 429, 503, or it was not reached | tried again, not before `Retry-After` |
//! | other 3xx and 4xx | failed for good |
//! | other 5xx, no answer in time, or the connection broke after something was sent | unknown: [`OnUnknown`] decides |
//! | its key would no longer be recognised | parked with cause `key-expired`, not sent |

mod convention;
mod draft;
mod field;
mod reconcile;
mod sender;
mod target;
mod targets;

pub use crate::vendors::Vendor;
pub use convention::KeyPlace;
pub use draft::Draft;
pub use reconcile::ReconcileUrl;
pub(crate) use sender::Sender;
pub(crate) use target::CONSUMER_PREFIX;
pub use target::{OnUnknown, Target};
pub(crate) use targets::Targets;
