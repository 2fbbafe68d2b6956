//! Makes a request or a message take effect once.
//!
//! A payment is retried by a client that saw a time-out; a message is delivered twice; a process dies between
//! the effect and its acknowledgement. Semel gives each operation an identity (tenant, scope,
//! key), lets one caller at a time run it under a lease, and replays the recorded result to every other.
//!
//! # A function that takes effect once
//!
#![cfg_attr(feature = "macros", doc = "```")]
#![cfg_attr(not(feature = "macros"), doc = "```text")]
//! use semel::{MemoryStore, Once, idempotent};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Debug, PartialEq, Serialize, Deserialize)]
//! struct Receipt { number: u64, cents: u64 }
//!
//! #[idempotent(scope = "payments@1", key = "{order_id}", ttl = "7d")]
//! async fn charge(once: &Once, order_id: String, cents: u64) -> Result<Receipt, String> {
//!     // Talk to the payment provider here.
//!     Ok(Receipt { number: 1, cents })
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let once = Once::new(MemoryStore::new());
//! let first = charge(&once, "order-17".into(), 4_200).await?;
//! let again = charge(&once, "order-17".into(), 4_200).await?;
//! assert_eq!(first.value, again.value);
//! assert!(again.replayed);
//!
//! // The same order with another amount is a mistake, not a duplicate: nothing runs.
//! assert!(charge(&once, "order-17".into(), 9_900).await.is_err());
//! # Ok(()) }
//! ```
//!
//! # The same without a macro
//!
//! [`Once`] is what the attribute calls. It is there for identities and policies that are known only at run
//! time, and for batches.
//!
//! ```
//! use semel::{Fingerprint, Identity, MemoryStore, Once, Policy, Retention};
//! use std::time::Duration;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let once = Once::new(MemoryStore::new()).with_policy(Policy {
//!     retention: Retention::archive_after(Duration::from_secs(7 * 86_400))?,
//!     ..Policy::default()
//! });
//! let identity = Identity::parse("acme", "payments@1", "order-17")?;
//! let asked = Fingerprint::of(&("EUR", 4_200))?;
//! let charge = |run: semel::once::Run| async move {
//!     // A provider that refuses lower fences is safe from slow owners, too.
//!     Ok::<_, String>(format!("charged 42.00 EUR under fence {}", run.fence()))
//! };
//!
//! let first = once.operation(identity.clone(), asked).run(charge).await?;
//! let again = once.operation(identity, asked).run(charge).await?;
//! assert_eq!(first.value, again.value);
//! # Ok(()) }
//! ```
//!
//! # Crates and features
//!
//! Everything of [`semel_core`] is here under the same path. Each feature adds one crate:
//!
//! | feature | crate | what it adds |
//! |---|---|---|
//! | `amqp` | `semel-amqp` | the module `amqp`: RabbitMQ as a source of messages and as a target of intents |
//! | `client` | `semel-client` | the module `client`: retries with one key per operation |
//! | `http` | `semel-http` | the module `http`: a tower layer that guards a service's routes |
//! | `hybrid` | `semel-hybrid` | the module `hybrid`: claims in one store, outcomes in another |
//! | `inbox` | `semel-inbox` | the module `engine`: runs handlers for the messages of an [`inbox`] |
//! | `kafka` | `semel-kafka` | the module `kafka`: Apache Kafka in the same way |
//! | `macros` (default) | `semel-macros` | the `#[idempotent]` attribute |
//! | `nats` | `semel-nats` | the module `nats`: NATS JetStream in the same way |
//! | `postgres` | `semel-postgres` | the module `postgres`: a store in a PostgreSQL database, shared by many machines |
//! | `redis` | `semel-redis` | the module `redis`: a store on a Redis server or a Redis Cluster |
//! | `redis-streams` | `semel-redis-streams` | the module `redis_streams`: Redis Streams in the same way |
//! | `sqlite` (default) | `semel-sqlite` | the module `sqlite`: a durable store in one file |
//! | `sqlx` | `semel-sqlx` | the module `sqlx`: the verbs in a transaction of sqlx, and a consumer of messages |
//! | `sqs` | `semel-sqs` | the module `sqs`: Amazon SQS in the same way |
//!
//! [`MemoryStore`] forgets everything when the process ends; use it for tests.

#[doc(inline)]
pub use semel_core::*;

#[cfg(feature = "amqp")]
#[doc(inline)]
pub use semel_amqp as amqp;

#[cfg(feature = "client")]
#[doc(inline)]
pub use semel_client as client;

#[cfg(feature = "http")]
#[doc(inline)]
pub use semel_http as http;

#[cfg(feature = "hybrid")]
#[doc(inline)]
pub use semel_hybrid as hybrid;

#[cfg(feature = "inbox")]
#[doc(inline)]
pub use semel_inbox as engine;

#[cfg(feature = "kafka")]
#[doc(inline)]
pub use semel_kafka as kafka;

#[cfg(feature = "macros")]
#[doc(inline)]
pub use semel_macros::idempotent;

#[cfg(feature = "nats")]
#[doc(inline)]
pub use semel_nats as nats;

#[cfg(feature = "otel")]
#[doc(inline)]
pub use semel_otel as otel;

#[cfg(feature = "postgres")]
#[doc(inline)]
pub use semel_postgres as postgres;

#[cfg(feature = "redis")]
#[doc(inline)]
pub use semel_redis as redis;

#[cfg(feature = "redis-streams")]
#[doc(inline)]
pub use semel_redis_streams as redis_streams;

#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use semel_sqlite as sqlite;

#[cfg(feature = "sqlx")]
#[doc(inline)]
pub use semel_sqlx as sqlx;

#[cfg(feature = "sqs")]
#[doc(inline)]
pub use semel_sqs as sqs;

/// The examples of the README compile, too.
#[cfg(all(
    doctest,
    feature = "client",
    feature = "http",
    feature = "macros",
    feature = "postgres",
    feature = "sqlite",
    feature = "sqlx"
))]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// And those of the page about messages.
#[cfg(all(doctest, feature = "inbox", feature = "sqlite"))]
#[doc = include_str!("../../../docs/messages.md")]
struct Messages;

/// And those of the page about stores.
#[cfg(all(doctest, feature = "postgres", feature = "sqlx"))]
#[doc = include_str!("../../../docs/stores.md")]
struct Stores;
