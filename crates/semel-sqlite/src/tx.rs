//! The protocol inside a transaction of the user's own: marker and business effect commit together.
//!
//! The file may be the user's: [`install`] adds Semel's tables (all named `semel_…`) to it. The
//! transaction must be immediate, because it both reads and writes.
//!
//! ```
//! use rusqlite::{Connection, TransactionBehavior};
//! use semel_core::store::{ClaimAnswer, ClaimRequest, SettleRequest};
//! use semel_core::{Fingerprint, Identity, Outcome, Retention};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut connection = Connection::open_in_memory()?;
//! semel_sqlite::tx::install(&mut connection)?;
//! connection.execute_batch("CREATE TABLE account (balance INTEGER); INSERT INTO account VALUES (0)")?;
//!
//! let identity = Identity::parse("acme", "deposits@1", "msg-1")?;
//! let request = ClaimRequest::new(identity, Fingerprint::of(&100)?);
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

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, Transaction};
use semel_core::record::Claim;
use semel_core::store::{ClaimAnswer, ClaimRequest, ReleaseAnswer, SettleAnswer, SettleRequest};
use semel_core::{Result, SteadyClock, SystemClock};

use crate::error::from_sqlite;
use crate::schema;
use crate::verbs::Session;

/// Adds Semel's tables to the user's file, or brings them up to date.
pub fn install(connection: &mut Connection) -> Result<()> {
    schema::migrate(connection)
}

/// [`semel_core::Store::claim`] of one operation in the user's transaction.
///
/// A granted claim becomes visible to others when the transaction commits; if it rolls back, it never was,
/// and its fence may be drawn again: do not show it to anybody outside before the commit.
pub fn claim_in(tx: &Transaction<'_>, request: &ClaimRequest) -> Result<ClaimAnswer> {
    whole(tx, |session| session.claim(request))
}

/// [`semel_core::Store::settle`] of one claim in the user's transaction.
pub fn settle_in(tx: &Transaction<'_>, request: &SettleRequest) -> Result<SettleAnswer> {
    whole(tx, |session| session.settle(request))
}

/// [`semel_core::Store::release`] of one claim in the user's transaction.
pub fn release_in(tx: &Transaction<'_>, claim: &Claim) -> Result<ReleaseAnswer> {
    whole(tx, |session| session.release(claim))
}

/// Runs a verb so that it happens whole or not at all, also if the user goes on after an error.
pub(crate) fn whole<A>(
    tx: &Transaction<'_>,
    verb: impl FnOnce(&mut Session<'_>) -> Result<A>,
) -> Result<A> {
    let execute = |sql: &str| {
        tx.execute_batch(sql)
            .map_err(|e| from_sqlite("in a transaction", e))
    };
    execute("SAVEPOINT semel_verb")?;
    let done = Session::begin(tx, &clock_of(tx)).and_then(|mut session| verb(&mut session));
    match done {
        Ok(_) => execute("RELEASE semel_verb")?,
        // On a full disk SQLite may have rolled the whole transaction back by itself.
        Err(_) if tx.is_autocommit() => {}
        Err(_) => execute("ROLLBACK TO semel_verb; RELEASE semel_verb")?,
    }
    done
}

/// The most files whose time is remembered. If there are more, all are forgotten and met anew.
const FILES_MAX: usize = 256;

/// One clock for all transactions of the process on one file, so that its time is as steady as a store's.
fn clock_of(connection: &Connection) -> SteadyClock {
    static CLOCKS: Mutex<BTreeMap<String, SteadyClock>> = Mutex::new(BTreeMap::new());
    let mut clocks = CLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    let file = connection.path().unwrap_or_default();
    if let Some(clock) = clocks.get(file) {
        return clock.clone();
    }
    if clocks.len() >= FILES_MAX {
        clocks.clear();
    }
    let clock = SteadyClock::new(Arc::new(SystemClock::new()));
    clocks.insert(file.to_owned(), clock.clone());
    clock
}
