//! The source and the outlet on a real server.
#![expect(
    clippy::unwrap_used,
    reason = "a test ends where something unexpected happens"
)]

mod advisories;
mod clients;
mod conformance;
mod loss;
mod outlet;
mod reading;
mod restart;
mod soak;
mod tls;
mod world;
