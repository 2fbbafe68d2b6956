//! The source and the outlet on a real broker, `SEMEL_TEST_KAFKA=127.0.0.1:PORT`.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail as the tests do")]

mod away;
mod balancing;
mod clients;
mod conformance;
mod facts;
mod java;
mod killed;
mod outlet;
mod processed;
mod reading;
mod sasl;
mod soak;
mod support;
#[cfg(feature = "tls")]
mod tls;
