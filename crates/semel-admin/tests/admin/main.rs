//! The admin side over real sockets, on a real store.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod alerts;
mod browsing;
mod claims;
mod dashboard;
mod docs;
mod duplicates;
mod editing;
mod erasing;
mod fuzz;
mod gate;
mod grouping;
mod health;
mod http;
mod inbox;
mod limits;
mod many;
mod memory;
mod message_pages;
mod metrics;
mod nonces;
mod openapi;
mod operating;
mod overview;
mod pages;
mod races;
mod reconciling;
mod records;
mod refusals;
mod server;
mod tokens;
mod typed;
mod waits;
mod watched;
