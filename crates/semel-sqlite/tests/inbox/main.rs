//! What is special about the inbox on SQLite: files, handles, the user's own transactions, housekeeping. The rules that all inboxes hold to
//! are in `inbox_conformance`.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod files;
mod fixture;
mod lanes;
mod own_tx;
mod people;
mod sweeping;
