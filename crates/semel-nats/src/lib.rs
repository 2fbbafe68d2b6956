//! NATS JetStream for Semel: [`NatsSource`] reads a stream through a durable pull consumer, [`NatsOutlet`] publishes intents.
//!
//! How to read it: `url` takes addresses apart, `connection` connects, `source` attaches to the consumer, pulls and settles, `outlet`
//! publishes, `facts` says what the server says about retention and limits, `error` sorts the client library's errors.
//!
//! # What holds
//! - Nothing is acknowledged before it is asked for, and an acknowledgement counts once the server has confirmed it.
//! - A delivery that is not acknowledged comes again when its `ack_wait` ends, after a crash too.
//! - The server accepts the late acknowledgement of an older delivery (nats-server #4786), even while the message is being worked on
//!   again elsewhere. Whether a message has taken effect is therefore decided by its record in the inbox, never by the broker's state.
//! - A consumer or stream that was deleted makes all its deliveries [`semel_inbox::source::Settled::Gone`]. The durable consumer is made
//!   again where it stood; a stream is never made here.
//! - At most [`semel_inbox::source::OPEN_MAX`] deliveries are open over all processes that share the durable consumer.
//! - A stream that catches advisories about deliveries that reached `MaxDeliver` is read as the messages that they are about.
//!
//! Deliberately absent: push consumers, core NATS without JetStream, and making streams.
//!
//! ```
//! use semel_inbox::Source;
//! use semel_nats::{NatsOutlet, NatsSource};
//!
//! let source = NatsSource::from_url("nats://127.0.0.1:4222/ORDERS?subject=orders.%3E&ack_wait=30s", "billing")?;
//! assert_eq!(source.name(), "nats:ORDERS/billing");
//! let outlet = NatsOutlet::from_url("nats://127.0.0.1:4222/invoices.created")?;
//! # let _ = outlet;
//! # Ok::<(), semel_core::Error>(())
//! ```

mod connection;
mod error;
mod facts;
mod outlet;
mod source;
mod url;

pub use outlet::NatsOutlet;
pub use source::NatsSource;
