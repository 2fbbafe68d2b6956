//! A listener over real sockets.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod access;
mod certificates;
mod draining;
mod support;
#[cfg(unix)]
mod unix;
