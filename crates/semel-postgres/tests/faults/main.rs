//! What becomes of calls when the server, the wire or a neighbour misbehaves. Effects are counted in a ledger outside
//! of every store.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

#[allow(unreachable_pub, reason = "another crate's tests share it")]
#[path = "../support/authority.rs"]
mod authority;
#[path = "../support/mod.rs"]
mod support;

mod away;
mod clocks;
mod cut;
mod limits;
mod neighbours;
mod orphans;
mod replica;
mod settings;
mod storms;
mod tls;
