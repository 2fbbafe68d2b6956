//! A reverse proxy that makes any HTTP service retry-safe.
//!
//! Requests that a [`Route`] matches go through a [`semel_http::Guard`] and take effect once; everything
//! else streams through untouched: uploads, events, websockets.
//!
//! Read it in this order:
//!
//! 1. `config` is everything that a gateway is told.
//! 2. `server` listens by means of `semel-listen`, serves, drains and takes new configurations.
//! 3. `forward` is what happens to one request; `routes` finds its route.
//! 4. `own` is what the gateway answers by itself, where no route does; `outcomes` what became of an operation, by its key.
//! 5. `budget` is what requests of each kind may use at once.
//! 6. `hygiene` is what may cross in either direction.
//! 7. `pool` keeps connections to upstreams and tells whether a request can have reached one.
//! 8. `reconcile` asks a URL about unknown outcomes, `reconcilers` finds the URL of a record for operators; `jwks` loads the keys that tokens are checked with.
//!
//! This crate reads no configuration file, keeps no records and decides nothing about keys: that is
//! `semel-policy`, the store, and `semel-http`. It never sends a request twice.

mod budget;
mod config;
mod error;
mod forward;
mod hygiene;
mod jwks;
mod outcomes;
mod own;
mod path;
mod pool;
mod reconcile;
mod reconcilers;
mod routes;
mod server;
mod target;

// Clients and upstreams are watched by the same means.
use semel_listen::{alarm, wire};

pub use budget::Budgets;
pub use config::{Config, Host, LISTEN, Limits, Route, Timeouts, Upstream};
pub use error::{Error, Kind, Result};
pub use reconcile::ReconcileUrl;
pub use reconcilers::{NoReconciler, RouteReconciler};
pub use semel_listen::{AccessLog, Address, Load, Tls};
pub use server::{Drained, Gateway, Handle};
