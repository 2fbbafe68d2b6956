//! The gateway in front of real upstreams, over real sockets.
//!
//! `proxy`, `framing`, `streaming`, `tunnels`, `tls`, `versions`, `timeouts`, `limits`, `budgets`, `memory`, `drain` and `reload` are
//! about being a good proxy; `table`, `keys`, `busy`, `unknown`, `reconcile`, `outages`, `leaving`, `bodies` and
//! `sharing` about every row of what a guarded route promises; `slow_readers`, `handover` and `answers` about what
//! a record says when clients stall, requests do not arrive, or answers are odd; `spelling`, `hosts` and `forged` about
//! clients that try to get past a route; `conventions` and `mcp` about what vendors' clients and agents expect; `policy_page`
//! about what the gateway says of itself.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod agents;
mod answers;
mod apps;
mod bodies;
mod budgets;
mod busy;
mod conventions;
mod cookies;
mod describing;
mod drain;
mod forged;
mod framing;
mod handover;
mod hosts;
mod identity;
mod keys;
mod leaving;
mod limits;
mod mcp;
mod memory;
mod outages;
mod outcomes;
mod policy_page;
mod proxy;
mod reconcile;
mod reload;
mod sharing;
mod slow_readers;
mod spelling;
mod streaming;
mod support;
mod table;
mod timeouts;
mod tls;
mod tokens;
mod tunnels;
mod unknown;
mod versions;
