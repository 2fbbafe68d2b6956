//! Real servers for the tests, on private ports and in private directories.
//!
//! Each kind of server is one file with one [`service::Service`], listed in `registry.rs`.
//! A server lives in a [`Slot`]: the shared slot is what `services up` starts and
//! leaves running; every test run has a slot of its own for what it had to start
//! itself, so that two runs at once never stop each other's servers.
//!
//! State is kept under `.services/` in the workspace root. A server that an
//! environment variable names is used as it is: it is never started, stopped or
//! changed from here.

mod account;
mod command;
mod debian;
mod endpoint;
mod home;
mod lifecycle;
mod postgres;
mod process;
mod registry;
mod service;
mod slot;

pub(crate) use command::run;
pub(crate) use lifecycle::{Variable, for_tests, stop_run};
pub(crate) use slot::Slot;
