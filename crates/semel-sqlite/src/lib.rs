//! Semel's embedded store: one SQLite file, durable, no server to install.
//!
//! Read it in this order: [`config`] says how to open a file; `schema` and `migrations/` what is in it;
//! `records` and `verbs` turn the protocol's decisions into SQL inside a transaction; `job` is a call on its way to the `writer`,
//! the one thread that writes, many callers per commit; `reader` answers look-ups beside it, `counting` counts for operators;
//! `checkpoint`, `sweep` and `sweeper` keep the file small, `time` knows what time it is in it; [`store`] puts them behind [`semel_core::Store`].
//! [`tx`] does the same inside a transaction of the user's own; `keep` holds outcomes of claims that
//! another store granted. [`inbox`] is the second trait, [`semel_core::Inbox`], on the same file; [`helpers`] are statements for effects
//! that may be asked for twice.
//!
//! Several processes may open one file; SQLite's lock orders them, and nothing that matters is kept
//! in memory. What this crate does not do: it never uses the system's SQLite, and it never runs with
//! less than `synchronous=FULL`: a file, a file system or a build that cannot do that is refused at open.

mod at_once;
mod audit;
mod checkpoint;
pub mod config;
mod connection;
mod counting;
mod erase;
mod error;
mod fences;
pub mod helpers;
pub mod inbox;
mod job;
mod keep;
#[cfg(test)]
mod plans;
mod query;
mod queue;
mod reader;
mod records;
mod schema;
pub mod store;
mod sweep;
mod sweeper;
mod time;
pub mod tx;
mod verbs;
mod writer;

pub use config::Config;
pub use store::SqliteStore;
pub use tx::{claim_in, release_in, settle_in};

/// The version of the SQLite that is built in.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}
