//! The gateway in front of real upstreams, over real sockets.
//!
//! `proxy`, `framing`, `streaming`, `tunnels`, `tls`, `versions`, `timeouts`, `limits`, `drain` and `reload` are
//! about being a good proxy; `table`, `keys`, `busy`, `unknown`, `reconcile`, `outages`, `leaving`, `bodies` and
//! `sharing` about every row of what a guarded route promises; `spelling`, `hosts` and `forged` about clients that try to get
//! past one.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod apps;
mod bodies;
mod busy;
mod drain;
mod forged;
mod framing;
mod hosts;
mod keys;
mod leaving;
mod limits;
mod outages;
mod proxy;
mod reconcile;
mod reload;
mod sharing;
mod spelling;
mod streaming;
mod support;
mod table;
mod timeouts;
mod tls;
mod tunnels;
mod unknown;
mod versions;
