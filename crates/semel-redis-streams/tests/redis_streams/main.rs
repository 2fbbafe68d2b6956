//! The source and the outlet against a real Redis: what is acknowledged, lost, given back and redelivered.

mod common;
mod conformance;
mod failures;
mod leases;
mod outlet;
mod reading;
mod restart;
mod soak;
mod tls;
mod trimming;
