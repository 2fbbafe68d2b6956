//! A real broker with duplicates among its messages, and an engine that is killed with SIGKILL again and again: effects equal distinct messages.
//!
//! The engine is a process of its own: the program of the test, started again with a variable that makes the very same test the engine. Its store is
//! a file that outlives it. What is counted lies outside of every process that is killed (`outside.rs`):
//!
//! - Each run of the handler writes a line. A run whose process is killed before its end is stored runs again under a new claim: such lines are
//!   counted as *repeated*. Two lines of one claim are wrong in any case.
//! - The effect is an intent, which the store keeps with the end of the run or not at all. Its key names the claim, so that two runs that both
//!   counted could not hide behind one key: a message with two keys is *doubled*. The provider writes a line for each request, and takes the same
//!   key twice for one effect, as providers with idempotency keys do: the second request is *repeated* as well.
//!
//! `SEMEL_SOAK_MESSAGES` is how many distinct messages there are, `SEMEL_SOAK_SEED` repeats the choices of a run.

mod engine;
mod member;
mod outside;
mod plan;
mod supervisor;
mod tally;

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use semel_core::Inbox;
use semel_inbox::Source;

use super::Broker;
use crate::results;

/// What happens within this, or the run has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a broker's crate brings along.
#[derive(Debug, Clone, Copy)]
pub struct Soak {
    /// The broker's row in the table of results.
    pub broker: &'static str,
    /// The test that calls [`Soak::run`], as its program knows it.
    pub test: &'static str,
    /// The source at an address.
    pub source: fn(&str) -> Arc<dyn Source>,
    /// The store in this file.
    pub inbox: fn(&Path) -> Arc<dyn Inbox>,
}

/// A fresh topic, queue or stream.
pub struct Topic {
    /// Where messages are published.
    pub broker: Box<dyn Broker>,
    /// The address of the engine that is killed, and of one that joins it and leaves.
    pub members: Vec<String>,
}

impl Soak {
    /// Runs it to its end, or, in a process that a run has started, serves as its engine. `fresh` makes the topic.
    pub async fn run(self, fresh: impl AsyncFnOnce() -> Topic) {
        if let Some(job) = member::Job::from_environment() {
            return engine::serve(self, job).await;
        }
        let topic = fresh().await;
        match tokio::spawn(supervisor::supervise(self, topic)).await {
            Ok(findings) => findings.report(self.broker),
            Err(error) => {
                // A run that ended early must not look like a run that was not made.
                results::record("crash", self.broker, &["failed".to_owned()]);
                resume_unwind(error.into_panic())
            }
        }
    }
}

impl std::fmt::Debug for Topic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Addresses may hold passwords.
        write!(f, "Topic with {} members", self.members.len())
    }
}
