//! Semel's store on PostgreSQL: many processes on many machines share one database.
//!
//! Read it in this order: [`config`] says how to reach a database; `schema` and `migrations/` what is in it;
//! `sql/` what is asked of it. `verbs` are the verbs: a batch of the usual is one statement, the unusual
//! is decided by the protocol under the rows' locks (`session`). `engine` sends batches and knows what to do when one goes
//! wrong; `orphans` gives back claims whose callers never heard of them. `keep` holds outcomes of claims that another store granted. `sweep` and `partitions` keep the tables small; [`store`]
//! puts all of it behind [`semel_core::Store`]. [`tx`] does the same inside a transaction of the user's own, and
//! [`consumer`] processes messages with it. [`inbox`] keeps messages that wait to take effect, behind [`semel_core::Inbox`]; [`helpers`] make a handler's own statements
//! safe to repeat.
//!
//! Leases and retention are judged by the server's clock. What this crate does not do: it keeps no session state that
//! a pooler in transaction mode would lose, and it never takes an answer for granted that it has not read.

pub mod config;
pub mod consumer;

mod audit;
mod connection;
mod engine;
mod erase;
mod error;
pub mod helpers;
pub mod inbox;
mod keep;
mod notes;
mod orphans;
mod partitions;
mod query;
mod records;
mod schema;
mod session;
mod sql;
pub mod store;
mod sweep;
mod tls;
pub mod tx;
mod value;
mod verbs;

pub use config::Config;
pub use store::PostgresStore;
pub use tx::{claim_in, release_in, settle_in};
