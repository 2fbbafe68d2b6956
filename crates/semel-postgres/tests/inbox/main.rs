//! The inbox where PostgreSQL makes a difference: several machines, races, the layout of its tables, transactions of the
//! user's own, broken connections.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

#[path = "../support/mod.rs"]
mod support;

mod cut;
mod erasing;
mod holding;
mod layout;
mod machines;
mod months;
mod races;
mod transactions;
mod verbs;
