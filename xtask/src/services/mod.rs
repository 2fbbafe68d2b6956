//! Real servers and tools for the tests, on private ports and in private directories.
//!
//! Each kind of server is one file with one [`service::Service`], each kind of tool one
//! file with one [`tool::Tool`]; `registry.rs` lists them all.
//! A server lives in a [`Slot`]: the shared slot is what `services up` starts and
//! leaves running; every test run has a slot of its own for what it had to start
//! itself, so that two runs at once never stop each other's servers. A test that stops,
//! freezes or kills a server starts one in a private slot.
//!
//! State is kept under `.services/` in the workspace root. A server that an
//! environment variable names is used as it is: it is never started, stopped or
//! changed from here. The same goes for a tool.

mod account;
mod apps;
mod cargo_tool;
mod command;
mod debian;
mod endpoint;
mod home;
mod lifecycle;
mod live;
mod nginx;
mod options;
mod pgbouncer;
mod port;
mod postgres;
mod private;
mod program;
mod python;
mod redis;
mod registry;
mod secret;
mod service;
mod setting;
mod slot;
mod tool;
mod variable;
mod wait;

use crate::process;

pub(crate) use cargo_tool::{CARGO_DENY, MDBOOK, installed};
pub(crate) use command::run;
pub(crate) use debian::install as install_package;
pub(crate) use lifecycle::{for_tests, stop_abandoned_runs, stop_run};
pub(crate) use program::find as find_program;
pub(crate) use slot::{Slot, remove_dir};
pub(crate) use variable::Variable;
