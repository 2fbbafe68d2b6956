//! What a consumer asks of its transactions, whichever driver they are of.
//!
//! Connections, transactions and handlers are the drivers' affair: the consumer of each driver opens a transaction,
//! calls these steps in it and says what an end means.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use semel_core::record::Claim;
use semel_core::store::{ClaimAnswer, ClaimRequest, SettleAnswer, SettleRequest, Takeover};
use semel_core::{Error, Kind, LeaseTerm, Outcome, Record, Result, Retention, Scope, State};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::housekeeping::Housekeeping;
use super::{Message, Processed};
use crate::config::Config;
use crate::tx::{Driver, Tables};

/// The messages of one consumer, on any driver. Users want a driver's `Consumer`; this is what adapters build it of.
#[derive(Debug, Clone)]
pub struct Deliveries {
    tables: Tables,
    scope: Scope,
    retention: Retention,
    housekeeping: Arc<Housekeeping>,
}

impl Deliveries {
    /// The deliveries of the consumer named `scope`, in the tables that `config` names. From the first one on, what has expired is swept
    /// in the background, on a connection of its own, as [`Config::sweep_every`] says.
    pub fn new(config: &Config, scope: Scope) -> Self {
        Self {
            tables: Tables::new(config),
            scope,
            retention: Retention::default(),
            housekeeping: Arc::new(Housekeeping::new(config)),
        }
    }

    /// How long a processed message is remembered.
    #[must_use]
    pub const fn retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// Claims a message, or says what is known about it. Either is to be committed: also a refusal may
    /// have left an event.
    pub async fn claim<D: Driver, T: DeserializeOwned, E>(
        &self,
        tx: &mut D,
        message: &Message,
    ) -> Result<ControlFlow<Processed<T, E>, Claim>, D::Error> {
        self.housekeeping.start();
        Ok(match self.tables.claim(tx, &self.request(message)).await? {
            ClaimAnswer::Granted(lease) => ControlFlow::Continue(lease.claim),
            other => ControlFlow::Break(Processed::not_granted(other)),
        })
    }

    /// Puts the result of a claimed message on record, beside its effect.
    pub async fn succeeded<D: Driver>(
        &self,
        tx: &mut D,
        claim: &Claim,
        value: &impl Serialize,
        took: Duration,
    ) -> Result<(), D::Error> {
        let body = serde_json::to_vec(value)
            .map_err(|e| Error::invalid("the handler's result cannot be kept").caused_by(e))?;
        self.settle(tx, claim.clone(), Outcome::succeeded(body), took)
            .await
    }

    /// Puts on record that a message failed for good, in a transaction after that of its effect was rolled back.
    /// Between the two somebody else may have dealt with the message: then this is what they made of it.
    pub async fn failed<D: Driver, T: DeserializeOwned, E>(
        &self,
        tx: &mut D,
        message: &Message,
    ) -> Result<Option<Processed<T, E>>, D::Error> {
        match self.claim(tx, message).await? {
            ControlFlow::Continue(claim) => {
                self.settle(tx, claim, Outcome::failed(""), Duration::ZERO)
                    .await?;
                Ok(None)
            }
            ControlFlow::Break(processed) => Ok(Some(processed)),
        }
    }

    /// Whether a commit whose answer was lost has happened. The record tells, because it is part of it.
    pub async fn has_settled<D: Driver>(
        &self,
        tx: &mut D,
        claim: &Claim,
    ) -> Result<bool, D::Error> {
        let found = self.tables.look_up(tx, &claim.identity).await?;
        Ok(is_settled(found.as_ref(), claim))
    }

    async fn settle<D: Driver>(
        &self,
        tx: &mut D,
        claim: Claim,
        outcome: Outcome,
        took: Duration,
    ) -> Result<(), D::Error> {
        let settle = SettleRequest {
            claim,
            outcome,
            took,
            retention: self.retention,
        };
        match self.tables.settle(tx, &settle).await? {
            SettleAnswer::Settled => Ok(()),
            // The claim's row is locked by this very transaction, so only its lease can have ended.
            SettleAnswer::Late | SettleAnswer::NeverGranted => {
                let message = "the handler took longer than its lease";
                Err(Error::new(Kind::Unavailable, message).into())
            }
        }
    }

    fn request(&self, message: &Message) -> ClaimRequest {
        ClaimRequest {
            identity: message.identity(&self.scope),
            fingerprint: message.fingerprint(),
            lease: LeaseTerm::new(LeaseTerm::MAX).expect("the longest term is a valid one"),
            // Nothing of a claim in a transaction survives unless it is settled with it.
            takeover: Takeover::Never,
            about: None,
            nonce: None,
        }
    }
}

/// Whether the record of a claim's identity is what this very claim settled.
pub(super) fn is_settled(found: Option<&Record>, claim: &Claim) -> bool {
    found.is_some_and(|record| {
        record.fence == claim.fence && matches!(record.state, State::Settled(_))
    })
}
