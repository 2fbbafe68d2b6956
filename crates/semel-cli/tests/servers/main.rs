//! The binary on stores that are servers: its verbs, a gateway that is killed, servers that are away, and
//! passwords that nobody sees.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where its expectation does"
)]

mod away;
mod brokers;
mod checking;
#[path = "../serving/handler.rs"]
#[allow(dead_code, reason = "the tests of serving use all of it")]
mod handler;
mod messages;
mod serving;
#[path = "../serving/support.rs"]
#[allow(dead_code, reason = "the tests of serving use all of it")]
mod support;
mod test_store;
mod verbs;
