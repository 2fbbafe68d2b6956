//! One HTTP listener for every port of Semel: the gateway, the admin side, the door for posted messages.
//!
//! Read it in this order:
//!
//! 1. [`Settings`] is everything that a listener can be set to; [`Address`] is where it listens.
//! 2. [`Listener`] binds, serves and drains; a [`Handle`] looks at it and changes it while it serves.
//! 3. `accept` takes connections and makes room at the limit; `crowd` knows which connection has idled longest.
//! 4. `connection` serves one client, `heads` and [`wire`] watch its bytes, [`load`] counts it.
//! 5. `tls` reads certificates, again when their files change; `access` writes the access log.
//!
//! How the parser's rules keep requests apart: hyper refuses lengths that differ, a `Transfer-Encoding` that does not end in
//! `chunked` or comes with HTTP/1.0, folded headers and forbidden bytes, with 400 and the end of the connection. Of a length beside
//! `Transfer-Encoding` it believes the latter and reads nothing more from the connection; equal lengths are one length. It does so for
//! every request of a connection, pipelined or not, which no scanner in front of it could do without being a second parser.
//!
//! This crate knows no routes, keeps no records and decides nothing about what a request may do. It limits connections; how many
//! requests may be in flight is decided by the service, and only counted here.

mod accept;
pub mod access;
mod address;
pub mod alarm;
mod connection;
mod counted;
mod crowd;
mod error;
mod heads;
mod listener;
pub mod load;
mod peer;
mod settings;
mod socket;
mod tls;
pub mod wire;

pub use access::AccessLog;
pub use address::Address;
pub use connection::Serves;
pub use counted::{Held, counted};
pub use error::{Error, Kind, Result};
pub use listener::{Drained, Handle, Listener, Phase};
pub use load::{InFlight, Load, Pulse};
pub use peer::Peer;
pub use settings::Settings;
pub use tls::Tls;
