//! The inbox inside a transaction of the user's own: the end of a message, its effect and its intents commit together.
//!
//! The file is the one that the store uses, or the user's own with [`crate::tx::install`]. The transaction must be
//! immediate, because it both reads and writes.
//!
//! ```
//! use rusqlite::TransactionBehavior::Immediate;
//! use semel_core::inbox::{Arrivals, ClaimBatch, Finish, Finished, Message, Plan, Disposition, WorkerName};
//! use semel_core::{Identity, Inbox, LeaseTerm, Outcome};
//! use semel_sqlite::inbox::finish_in;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("service.db");
//! let store = semel_sqlite::Config::new(&path).open()?;
//! let mut connection = rusqlite::Connection::open(&path)?;
//! connection.execute_batch("CREATE TABLE account (balance INTEGER); INSERT INTO account VALUES (0)")?;
//!
//! let plan = Plan::new("deposits@1".parse()?);
//! let message = Message::new(Identity::parse("public", "deposits@1", "evt-1")?, "100")?;
//! let messages = vec![message];
//! store.receive(Arrivals { plan: plan.clone(), messages, positions: vec![] }).await?;
//!
//! let ask = ClaimBatch {
//!     plan: plan.clone(),
//!     worker: WorkerName::new("worker-1")?,
//!     max: 10,
//!     bytes_max: usize::MAX,
//!     lease: LeaseTerm::default(),
//!     on_unknown: Default::default(),
//! };
//! for job in store.claim_batch(ask).await?.jobs {
//!     let tx = connection.transaction_with_behavior(Immediate)?;
//!     tx.execute("UPDATE account SET balance = balance + 100", [])?;
//!     let finish = Finish {
//!         claim: job.claim,
//!         took: std::time::Duration::ZERO,
//!         disposition: Disposition::Completed { outcome: Outcome::succeeded("ok"), intents: vec![] },
//!     };
//!     match finish_in(&tx, &plan, &finish)? {
//!         Finished::Done => tx.commit()?,
//!         // Somebody else has claimed the message: this effect must not happen.
//!         Finished::Lost => tx.rollback()?,
//!     }
//! }
//! let balance: i64 = connection.query_row("SELECT balance FROM account", [], |row| row.get(0))?;
//! assert_eq!(balance, 100);
//! # Ok(()) }
//! ```

use rusqlite::Transaction;
use semel_core::Result;
use semel_core::inbox::{Arrivals, Finish, Finished, Plan, Receipt};

use super::finish;
use crate::tx::whole;

/// [`semel_core::Inbox::finish`] of one message in the user's transaction.
///
/// If the answer is [`Finished::Lost`], somebody else has claimed or finished the message: roll back, or the effect happens twice.
/// Waiting workers are not woken by this; they look now and then, or are told by [`crate::SqliteStore::wake`] after the commit.
pub fn finish_in(tx: &Transaction<'_>, plan: &Plan, item: &Finish) -> Result<Finished> {
    finish::check(plan, item)?;
    whole(tx, |session| session.finish_message(plan, item))
}

/// [`semel_core::Inbox::receive`] in the user's transaction: messages that exist if the rest of the transaction does.
///
/// Waiting workers are not woken by this; they look now and then, or are told by [`crate::SqliteStore::wake`] after the commit.
pub fn receive_in(tx: &Transaction<'_>, arrivals: &Arrivals) -> Result<Vec<Receipt>> {
    arrivals.check()?;
    whole(tx, |session| session.receive(arrivals))
}
