//! The protocol inside a transaction of the user's own: marker and business effect commit together.
//!
//! The database is the user's: Semel's tables are in a schema beside theirs, made by [`crate::Config::connect`]. The
//! transaction must be `READ COMMITTED`, which is PostgreSQL's default.
//!
//! ```no_run
//! use semel_core::store::{ClaimAnswer, ClaimRequest, SettleRequest};
//! use semel_core::{Fingerprint, Identity, Outcome, Retention};
//! use semel_postgres::{claim_in, settle_in};
//!
//! # async fn deposit(client: &mut tokio_postgres::Client) -> Result<(), Box<dyn std::error::Error>> {
//! let identity = Identity::parse("acme", "deposits@1", "msg-1")?;
//! let request = ClaimRequest::new(identity, Fingerprint::of(&100)?);
//! let mut tx = client.transaction().await?;
//! if let ClaimAnswer::Granted(lease) = claim_in(&mut tx, &request).await? {
//!     tx.execute("UPDATE account SET balance = balance + 100", &[]).await?;
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
//! Other drivers than tokio-postgres implement [`Driver`] and use [`Tables`]; `semel-sqlx` does so.

use std::sync::{Arc, OnceLock};

use semel_core::inbox::{Arrivals, Finish, Finished, Plan, Receipt};
use semel_core::protocol;
use semel_core::record::Claim;
use semel_core::store::{ClaimAnswer, ClaimRequest, ReleaseAnswer, SettleAnswer, SettleRequest};
use semel_core::{Error, Identity, Kind, Record, Result};
use tokio_postgres::types::ToSql;

use crate::config::{Config, DEFAULT_SCHEMA};
use crate::connection::read;
use crate::error::from_postgres;
use crate::inbox;
use crate::records::{Stored, digest};
use crate::session::Session;
use crate::sql::Sql;
use crate::verbs::claims::{ClaimItem, Granted, claim_values};
use crate::verbs::decisions::About;

pub use crate::error::from_driver;
pub use crate::session::Driver;
pub use crate::value::{Row, Value};

/// How often a claim looks again for a row that went away between two looks.
const LOOKS_MAX: usize = 5;

/// [`semel_core::Store::claim`] of one operation in the user's transaction, on the tables of the usual schema.
///
/// If another transaction has claimed the same operation and has not ended yet, this waits for it, as long as the
/// user's `lock_timeout` allows. A granted claim becomes visible to others when the transaction commits; if it
/// rolls back, it never was.
pub async fn claim_in<D: Driver>(
    tx: &mut D,
    request: &ClaimRequest,
) -> Result<ClaimAnswer, D::Error> {
    usual().claim(tx, request).await
}

/// [`semel_core::Store::settle`] of one claim in the user's transaction, on the tables of the usual schema.
pub async fn settle_in<D: Driver>(
    tx: &mut D,
    request: &SettleRequest,
) -> Result<SettleAnswer, D::Error> {
    usual().settle(tx, request).await
}

/// [`semel_core::Store::release`] of one claim in the user's transaction, on the tables of the usual schema.
pub async fn release_in<D: Driver>(tx: &mut D, claim: &Claim) -> Result<ReleaseAnswer, D::Error> {
    usual().release(tx, claim).await
}

pub(crate) fn usual() -> &'static Tables {
    static USUAL: OnceLock<Tables> = OnceLock::new();
    USUAL.get_or_init(|| Tables::of(DEFAULT_SCHEMA))
}

/// The tables of a schema, for transactions of the user's own. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tables {
    sql: Arc<Sql>,
}

impl Tables {
    /// The tables that `config` names.
    pub fn new(config: &Config) -> Self {
        Self::of(&config.schema)
    }

    fn of(schema: &str) -> Self {
        Self {
            sql: Arc::new(Sql::new(schema)),
        }
    }

