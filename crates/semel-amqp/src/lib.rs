//! RabbitMQ (AMQP 0-9-1) for Semel: [`AmqpSource`] reads a queue, [`AmqpOutlet`] publishes intents.
//!
//! How to read it: `url` takes addresses apart, `connection` connects and opens channels, `source` consumes and settles, `fields` maps
//! AMQP's properties and typed headers to headers and back, `outlet` publishes, `error` sorts the client library's errors.
//!
//! # What holds
//! - Nothing is acknowledged before it is asked for. What is not acknowledged is queued again by the broker when the channel ends: after a
//!   crash, a broken connection, or the broker's own timeout.
//! - Recovery is done here: a channel that the broker closes is reported as lost, all its delivery tags answer
//!   [`semel_inbox::source::Settled::Gone`], and another channel goes on. The client library recovers connections only, so its recovery
//!   is switched off.
//! - AMQP does not confirm acknowledgements. One that is lost with its connection makes a duplicate, which the record in the inbox recognises.
//! - At most [`semel_inbox::source::OPEN_MAX`] deliveries are unacknowledged (`basic.qos`), whatever their size; `prefetch` lowers that.
//!
//! Deliberately absent: declaring queues, exchanges and bindings; streams; a delay for what is given back, which AMQP does not have; the
//! delivery limit of quorum queues, which cannot be read over AMQP.
//!
//! ```
//! use semel_amqp::{AmqpOutlet, AmqpSource};
//! use semel_inbox::Source;
//!
//! let source = AmqpSource::from_url("amqp://guest:guest@127.0.0.1:5672/%2f?queue=orders", "billing")?;
//! assert_eq!(source.name(), "amqp:orders");
//! let outlet = AmqpOutlet::from_url("amqp://guest:guest@127.0.0.1:5672/%2f?exchange=events&routing_key=invoice.created")?;
//! # let _ = outlet;
//! # Ok::<(), semel_core::Error>(())
//! ```

mod connection;
mod error;
mod fields;
mod outlet;
mod source;
mod url;

pub use outlet::AmqpOutlet;
pub use source::AmqpSource;
