//! The source and the outlet on a real broker.
#![expect(
    clippy::unwrap_used,
    reason = "a test ends where something unexpected happens"
)]

mod clients;
mod conformance;
mod effect;
mod loss;
mod outlet;
mod reading;
mod restart;
mod soak;
mod tls;
mod world;
