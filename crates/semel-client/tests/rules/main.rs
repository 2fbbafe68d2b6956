//! The rules of the client, each against a real server on a loopback socket.
//!
//! No test measures time: waits are configured to be tiny where they happen, and too
//! long to be begun where a test is about their length.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod answers;
mod keys;
mod limits;
mod losses;
mod support;
mod waits;
