//! The windows between the two stores, each by name: what dies there, what is left, what the next
//! caller sees. The table in the crate's documentation says the same in words.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod claims;
mod copies;
mod decisions;
mod forgetting;
mod settles;
mod world;
