//! Transactions that are open or not, whoever stops waiting for them.
//!
//! In sqlx 0.9 a connection counts its open transactions, and `begin` counts when the server has answered. A future that
//! is dropped between `BEGIN` and its answer leaves the count at zero, so neither sqlx's guard in `begin` nor the drop of
//! the transaction sends `ROLLBACK`; the pool then waits for the answer and takes the connection back, inside a
//! transaction that nobody knows of. A statement that somebody else later runs on it outside of a transaction is
//! never committed. The other steps do not have this gap: while the count is above zero, a drop in the middle of a
//! statement, of `COMMIT` or of `ROLLBACK` queues a `ROLLBACK` behind it, and a connection whose answers cannot be
//! drained is closed.
//!
//! So `begin` runs in a task of its own, which nobody cancels. If its caller has gone, the transaction is dropped
//! as the result of that task: open and counted, hence rolled back.

use std::sync::Arc;

use semel_core::{Error, Kind, Result};
use sqlx::{PgPool, Postgres, Transaction};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::driver::from_sqlx;

/// The claim looks at what other transactions have committed meanwhile, whatever the session's default is.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// Opens transactions on a pool.
#[derive(Debug, Clone)]
pub(crate) struct Begins {
    pool: PgPool,
    /// As many at a time as there are connections: whoever waits longer waits where waiting can be given up, so callers
    /// that have gone do not queue for connections.
    turns: Arc<Semaphore>,
}

impl Begins {
    pub(crate) fn new(pool: PgPool) -> Self {
        let connections = pool.options().get_max_connections().max(1);
        let turns = usize::try_from(connections).unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            pool,
            turns: Arc::new(Semaphore::new(turns.min(Semaphore::MAX_PERMITS))),
        }
    }

    pub(crate) const fn pool(&self) -> &PgPool {
        &self.pool
    }

    /// An open transaction. Dropping this future at any point leaves none behind.
    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Postgres>> {
        let turn = self.turn().await?;
        let pool = self.pool.clone();
        let begun = tokio::spawn(async move {
            let begun = pool.begin_with(BEGIN).await;
            drop(turn);
            begun
        });
        match begun.await {
            Ok(begun) => begun.map_err(|error| from_sqlx("opening a transaction", error)),
            Err(error) => {
                let message = "postgres, opening a transaction was broken off";
                Err(Error::new(Kind::Unavailable, message).caused_by(error))
            }
        }
    }

    async fn turn(&self) -> Result<OwnedSemaphorePermit> {
        let patience = self.pool.options().get_acquire_timeout();
        let turn = timeout(patience, Arc::clone(&self.turns).acquire_owned()).await;
        match turn {
            Ok(turn) => Ok(turn.expect("nobody closes the semaphore")),
            Err(_) => {
                let seconds = patience.as_secs_f64();
                let message = format!("postgres, no connection within {seconds} s");
                Err(Error::new(Kind::Unavailable, message))
            }
        }
    }
}
