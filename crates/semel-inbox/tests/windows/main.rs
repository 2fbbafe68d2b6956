//! What becomes of a message when its process dies, window by window: real engines in real processes, ended with SIGKILL, on every
//! store, with effects counted outside of them.
//!
//! The supervisor plays the source, which delivers at least once, and the provider, which knows its callers' keys. It starts this very program as a
//! worker, which stands still at a window and says so; the supervisor kills it, looks at what it left, starts another one without a
//! window, waits until all is final, and counts. Then the source delivers once more, and it counts again.
//!
//! Beside the windows there are the scenarios that every idempotent consumer should be tested with; those without a death run in this process.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod kills;
mod outside;
mod process;
mod runner;
mod scenarios;
mod stage;
mod workshop;

use std::process::ExitCode;

fn main() -> ExitCode {
    match process::Job::from_environment() {
        Some(job) => {
            process::work(job);
            ExitCode::SUCCESS
        }
        None => runner::run(),
    }
}
