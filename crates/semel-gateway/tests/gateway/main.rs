//! The gateway in front of real upstreams, over real sockets.
//!
//! `proxy`, `framing`, `streaming`, `tunnels`, `tls`, `versions`, `timeouts`, `limits`, `drain` and `reload` are
//! about being a good proxy; `table`, `keys`, `busy`, `unknown`, `reconcile`, `outages`, `leaving`, `bodies` and
//! `sharing` about every row of what a guarded route promises; `slow_readers`, `handover` and `answers` about what
//! a record says when clients stall, requests do not arrive, or answers are odd.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod answers;
mod bodies;
mod busy;
mod cookies;
mod drain;
mod framing;
mod handover;
mod keys;
mod leaving;
mod limits;
mod outages;
mod proxy;
mod reconcile;
mod reload;
mod sharing;
mod slow_readers;
mod streaming;
mod support;
mod table;
mod timeouts;
mod tls;
mod tunnels;
mod unknown;
mod versions;
