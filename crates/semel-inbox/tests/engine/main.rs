//! The engine at work on a real store: what runs, how often, and what others are told.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod acks;
mod alerts;
mod answers;
mod backlogs;
mod circuits;
mod deliveries;
mod faults;
mod files;
mod intents;
mod leases;
mod outlets;
mod providers;
mod repeats;
mod replays;
mod runs;
mod shutdowns;
mod sources;
mod steps;
mod support;
mod traces;
mod transactions;
mod unknowns;
mod webhook_limits;
mod webhooks;
