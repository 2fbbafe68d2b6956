//! The source and the outlet against a real server that speaks SQS: what is deleted, given back, extended and redelivered.

mod clients;
mod common;
mod conformance;
mod facts;
mod outlet;
mod reading;
mod restart;
mod soak;
