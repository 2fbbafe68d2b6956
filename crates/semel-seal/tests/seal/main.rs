//! Sealing in front of SQLite: the suites of stores and of inboxes, what is on disk, and the life of keys.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where its expectation does"
)]

mod conformance;
mod erasing;
mod keys;
mod messages;
mod on_disk;
mod receiving;
mod support;
