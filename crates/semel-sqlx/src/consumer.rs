//! One message from claim to commit.

use std::ops::ControlFlow;

use semel_core::record::Claim;
use semel_core::{Error, OnFailure, Result, Retention, Scope};
use semel_postgres::Config;
use semel_postgres::consumer::{Deliveries, Message, Processed};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::{PgPool, Postgres, Transaction};
use tokio::time::Instant;

use crate::begin::Begins;
use crate::driver::{Sqlx, from_sqlx, is_lost};

/// Processes the messages of one consumer in transactions of the user's own pool.
///
/// A message is acknowledged when its effect is durable and not before; a handler that fails rolls everything
/// back, the marker included, so that its redelivery runs it again. A duplicate is acknowledged with the first
/// one's result. The same id with another payload is neither: it wants a person.
///
/// ```no_run
/// use semel_sqlx::{Config, Consumer, Message, Next};
///
/// # async fn consume(payload: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
/// let url = "postgres://shop@db.internal/shop";
/// let pool = sqlx::PgPool::connect(url).await?;
/// let config = Config::from_url(url)?;
/// let consumer = Consumer::new(pool, &config, "order-projection@1".parse()?);
///
/// let message = Message::new("orders/0/4711")?.payload(payload);
/// let processed = consumer
///     .process(&message, async |tx| {
///         let project = sqlx::query("INSERT INTO projected (order_id) VALUES (4711)");
///         project.execute(&mut **tx).await?;
///         Ok::<_, sqlx::Error>("projected".to_owned())
///     })
///     .await;
/// match processed.next() {
///     Next::Acknowledge => { /* commit the offset, delete the message */ }
///     Next::Redeliver { after } => { /* leave it; not before `after` */ }
///     Next::Park => { /* to the dead letters: a person must look */ }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Consumer {
    begins: Begins,
    deliveries: Deliveries,
}

impl Consumer {
    /// The consumer named `scope`. The pool must lead to the database in which [`Config::connect`] made the tables; of
    /// `config` only the schema matters here.
    pub fn new(pool: PgPool, config: &Config, scope: Scope) -> Self {
        Self {
            begins: Begins::new(pool),
            deliveries: Deliveries::new(config, scope),
        }
    }

    /// How long a processed message is remembered: longer than its source can deliver it again.
    #[must_use]
    pub fn retention(mut self, retention: Retention) -> Self {
        self.deliveries = self.deliveries.retention(retention);
        self
    }

    /// Runs `handler` in a transaction unless the message was processed before. An error of the handler rolls
    /// everything back, and a redelivery runs it again. Dropping the future is the same as an error, unless the commit was
    /// on its way already: then a redelivery is told the result.
    pub async fn process<T, E, F>(&self, message: &Message, handler: F) -> Processed<T, E>
    where
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce(&mut Transaction<'_, Postgres>) -> Result<T, E>,
    {
        self.process_classified(message, |_| OnFailure::Release, handler)
            .await
    }

    /// The same, and `classify` says what an error means: [`OnFailure::Keep`] that trying again would not help. The
    /// effect is rolled back either way.
    pub async fn process_classified<T, E, F>(
        &self,
        message: &Message,
        classify: impl Fn(&E) -> OnFailure,
        handler: F,
    ) -> Processed<T, E>
    where
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce(&mut Transaction<'_, Postgres>) -> Result<T, E>,
    {
        match self.attempt(message, handler).await {
            Ok(Attempt::Concluded(processed)) => processed,
            Ok(Attempt::HandlerFailed(error)) => match classify(&error) {
                OnFailure::Keep => self.keep_failure(message, error).await,
                OnFailure::Release | OnFailure::Unknown => Processed::Retry(error),
            },
            Ok(Attempt::CommitLost(claim, value, error)) => {
                self.after_lost_commit(&claim, value, error).await
            }
            Err(error) => Processed::Unavailable(error),
        }
    }

    async fn attempt<T, E, F>(&self, message: &Message, handler: F) -> Result<Attempt<T, E>>
    where
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce(&mut Transaction<'_, Postgres>) -> Result<T, E>,
    {
        let began = Instant::now();
        let mut tx = self.begins.begin().await?;
        let claim = match self.deliveries.claim(&mut Sqlx(&mut tx), message).await? {
            ControlFlow::Continue(claim) => claim,
            ControlFlow::Break(processed) => {
                commit(tx).await?;
                return Ok(Attempt::Concluded(processed));
            }
        };
        let value = match handler(&mut tx).await {
            Ok(value) => value,
            Err(error) => {
                // A rollback that fails is one all the same: the connection is gone.
                let _ = tx.rollback().await;
                return Ok(Attempt::HandlerFailed(error));
            }
        };
        let took = began.elapsed();
        self.deliveries
            .succeeded(&mut Sqlx(&mut tx), &claim, &value, took)
            .await?;
        match tx.commit().await {
            Ok(()) => Ok(Attempt::Concluded(Processed::Done(value))),
            Err(error) if is_lost(&error) => {
                let error = from_sqlx("committing", error);
                Ok(Attempt::CommitLost(claim, value, error))
            }
            Err(error) => Err(from_sqlx("committing", error)),
        }
    }

    /// The commit may or may not have happened: another connection tells.
    async fn after_lost_commit<T, E>(
        &self,
        claim: &Claim,
        value: T,
        error: Error,
    ) -> Processed<T, E> {
        let looked = async {
            let acquired = self.begins.pool().acquire().await;
            let mut connection = acquired.map_err(|error| from_sqlx("connecting", error))?;
            self.deliveries
                .has_settled(&mut Sqlx(&mut connection), claim)
                .await
        };
        match looked.await {
            Ok(true) => Processed::Done(value),
            Ok(false) | Err(_) => Processed::Unavailable(error),
        }
    }

    /// Puts a failure for good on record; the effect has been rolled back.
    async fn keep_failure<T, E>(&self, message: &Message, failed: E) -> Processed<T, E>
    where
        T: DeserializeOwned,
    {
        let kept = async {
            let mut tx = self.begins.begin().await?;
            let found = self.deliveries.failed(&mut Sqlx(&mut tx), message).await?;
            commit(tx).await?;
            Ok::<_, Error>(found)
        };
        match kept.await {
            Ok(None) => Processed::Failed(failed),
            Ok(Some(found)) => found,
            // It will be delivered again, and fail again, until it can be written down.
            Err(_) => Processed::Retry(failed),
        }
    }
}

async fn commit(tx: Transaction<'static, Postgres>) -> Result<()> {
    tx.commit()
        .await
        .map_err(|error| from_sqlx("committing", error))
}

/// What one transaction came to.
enum Attempt<T, E> {
    Concluded(Processed<T, E>),
    HandlerFailed(E),
    CommitLost(Claim, T, Error),
}
