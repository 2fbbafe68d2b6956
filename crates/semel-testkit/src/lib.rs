//! Conformance suite, crash harness, effect ledger and protocol model for Semel stores

pub mod model;
