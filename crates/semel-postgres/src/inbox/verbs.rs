//! The inbox's verbs on this store.

use std::collections::HashMap;

use semel_core::inbox::positions::check_taking;
use semel_core::inbox::{
    Arrivals, Claim, ClaimBatch, Claimed, Counts, Detail, Finish, Finished, Gap, Operation, Page,
    Plan, Query, Receipt, Renewal, Report, State, Step, Taken, WaitingLane, WakeUp,
};
use semel_core::store::{Actor, Answer, check_batch};
use semel_core::{Identity, Inbox, LeaseTerm, Scope};

use super::advance::Advancing;
use super::holding::{Remembering, Renewing};
use super::pauses::Pausing;
use super::positions::Taking;
use super::receive::Receiving;
use super::rows::state_of;
use super::{claim, finish};
use crate::records::digest;
use crate::store::PostgresStore;
use crate::value::Value;

impl PostgresStore {
    /// Wakes whoever waits for messages of a consumer, in all processes. Messages that were received in a transaction of the
    /// user's own cause no wake-up when it commits; a caller in a hurry calls this after it.
    pub fn wake(&self, consumer: &Scope) {
        self.waking.wake(consumer);
    }
}

impl Inbox for PostgresStore {
    fn receive(&self, arrivals: Arrivals) -> Answer<'_, Vec<Receipt>> {
        Box::pin(async move {
            arrivals.check()?;
            let engine = self.engine();
            engine.message_months(&arrivals.plan).await;
            let received = engine.call_whole(&Receiving(&arrivals)).await?;
            if received.due {
                self.wake(&arrivals.plan.consumer);
            }
            Ok(received.receipts)
        })
    }

    fn take_positions(&self, source: String, partitions: Vec<String>) -> Answer<'_, Vec<Taken>> {
        Box::pin(async move {
            check_taking(&source, &partitions)?;
            if partitions.is_empty() {
                return Ok(Vec::new());
            }
            let (source, partitions) = (source.as_str(), partitions.as_slice());
            self.engine().call(&Taking { source, partitions }).await
        })
    }

    fn claim_batch(&self, ask: ClaimBatch) -> Answer<'_, Claimed> {
        Box::pin(claim::claim_or_return(self.engine.clone(), ask))
    }

    fn renew(&self, claims: Vec<Claim>, lease: LeaseTerm) -> Answer<'_, Vec<Renewal>> {
        Box::pin(async move {
            check_batch(claims.len())?;
            let claims = &claims;
            self.engine().call(&Renewing { claims, lease }).await
        })
    }

    fn finish(&self, plan: Plan, items: Vec<Finish>) -> Answer<'_, Vec<Finished>> {
        Box::pin(async move {
            let ended = finish::finish(self.engine(), &plan, &items).await?;
            ended.due.iter().for_each(|consumer| self.wake(consumer));
            Ok(ended.answers)
        })
    }

    fn remember_step(&self, claim: Claim, step: Step) -> Answer<'_, Renewal> {
        Box::pin(async move {
            let (claim, step) = (&claim, &step);
            self.engine().call(&Remembering { claim, step }).await
        })
    }

    fn advance_lanes(&self, plan: Plan, limit: usize) -> Answer<'_, usize> {
        Box::pin(async move {
            let advancing = Advancing { plan: &plan, limit };
            let advanced = self.engine().call_whole(&advancing).await?;
            if advanced.due {
                self.wake(&plan.consumer);
            }
            Ok(advanced.changed)
        })
    }

    fn wake_up(&self, consumer: &Scope) -> WakeUp {
        self.waking.wake_up(consumer)
    }

    fn list_messages(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move { self.engine().list_messages(&query).await })
    }

    fn states(&self, identities: Vec<Identity>) -> Answer<'_, Vec<Option<State>>> {
        Box::pin(async move {
            check_batch(identities.len())?;
            let digests: Vec<_> = identities.iter().map(digest).collect();
            let engine = self.engine();
            let (sql, params) = (&engine.sql.inbox.states, [Value::Uuids(digests.clone())]);
            let rows = engine.read("reading states", sql, &params).await?;
            let mut states = HashMap::new();
            for row in &rows {
                states.insert(row.digest(0)?, state_of(row.number(1)?)?);
            }
            Ok(digests
                .iter()
                .map(|digest| states.get(digest).copied())
                .collect())
        })
    }

    fn set_paused(
        &self,
        consumer: Scope,
        paused: bool,
        by: Actor,
        reason: Option<String>,
    ) -> Answer<'_, bool> {
        Box::pin(async move {
            let pausing = Pausing {
                consumer: &consumer,
                paused,
                by: &by,
                reason: reason.as_deref(),
            };
            let changed = self.engine().call(&pausing).await?;
            if changed {
                self.wake(&consumer);
            }
            Ok(changed)
        })
    }

    fn message(&self, identity: Identity) -> Answer<'_, Option<Detail>> {
        Box::pin(async move { self.engine().message(&identity).await })
    }

    fn gaps(&self, consumer: Scope, limit: usize) -> Answer<'_, Vec<Gap>> {
        Box::pin(async move { self.engine().gaps(&consumer, limit).await })
    }

    fn waiting_lanes(&self, consumer: Scope, limit: usize) -> Answer<'_, Vec<WaitingLane>> {
        Box::pin(async move { self.engine().waiting_lanes(&consumer, limit).await })
    }

    fn counts(&self) -> Answer<'_, Vec<Counts>> {
        Box::pin(self.counts.counts(self.engine().message_counts()))
    }

    fn operate(&self, operation: Operation) -> Answer<'_, Report> {
        Box::pin(async move {
            let operated = self.engine().operate(&operation).await?;
            if operated.due {
                self.wake(&operation.plan.consumer);
            }
            Ok(operated.report)
        })
    }

    fn expose_processed(&self, view: String) -> Answer<'_, ()> {
        Box::pin(async move { self.engine().expose_processed(&view).await })
    }
}
