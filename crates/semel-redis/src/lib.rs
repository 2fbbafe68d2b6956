//! Semel's store on Redis, or on a Redis Cluster: fast, shared by any number of processes on any number of machines.
//!
//! Read it in this order: [`config`] says how to connect, and `checks` which servers are refused; `keys` and
//! `records` say what is where and what it looks like; `scripts/` are the happy paths, decided on the
//! server by its own time; `load` reads records and `engine` decides everything else by the protocol and makes the change if the record is
//! still what was decided on; `verbs`, `query` and `sweep` are the verbs; `connection` is the way to the
//! server; `orphans` gives back claims whose callers never heard of them; [`store`] puts it all behind [`semel_core::Store`].
//!
//! # What can be lost, and when
//!
//! Redis answers before its data is on disk or on a replica, unless it is told otherwise. A claim that is lost after
//! it was granted lets its operation run again; a lost settle ends as unknown. So it matters how the
//! server is run, and [`RedisStore::notes`] says what was found:
//!
//! - **`appendonly yes`, `appendfsync always`**: nothing is lost on one machine, not even by a power cut. Calls that come
//!   at the same time share one sync.
//! - **`appendfsync everysec`** (Redis's default with an append-only file): a crash of Redis loses nothing, a crash of the
//!   machine up to the last second or two.
//! - **Snapshots only**: a crash of Redis loses what came after the last snapshot.
//! - **Failover** (Sentinel, Cluster, managed services): replication is asynchronous. What the old primary granted and had not
//!   yet sent is unknown to the new one. `wait_replicas=N` grants a claim only once N replicas have it (`WAIT`). That
//!   makes the loss rare, not impossible: a replica that did not acknowledge may be the one that is promoted, and a primary
//!   that is cut off goes on for a while. With as many replicas waited for as there are, only a replica that falls out
//!   and comes back can miss a claim. A settle waits too, but is settled even if too few replicas answer: if it is lost, its operation
//!   is unknown, and nothing runs twice. While calls wait for replicas, others on the same connection wait with them.
//! - **Eviction**: a server that may evict keys is refused, because settled records expire and are the first to go.
//!
//! Sentinel itself is not asked: name an address that leads to the primary, as managed services have one. A connection that
//! finds itself on a replica is given up and made again.
//!
//! Fences grow with every claim of an identity, also over failover to a server with another clock: each is at least the server's
//! time and above the last one that its bucket knows. If that knowledge is lost with the rest of the data, time alone
//! makes them grow.
//!
//! While a slot of a cluster moves to another node, claims of its bucket wait until all of its keys have moved, and fail
//! as unavailable if that takes longer than the timeout.
//!
//! What this crate does not do: it keeps nothing in memory that matters, never lets a running or unknown record expire, and
//! never answers with what a server may have forgotten to say.

pub mod config;
pub mod store;

mod batch;
mod checks;
mod connection;
mod engine;
mod erase;
mod error;
mod events;
mod held;
mod items;
mod keys;
mod load;
mod orphans;
mod query;
mod records;
mod reply;
mod script;
mod sweep;
mod url;
mod verbs;

pub use config::Config;
pub use store::RedisStore;
