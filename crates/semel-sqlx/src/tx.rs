//! The verbs in a transaction of the user's own.

use semel_core::Result;
use semel_core::inbox::{Arrivals, Finish, Finished, Plan, Receipt};
use semel_core::record::Claim;
use semel_core::store::{ClaimAnswer, ClaimRequest, ReleaseAnswer, SettleAnswer, SettleRequest};
use semel_postgres::{Config, inbox, tx};
use sqlx::{Postgres, Transaction};

use crate::driver::Sqlx;

/// [`semel_core::Store::claim`] of one operation in the user's transaction, on the tables of the usual schema.
///
/// The transaction must be `READ COMMITTED`, which is PostgreSQL's default. If another transaction has claimed the same
/// operation and has not ended yet, this waits for it, as long as the user's `lock_timeout` allows. A granted
/// claim becomes visible to others when the transaction commits; if it rolls back, it never was.
pub async fn claim_in(
    tx: &mut Transaction<'_, Postgres>,
    request: &ClaimRequest,
) -> Result<ClaimAnswer> {
    tx::claim_in(&mut Sqlx(tx), request).await
}

/// [`semel_core::Store::settle`] of one claim in the user's transaction, on the tables of the usual schema.
pub async fn settle_in(
    tx: &mut Transaction<'_, Postgres>,
    request: &SettleRequest,
) -> Result<SettleAnswer> {
    tx::settle_in(&mut Sqlx(tx), request).await
}

/// [`semel_core::Store::release`] of one claim in the user's transaction, on the tables of the usual schema.
pub async fn release_in(
    tx: &mut Transaction<'_, Postgres>,
    claim: &Claim,
) -> Result<ReleaseAnswer> {
    tx::release_in(&mut Sqlx(tx), claim).await
}

/// [`semel_core::Inbox::finish`] in the user's transaction, on the tables of the usual schema; see [`semel_postgres::inbox`].
///
/// What is finished, and the intents of it, become visible when the transaction commits; if it rolls back, the claim is as it was.
///
/// ```no_run
/// use semel_core::inbox::{Finish, Finished, Job, Plan, Disposition};
/// use semel_core::Outcome;
/// use semel_sqlx::finish_in;
///
/// # async fn pay(pool: &sqlx::PgPool, plan: &Plan, job: &Job) -> Result<(), Box<dyn std::error::Error>> {
/// let mut tx = pool.begin().await?;
/// sqlx::query("UPDATE account SET cents = cents + 100").execute(&mut *tx).await?;
/// let end = Finish {
///     claim: job.claim.clone(),
///     took: std::time::Duration::ZERO,
///     disposition: Disposition::Completed {
///         outcome: Outcome::succeeded("paid"),
///         intents: Vec::new(),
///     },
/// };
/// match finish_in(&mut tx, plan, &[end]).await?[..] {
///     [Finished::Done] => tx.commit().await?,
///     // Somebody else has claimed the message since, and its effect is theirs.
///     _ => tx.rollback().await?,
/// }
/// # Ok(()) }
/// ```
pub async fn finish_in(
    tx: &mut Transaction<'_, Postgres>,
    plan: &Plan,
    items: &[Finish],
) -> Result<Vec<Finished>> {
    inbox::finish_in(&mut Sqlx(tx), plan, items).await
}

/// [`semel_core::Inbox::receive`] in the user's transaction, on the tables of the usual schema: messages are stored if and when it
/// commits.
pub async fn receive_in(
    tx: &mut Transaction<'_, Postgres>,
    arrivals: &Arrivals,
) -> Result<Vec<Receipt>> {
    inbox::receive_in(&mut Sqlx(tx), arrivals).await
}

/// The tables of another schema than the usual one. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tables(tx::Tables);

impl Tables {
    /// The tables that `config` names. Only its schema matters: the connection is the transaction's.
    pub fn new(config: &Config) -> Self {
        Self(tx::Tables::new(config))
    }

    /// See [`claim_in`].
    pub async fn claim(
        &self,
        tx: &mut Transaction<'_, Postgres>,
        request: &ClaimRequest,
    ) -> Result<ClaimAnswer> {
        self.0.claim(&mut Sqlx(tx), request).await
    }

    /// See [`settle_in`].
    pub async fn settle(
        &self,
        tx: &mut Transaction<'_, Postgres>,
        request: &SettleRequest,
    ) -> Result<SettleAnswer> {
        self.0.settle(&mut Sqlx(tx), request).await
    }

    /// See [`release_in`].
    pub async fn release(
        &self,
        tx: &mut Transaction<'_, Postgres>,
        claim: &Claim,
    ) -> Result<ReleaseAnswer> {
        self.0.release(&mut Sqlx(tx), claim).await
    }

    /// See [`finish_in`].
    pub async fn finish(
        &self,
        tx: &mut Transaction<'_, Postgres>,
        plan: &Plan,
        items: &[Finish],
    ) -> Result<Vec<Finished>> {
        self.0.finish(&mut Sqlx(tx), plan, items).await
    }

    /// See [`receive_in`].
    pub async fn receive(
        &self,
        tx: &mut Transaction<'_, Postgres>,
        arrivals: &Arrivals,
    ) -> Result<Vec<Receipt>> {
        self.0.receive(&mut Sqlx(tx), arrivals).await
    }
}
