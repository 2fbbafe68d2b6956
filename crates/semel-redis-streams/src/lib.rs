//! Redis Streams as a source of messages and as a target of intents.
//!
//! Read [`RedisStreamsSource`] first: it reads one stream through a consumer group. Beside it [`RedisStreamsOutlet`] appends to one.
//! `url` says what an address is, `entry` what of an entry becomes what of a message, `scripts/` what the server does in one step.
//!
//! What holds:
//! - An entry is acknowledged (`XACK`) when the inbox has it and not before. What is not acknowledged comes again, here or elsewhere, after the idle time.
//! - An answer counts only as long as the delivery is this reader's: its consumer and the number of its deliveries are compared on the server, in
//!   the same step. A late acknowledgement does not take an entry from the reader that has it now.
//! - An entry that is given back is claimable after the delay that was asked for, but never later than after the idle time.
//! - Entries that were deleted or trimmed before they were read, or while they were given back, are lost. They are counted and warned about. What
//!   this reader has in memory then is delivered and can be acknowledged, but no other reader can have it.
//! - A stream that was deleted and made anew has other coordinates: the group has a consumer `semel-returned-…` which holds no message
//!   for long and whose name lives as long as the group.
//!
//! Deliberately absent: Redis Cluster (a stream is on one node; name that), trimming by the source, servers before Redis 7.
//!
//! ```no_run
//! use semel_inbox::Source;
//! use semel_redis_streams::RedisStreamsSource;
//!
//! # async fn example() -> semel_core::Result<()> {
//! let source = RedisStreamsSource::from_url("redis-streams://127.0.0.1:6379/orders?create=true", "billing")?;
//! source.open(Vec::new()).await?;
//! # Ok(())
//! # }
//! ```

mod entry;
mod error;
mod facts;
mod link;
mod outlet;
mod source;
mod url;

pub use outlet::RedisStreamsOutlet;
pub use source::RedisStreamsSource;
