//! Semel in a transaction of sqlx: marker and business effect commit together.
//!
//! The statements and the decisions are those of [`semel_postgres`]; this crate carries them over sqlx's driver for
//! PostgreSQL. Read it in this order: `driver` runs a statement on sqlx's connection; `tx` has the verbs for a
//! transaction of the user's own; `begin` opens one that nobody can abandon half-way; [`Consumer`] processes messages
//! with all of them.
//!
//! The tables are in a schema beside the user's, made by [`Config::connect`].
//!
//! ```no_run
//! use semel_core::store::{ClaimAnswer, ClaimRequest, SettleRequest};
//! use semel_core::{Fingerprint, Identity, Outcome, Retention};
//! use semel_sqlx::{claim_in, settle_in};
//!
//! # async fn deposit(pool: &sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
//! let identity = Identity::parse("acme", "deposits@1", "msg-1")?;
//! let request = ClaimRequest::new(identity, Fingerprint::of(&100)?);
//! let mut tx = pool.begin().await?;
//! if let ClaimAnswer::Granted(lease) = claim_in(&mut tx, &request).await? {
//!     sqlx::query("UPDATE account SET cents = cents + 100").execute(&mut *tx).await?;
//!     let settle = SettleRequest {
//!         claim: lease.claim,
//!         outcome: Outcome::succeeded("deposited"),
//!         took: std::time::Duration::ZERO,
//!         retention: Retention::default(),
//!     };
//!     settle_in(&mut tx, &settle).await?;
//! }
//! tx.commit().await?;
//! # Ok(()) }
//! ```
//!
//! Messages of a queue need less, see [`Consumer`]. What this crate does not do: it opens no connections of its own,
//! and it prepares no named statements, so a pooler in transaction mode may be in between.

mod begin;
mod consumer;
mod driver;
pub mod helpers;
mod tx;

pub use consumer::Consumer;
pub use semel_postgres::Config;
pub use semel_postgres::consumer::{Message, Next, Processed};
pub use tx::{Tables, claim_in, finish_in, receive_in, release_in, settle_in};
