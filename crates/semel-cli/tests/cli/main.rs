//! The binary as people and scripts meet it: its words, its JSON, its refusals and its exit codes.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod alerts_pages;
mod chart;
mod checking;
mod correcting;
mod deciding;
mod demo;
mod discovering;
mod dist;
mod encryption;
mod erasing;
mod failing;
mod finding;
mod fixture;
mod helping;
mod inbox;
mod many;
mod metrics_page;
mod packaging;
mod pages;
mod policy;
mod reading;
mod schema_page;
mod tokens;
