//! Messages that take effect once: marker, effect and result commit together, and the caller is told when to
//! acknowledge.
//!
//! A message is acknowledged when its effect is durable and not before; a handler that fails rolls everything
//! back, the marker included, so that its redelivery runs it again. A duplicate is acknowledged with the first
//! one's result. The same id with another payload is neither: it wants a person. What is remembered of messages is swept in the background when
//! its time is over, as a store does it.
//!
//! ```no_run
//! use semel_postgres::consumer::{Consumer, Message, Next};
//!
//! # async fn consume(payload: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
//! let config = semel_postgres::Config::from_url("postgres://shop@db.internal/shop")?;
//! let consumer = Consumer::new(&config, "order-projection@1".parse()?)?;
//!
//! let message = Message::new("orders/0/4711")?.payload(payload);
//! let processed = consumer
//!     .process(&message, async |tx| {
//!         tx.execute("INSERT INTO projected (order_id) VALUES (4711)", &[]).await?;
//!         Ok::<_, tokio_postgres::Error>("projected".to_owned())
//!     })
//!     .await;
//! match processed.next() {
//!     Next::Acknowledge => { /* commit the offset, delete the message */ }
//!     Next::Redeliver { after } => { /* leave it; not before `after` */ }
//!     Next::Park => { /* to the dead letters: a person must look */ }
//! }
//! # Ok(()) }
//! ```

mod deliveries;
mod housekeeping;
mod message;
mod process;
mod processed;

pub use deliveries::Deliveries;
pub use message::Message;
pub use process::Consumer;
pub use processed::{Next, Processed};