    /// See [`claim_in`].
    pub async fn claim<D: Driver>(
        &self,
        tx: &mut D,
        request: &ClaimRequest,
    ) -> Result<ClaimAnswer, D::Error> {
        let item = ClaimItem::new(request.clone());
        for _ in 0..LOOKS_MAX {
            let values = claim_values(&[&item]).map(Value::alone).to_vec();
            let rows = tx.rows(&self.sql.claim_in, values).await?;
            if let Some(row) = rows.first() {
                return Ok(Granted::of(row)?.answer(&item));
            }
            let mut session = Session::new(tx, &self.sql);
            let locked = session.lock(&[item.identity()]).await?;
            if let Some(stored) = locked.get(&digest(item.identity())) {
                let (now, next) = session.draw(stored).await?;
                let step = protocol::claim(stored.record.as_ref(), request, next, now);
                let identity = item.identity();
                return session
                    .finish(identity, Some(stored), step, item.nonce.to_i64(), now)
                    .await;
            }
        }
        let message = "postgres, a record changes faster than it can be looked at";
        Err(Error::new(Kind::Unavailable, message).into())
    }

    /// See [`settle_in`].
    pub async fn settle<D: Driver>(
        &self,
        tx: &mut D,
        request: &SettleRequest,
    ) -> Result<SettleAnswer, D::Error> {
        self.decide(tx, request).await
    }

    /// See [`release_in`].
    pub async fn release<D: Driver>(
        &self,
        tx: &mut D,
        claim: &Claim,
    ) -> Result<ReleaseAnswer, D::Error> {
        self.decide(tx, claim).await
    }

    /// See [`crate::inbox::receive_in`].
    pub async fn receive<D: Driver>(
        &self,
        tx: &mut D,
        arrivals: &Arrivals,
    ) -> Result<Vec<Receipt>, D::Error> {
        let received = Session::new(tx, &self.sql).receive(arrivals).await?;
        Ok(received.receipts)
    }

    /// See [`crate::inbox::finish_in`].
    pub async fn finish<D: Driver>(
        &self,
        tx: &mut D,
        plan: &Plan,
        items: &[Finish],
    ) -> Result<Vec<Finished>, D::Error> {
        inbox::finish_all(&mut Session::new(tx, &self.sql), plan, items).await
    }

    /// The record of an identity as it is stored; nothing is locked.
    pub(crate) async fn look_up<D: Driver>(
        &self,
        tx: &mut D,
        identity: &Identity,
    ) -> Result<Option<Record>, D::Error> {
        let digests = Value::Uuids(vec![digest(identity)]);
        let rows = tx.rows(&self.sql.load, vec![digests]).await?;
        let stored = rows
            .first()
            .map(|row| Stored::of(row, Some(identity)))
            .transpose()?;
        Ok(stored.and_then(|stored| stored.record))
    }

    async fn decide<D: Driver, I: About>(
        &self,
        tx: &mut D,
        item: &I,
    ) -> Result<I::Answer, D::Error> {
        let identity = &item.claim().identity;
        let mut session = Session::new(tx, &self.sql);
        let locked = session.lock(&[identity]).await?;
        let now = session.now().await?;
        let stored = locked.get(&digest(identity));
        let highest = session.highest(stored).await?;
        let current = stored.and_then(|stored| stored.record.as_ref());
        let step = item.decide(current, highest, now);
        session.finish(identity, stored, step, 0, now).await
    }
}

impl Driver for tokio_postgres::Transaction<'_> {
    type Error = Error;

    /// Without a prepared statement, so that it also works behind a pooler.
    async fn rows(&mut self, sql: &str, params: Vec<Value>) -> Result<Vec<Row>> {
        let params: Vec<_> = params
            .iter()
            .map(|param| (param as &(dyn ToSql + Sync), param.type_()))
            .collect();
        let failed = |error| from_postgres("in a transaction", error);
        let rows = self.query_typed(sql, &params).await.map_err(failed)?;
        rows.iter().map(|row| read(row).map_err(failed)).collect()
    }
}
