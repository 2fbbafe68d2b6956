//! The protocol inside a transaction of the user's own: marker and business effect commit together.
//!
//! The file may be the user's: [`install`] adds Semel's tables (all named `semel_…`) to it. The
//! transaction must be immediate, because it both reads and writes.
//!
//! ```
//! use rusqlite::{Connection, TransactionBehavior};
//! use semel_core::store::{ClaimAnswer, ClaimRequest, SettleRequest, Takeover};
//! use semel_core::{Fingerprint, Identity, LeaseTerm, Outcome, Retention};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut connection = Connection::open_in_memory()?;
//! semel_sqlite::tx::install(&mut connection)?;
//! connection.execute_batch("CREATE TABLE account (balance INTEGER); INSERT INTO account VALUES (0)")?;
//!
//! let request = ClaimRequest {
//!     identity: Identity::parse("acme", "deposits@1", "msg-1")?,
//!     fingerprint: Fingerprint::of(&100)?,
//!     lease: LeaseTerm::default(),
//!     takeover: Takeover::Never,
//! };
//! for _delivery in 0..2 {
//!     let tx = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
//!     if let ClaimAnswer::Granted(lease) = semel_sqlite::claim_in(&tx, &request)? {
//!         tx.execute("UPDATE account SET balance = balance + 100", [])?;
//!         let settle = SettleRequest {
//!             claim: lease.claim,
//!             outcome: Outcome::succeeded("ok"),
//!             took: std::time::Duration::ZERO,
//!             retention: Retention::default(),
//!         };
//!         semel_sqlite::settle_in(&tx, &settle)?;
//!     }
//!     tx.commit()?;
//! }
//! let balance: i64 = connection.query_row("SELECT balance FROM account", [], |row| row.get(0))?;
//! assert_eq!(balance, 100);
//! # Ok(()) }
//! ```

use std::sync::Arc;

use rusqlite::{Connection, Transaction};
use semel_core::record::Claim;
use semel_core::store::{ClaimAnswer, ClaimRequest, ReleaseAnswer, SettleAnswer, SettleRequest};
use semel_core::{Result, SteadyClock, SystemClock};

use crate::schema;
use crate::verbs::Session;

/// Adds Semel's tables to the user's file, or brings them up to date.
pub fn install(connection: &mut Connection) -> Result<()> {
    schema::migrate(connection)
}

/// [`semel_core::Store::claim`] of one operation in the user's transaction.
///
/// A granted claim becomes visible to others when the transaction commits; if it rolls back, it never was.
pub fn claim_in(tx: &Transaction<'_>, request: &ClaimRequest) -> Result<ClaimAnswer> {
    session(tx)?.claim(request)
}

/// [`semel_core::Store::settle`] of one claim in the user's transaction.
pub fn settle_in(tx: &Transaction<'_>, request: &SettleRequest) -> Result<SettleAnswer> {
    session(tx)?.settle(request)
}

/// [`semel_core::Store::release`] of one claim in the user's transaction.
pub fn release_in(tx: &Transaction<'_>, claim: &Claim) -> Result<ReleaseAnswer> {
    session(tx)?.release(claim)
}

fn session<'a>(tx: &'a Transaction<'_>) -> Result<Session<'a>> {
    Session::begin(tx, &SteadyClock::new(Arc::new(SystemClock::new())))
}
