//! One message from claim to commit.

use std::ops::ControlFlow;
use std::sync::Arc;

use deadpool_postgres::Object;
use semel_core::record::Claim;
use semel_core::{Error, OnFailure, Result, Retention, Scope};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_postgres::{IsolationLevel, Transaction};

use super::deliveries::is_settled;
use super::{Deliveries, Message, Processed};
use crate::config::Config;
use crate::connection::Links;
use crate::engine::Engine;
use crate::error::from_postgres;
use crate::query::seen;

/// Processes the messages of one consumer in transactions of the user's own database.
///
/// Its connections carry no settings of ours: the handler's statements run as they would anywhere.
#[derive(Debug, Clone)]
pub struct Consumer {
    links: Links,
    /// Reads what a lost commit came to.
    engine: Arc<Engine>,
    deliveries: Deliveries,
}

impl Consumer {
    /// The consumer named `scope` on the database that `config` names. The tables must be there:
    /// [`Config::connect`] makes them.
    pub fn new(config: &Config, scope: Scope) -> Result<Self> {
        Ok(Self {
            links: Links::plain(config)?,
            engine: Arc::new(Engine::new(config)?),
            deliveries: Deliveries::new(config, scope),
        })
    }

    /// How long a processed message is remembered: longer than its source can deliver it again.
    #[must_use]
    pub fn retention(mut self, retention: Retention) -> Self {
        self.deliveries = self.deliveries.retention(retention);
        self
    }

    /// Runs `handler` in a transaction unless the message was processed before. An error of the handler rolls
    /// everything back, and a redelivery runs it again.
    pub async fn process<T, E, F>(&self, message: &Message, handler: F) -> Processed<T, E>
    where
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce(&mut Transaction<'_>) -> Result<T, E>,
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
        F: AsyncFnOnce(&mut Transaction<'_>) -> Result<T, E>,
    {
        let mut connection = match self.links.object().await {
            Ok(connection) => connection,
            Err(error) => return Processed::Unavailable(error),
        };
        match self.attempt(&mut connection, message, handler).await {
            Ok(Attempt::Concluded(processed)) => processed,
            Ok(Attempt::HandlerFailed(error)) => match classify(&error) {
                OnFailure::Keep => self.keep_failure(&mut connection, message, error).await,
                OnFailure::Release | OnFailure::Unknown => Processed::Retry(error),
            },
            Ok(Attempt::CommitLost(claim, value, error)) => {
                self.after_lost_commit(&claim, value, error).await
            }
            Err(error) => Processed::Unavailable(error),
        }
    }

    async fn attempt<T, E, F>(
        &self,
        connection: &mut Object,
        message: &Message,
        handler: F,
    ) -> Result<Attempt<T, E>>
    where
        T: Serialize + DeserializeOwned,
        F: AsyncFnOnce(&mut Transaction<'_>) -> Result<T, E>,
    {
        let began = Instant::now();
        let mut tx = begin(connection).await?;
        let claim = match self.deliveries.claim(&mut tx, message).await? {
            ControlFlow::Continue(claim) => claim,
            ControlFlow::Break(processed) => {
                tx.commit()
                    .await
                    .map_err(|e| from_postgres("committing", e))?;
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
        self.deliveries
            .succeeded(&mut tx, &claim, &value, began.elapsed())
            .await?;
        match tx.commit().await {
            Ok(()) => Ok(Attempt::Concluded(Processed::Done(value))),
            Err(error) if crate::error::is_lost(&error) => {
                let error = from_postgres("committing", error);
                Ok(Attempt::CommitLost(claim, value, error))
            }
            Err(error) => Err(from_postgres("committing", error)),
        }
    }

    /// The commit may or may not have happened. The record tells, because it is part of it.
    async fn after_lost_commit<T, E>(
        &self,
        claim: &Claim,
        value: T,
        error: Error,
    ) -> Processed<T, E> {
        let looked = self
            .engine
            .load(std::slice::from_ref(&claim.identity))
            .await;
        let found = looked
            .ok()
            .and_then(|found| found.into_iter().next().and_then(seen));
        match is_settled(found.as_deref(), claim) {
            true => Processed::Done(value),
            false => Processed::Unavailable(error),
        }
    }

    /// Puts a failure for good on record; the effect has been rolled back.
    async fn keep_failure<T, E>(
        &self,
        connection: &mut Object,
        message: &Message,
        failed: E,
    ) -> Processed<T, E>
    where
        T: DeserializeOwned,
    {
        let kept = async {
            let mut tx = begin(connection).await?;
            let found = self.deliveries.failed(&mut tx, message).await?;
            tx.commit()
                .await
                .map_err(|e| from_postgres("committing", e))?;
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

/// What one transaction came to.
enum Attempt<T, E> {
    Concluded(Processed<T, E>),
    HandlerFailed(E),
    CommitLost(Claim, T, Error),
}

async fn begin(connection: &mut Object) -> Result<Transaction<'_>> {
    let client: &mut tokio_postgres::Client = connection;
    let begun = client
        .build_transaction()
        .isolation_level(IsolationLevel::ReadCommitted)
        .start();
    begun
        .await
        .map_err(|e| from_postgres("opening a transaction", e))
}
