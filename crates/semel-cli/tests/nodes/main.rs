//! Three gateways on one store, one of them killed every second, all keys asked for at all of them:
//! effects are counted at the service, outside of every gateway.
//!
//! ```text
//! 8 operations at a time,        3 x semel gateway,               the service, which does
//! 3 callers each, which ask  ──▶ killed in turn and started  ──▶  what it is told, into
//! until they know                again, on one store              a ledger of files
//! ```
//!
//! [`control`] shows that the counting would notice: the same storm with a policy that does not fit the
//! service doubles effects.
#![expect(
    clippy::unwrap_used,
    reason = "a test fails where its expectation does"
)]

mod caller;
mod control;
mod findings;
mod fleet;
mod outage;
#[path = "../stripe/process.rs"]
#[allow(dead_code, reason = "the tests of stripe use all of it")]
mod process;
mod stores;
mod storm;
#[path = "../serving/support.rs"]
#[allow(dead_code, reason = "the tests of serving use all of it")]
mod support;
#[path = "../servers/test_store.rs"]
#[allow(dead_code, reason = "the tests of servers use all of it")]
mod test_store;
mod upstream;
