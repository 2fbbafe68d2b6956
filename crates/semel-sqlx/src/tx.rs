//! The verbs in a transaction of the user's own.

use semel_core::Result;
use semel_core::record::Claim;
use semel_core::store::{ClaimAnswer, ClaimRequest, ReleaseAnswer, SettleAnswer, SettleRequest};
use semel_postgres::{Config, tx};
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
}
