//! What a consumer wants: its whole policy, of which [`semel_core::inbox::Plan`] is the part that stores know.

pub mod consumer;
pub mod replay;
pub mod retry;
mod signal;

pub use consumer::{Ack, Alerts, Consumer};
pub use replay::Replay;
pub use retry::{Failure, Retry};
pub(crate) use signal::Signal;
