//! What callers of `Once` can rely on, on the store in memory.
//!
//! Most tests run in Tokio's paused time, which the store's clock follows (`support::clock`): leases end, waits
//! time out and retries pause in no real time and in the same order every time.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod batch;
mod begins;
mod callers;
mod drains;
mod duplicates;
mod failures;
mod hardship;
mod leases;
mod outages;
mod support;
mod unknowns;
