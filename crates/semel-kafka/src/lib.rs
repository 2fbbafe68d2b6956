//! Apache Kafka for Semel: [`KafkaSource`] reads topics as a member of a consumer group, [`KafkaOutlet`] publishes to a topic.
//!
//! ```
//! use semel_kafka::{KafkaOutlet, KafkaSource};
//!
//! let source = KafkaSource::from_url("kafka://127.0.0.1:9092/case-events?session=45s", "notification-sender")?;
//! let outlet = KafkaOutlet::from_url("kafka://127.0.0.1:9092/notifications")?;
//! # let _ = (source, outlet);
//! # Ok::<(), semel_core::Error>(())
//! ```
//!
//! To read the crate: `url` is the address, `source` the member of the group and its thread, `outlet` the producer, [`processed`] a consumer without a
//! database, `facts` what the broker says about its topics, `error` what passes by itself and what does not.
//!
//! # What holds
//! - An offset is committed only when it and everything before it in its partition is acknowledged. What was not comes again after a crash.
//! - Before a partition goes to another member, what was delivered of it is stored and committed, as long as that takes no more than ten seconds
//!   or a third of the session. Of a partition that was lost already nothing is committed, and its handles answer
//!   [`Settled::Gone`](semel_inbox::source::Settled::Gone).
//! - A member polls while its inbox is slow or away, so it keeps its partitions; it reads ahead at most
//!   [`OPEN_MAX`](semel_inbox::source::OPEN_MAX) messages and 32 MiB.
//! - What is given back is delivered again by this member; Kafka itself has no such thing.
//! - Coordinates are `TOPICID/PARTITION/OFFSET`: a topic that was made anew has another id.
//!
//! # What is absent
//! Kafka's next group protocol (KIP-848). Topics are neither created nor matched by patterns.

mod error;
mod facts;
mod log;
mod outlet;
pub mod processed;
mod source;
mod url;

/// The largest message that producers here take, in bytes. librdkafka's own bound of 1,000,000 is below the brokers' default; the topic's
/// `max.message.bytes` decides.
const MESSAGE_MAX: &str = "67108864";

pub use outlet::KafkaOutlet;
pub use processed::ProcessedLog;
pub use source::KafkaSource;
