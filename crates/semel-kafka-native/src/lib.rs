//! What librdkafka knows and its safe binding does not say: the ids of topics, whether a message that failed may have reached the broker,
//! and headers whose names are any bytes.
//!
//! Each module is one call into librdkafka with its arguments checked and its results copied; no pointer leaves this crate, and there are no
//! decisions here.

mod headers;
mod persisted;
mod topics;

pub use headers::{Header, headers};
pub use persisted::{Persisted, persisted};
pub use topics::{Described, describe};
