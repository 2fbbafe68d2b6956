//! The layer around a real axum service, over real sockets, on a real store.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where its expectation does"
)]

mod answers;
mod callers;
mod fetched;
mod identity;
mod limits;
mod observing;
mod outcomes;
mod repeats;
mod replays;
mod reserved;
mod stored;
mod support;
mod traces;
