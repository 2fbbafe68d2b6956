//! What every store is held to, written once.
//!
//! - [`mod@conformance`]: the rules of the protocol as named tests; a store's crate runs them all by
//!   one line, [`conformance!`].
//! - [`inbox`]: the same for messages that wait to take effect, [`inbox_conformance!`].
//! - [`ledger`]: where effects are counted, outside every process that could be killed.
//! - [`crash`]: starts worker processes, kills them with SIGKILL at named and at random points, and
//!   compares the ledger with what callers were told.
//! - [`inbox_crash`]: the same for messages, from their source to what they send.
//! - [`faulty`]: a store that goes wrong as a test says; [`gate`]: where a test holds its tasks.
//! - [`storm`]: many callers with many duplicates while a fault is injected, and what became of them.
//! - [`proxy`]: a TCP proxy that cuts, stalls, refuses and loses replies on demand.
//! - [`results`]: what was found, for the table that the test command prints.
//! - [`server`]: private servers to pause, kill and restart.
//! - `sources` (feature `sources`): what every broker's source is held to, `source_conformance!`.
//! - `model` (feature `model`): the protocol under a model checker, with bugs seeded to show that it would find them.
//!
//! This crate names no durable store; each store's crate brings its own to these tests.

#[macro_use]
mod suite;

pub mod conformance;
pub mod crash;
pub mod faulty;
pub mod gate;
pub mod inbox;
pub mod inbox_crash;
mod killing;
pub mod ledger;
#[cfg(feature = "model")]
pub mod model;
pub mod proxy;
pub mod random;
pub mod results;
pub mod server;
#[cfg(feature = "sources")]
pub mod sources;
pub mod storm;
