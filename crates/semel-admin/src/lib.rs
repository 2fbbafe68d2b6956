//! The admin side of Semel, on a port of its own: the claims API, health, metrics, logs.
//!
//! Read it in this order:
//!
//! 1. [`metered`] wraps a store: it measures every verb and logs every change of state.
//! 2. [`metrics`] is what is counted, by stores, by doors, and by [`metered`].
//! 3. [`health`] collects what the parts of a process say about themselves.
//! 4. [`alerts`] are judged from the metrics, in one task; [`duplicates`] judges what came again.
//! 5. `router` is the table of all addresses and of the roles that they need; `gate` decides who may come in, [`tokens`] what they may do.
//! 6. `api` has one file or folder per subject; [`view`] is how records and messages look as JSON.
//! 7. [`records`] decides about many records at once, for the API and for the command line, [`messages`] what people do with messages; [`reconcile`] asks providers about unknown records, by what a door of the process knows. [`inbox`] is what the admin side must know of consumers; [`when`] reads moments; [`current`] is what a reload replaces.
//! 8. `dashboard` has the pages for people; they call what the API calls.
//! 9. [`admin`] binds the port and serves.
//!
//! What this crate does not do: it names no store, it decides nothing by itself, and it never logs
//! or counts by key, body or header value.

pub mod admin;
pub mod alerts;
mod api;
pub mod config;
pub mod configuration;
pub mod current;
mod dashboard;
pub mod duplicates;
mod gate;
pub mod health;
pub mod inbox;
mod input;
mod log;
pub mod messages;
pub mod metered;
pub mod metrics;
mod openapi;
mod pace;
mod probes;
pub mod reconcile;
pub mod records;
mod refused;
mod router;
pub mod secret;
mod sweeps;
pub mod tokens;
pub mod view;
pub mod when;

pub use admin::{Admin, Handle, Observations, Parts};
pub use config::Config;
pub use configuration::Configuration;
pub use current::Current;
pub use health::{Beside, Health, Part, Upstream};
pub use inbox::{InboxPart, Policies};
pub use metered::Metered;
pub use metrics::Metrics;
pub use reconcile::Reconciling;
pub use secret::Secret;
pub use tokens::{Grant, Reach, Role, ScopePrefix, Token, Tokens};
pub use when::When;
