//! Real servers and tools for the tests, on private ports and in private directories.
//!
//! They are data: `servers.rs` and `tools.rs` describe each of them, `registry.rs` lists them all. One runner starts and ends
//! any server by its description ([`server::Server`]), and one installer per kind of [`part`] brings what they are made of.
//! A server lives in a [`Slot`]: the shared slot is what `services up` starts and
//! leaves running; every test run has a slot of its own for what it had to start
//! itself, so that two runs at once never stop each other's servers. A test that stops,
//! freezes or kills a server starts one in a private slot.
//!
//! State is kept under `.services/` in the workspace root. A server that an
//! environment variable names is used as it is: it is never started, stopped or
//! changed from here. The same goes for a tool.

mod account;
mod command;
mod endpoint;
mod hold;
mod home;
mod lifecycle;
mod live;
mod options;
mod part;
mod port;
mod private;
mod probe;
mod program;
mod registry;
mod runner;
mod secret;
mod server;
mod servers;
mod setting;
mod slot;
mod template;
mod tool;
mod tools;
mod variable;
mod wait;

use crate::process;

pub(crate) use command::run;
pub(crate) use lifecycle::{for_tests, only, stop_abandoned_runs, stop_run};
pub(crate) use part::install_package;
pub(crate) use program::find as find_program;
pub(crate) use slot::{Slot, remove_dir};
pub(crate) use tool::installed;
pub(crate) use tools::{CARGO_DENY, MDBOOK};
pub(crate) use variable::Variable;
