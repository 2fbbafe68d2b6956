//! The source and the outlet against a real server that speaks SQS: what is deleted, given back, extended and redelivered.

mod clients;
mod common;
mod conformance;
mod environment;
mod facts;
mod fifo;
mod outlet;
mod partly;
mod reading;
mod restart;
mod service;
mod soak;
