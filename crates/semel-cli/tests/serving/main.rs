//! The serving verbs as a person runs them: real processes, real sockets, real signals.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where its expectation does"
)]

mod admin;
mod alerts;
mod asked_over_tls;
mod collector;
mod consumers_paused;
mod consumers_reloaded;
mod discovering;
mod endings;
mod handler;
mod known;
mod limited;
mod messages;
mod notified;
mod observing;
mod pasted;
mod programs;
mod python;
mod reconciling;
mod reloading;
mod repeats;
mod sealed;
mod support;
mod tokens;
mod traces;
