//! Stripe's own client, unchanged, charges through the gateway while processes are killed.
//!
//! ```text
//! client.py                    semel                         upstream.py
//! the official SDK, its ──▶ gateway, profile stripe, ──▶ localstripe, which knows nothing
//! own retries switched on      SQLite                        of idempotency keys
//!                                └──── reconcile ──▶ finds a charge by its metadata
//! ```
//!
//! Charges are counted at the far end, straight from localstripe. What makes their number equal
//! to the number of operations although the gateway dies between forwarding and settling: the
//! outcome is then unknown, the reconciler says whether the charge exists, and its "no" is
//! final because the upstream refuses the fence that the "no" was about.
//!
//! [`control`] shows that the counting would notice: without the gateway, or with a policy that does
//! not fit, there are too many charges.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod client;
mod control;
mod gateway;
mod gateway_killed;
mod hold;
mod ledger;
mod plain;
mod process;
mod upstream;
mod upstream_killed;
mod world;
