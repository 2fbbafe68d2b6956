//! The layer in front of an inbox.

use std::sync::Arc;

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{
    Arrivals, ClaimBatch, Claimed, Counts, Detail, Disposition, Finish, Finished, Gap, Inbox,
    Intent, Message, Operation, Page, Plan, Query, Receipt, Renewal, Report, State, Step, Taken,
    WaitingLane, WakeUp,
};
use semel_core::record::Claim;
use semel_core::store::{Actor, Answer};
use semel_core::{Identity, LeaseTerm, Result, Scope, Tenant};

use crate::cipher::{DataKey, Purpose};
use crate::contents::{
    plain_edit, plain_message, plain_outcome, seal_bytes, seal_edit, seal_message, seal_outcome,
};
use crate::keyring::{Keyring, PerTenant, ToSeal, distinct};

/// An inbox whose messages, results and answers are sealed. What was plain before stays readable.
#[derive(Debug, Clone)]
pub struct SealedInbox {
    pub(crate) inbox: Arc<dyn Inbox>,
    pub(crate) keys: Keyring,
}

/// The keys of the tenants that one call is about.
type Keys = PerTenant<Option<Arc<DataKey>>>;

impl SealedInbox {
    /// In front of `inbox`, with these keys.
    pub fn new(inbox: Arc<dyn Inbox>, keys: Keyring) -> Self {
        Self { inbox, keys }
    }

    async fn key(&self, tenant: &Tenant) -> ToSeal {
        self.keys.to_seal(&[tenant]).await.of(tenant)
    }

    /// All of the ends, sealed. If one cannot be, the error is about an item: the engine then offers each by itself, so that a tenant whose key is missing
    /// or damaged holds up no other.
    async fn sealed_ends(&self, items: Vec<Finish>) -> Result<Vec<Finish>> {
        let tenants: Vec<Tenant> = items.iter().flat_map(tenants_of).cloned().collect();
        let keys = self.keys.to_seal(&distinct(&tenants)).await;
        let sealed = items.into_iter().map(|item| sealed_end(&keys, item));
        sealed.collect()
    }

    /// The edit of the one message that it names; anything else goes on as it is.
    async fn sealed_edit(&self, mut operation: Operation) -> Result<Operation> {
        operation.check_edit()?;
        if let (Some(edit), Some(id), Some(tenant)) = (
            &operation.edit,
            operation.select.ids.first(),
            &operation.select.tenant,
        ) {
            let tenant = Tenant::new(tenant)?;
            let scope = operation.plan.consumer.clone();
            let identity = Identity::new(tenant, scope, id.clone());
            operation.edit = Some(match self.key(identity.tenant()).await? {
                Some(key) => seal_edit(&key, &identity, edit)?,
                None => plain_edit(edit)?,
            });
        }
        Ok(operation)
    }
}

/// Whose keys the end of an attempt needs: those of what it brings. One that brings nothing needs none.
fn tenants_of(item: &Finish) -> Vec<&Tenant> {
    let own = item.claim.identity.tenant();
    match &item.disposition {
        Disposition::Completed { intents, .. } => {
            let intents = intents.iter();
            let others = intents.map(|intent| intent.message.identity().tenant());
            std::iter::once(own).chain(others).collect()
        }
        disposition if answer(disposition).is_some() => vec![own],
        _ => Vec::new(),
    }
}

fn sealed(keys: &Keys, message: Message) -> Result<Message> {
    Ok(match keys.of(message.identity().tenant())? {
        Some(key) => seal_message(&key, message),
        None => plain_message(message),
    })
}

fn sealed_end(keys: &Keys, item: Finish) -> Result<Finish> {
    let identity = &item.claim.identity;
    let disposition = match item.disposition {
        Disposition::Completed { outcome, intents } => {
            let outcome = match keys.of(identity.tenant())? {
                Some(key) => seal_outcome(&key, identity, outcome),
                None => plain_outcome(outcome),
            };
            let sealed = intents.into_iter().map(|Intent { plan, message }| {
                let message = sealed(keys, message)?;
                Ok(Intent { plan, message })
            });
            let intents = sealed.collect::<Result<_>>()?;
            Disposition::Completed { outcome, intents }
        }
        disposition if answer(&disposition).is_some() => match keys.of(identity.tenant())? {
            Some(key) => failed(disposition, |error| answered(&key, identity, error)),
            None => disposition,
        },
        disposition => disposition,
    };
    Ok(Finish {
        disposition,
        ..item
    })
}

/// What a handler answered when an attempt failed.
fn answer(disposition: &Disposition) -> Option<&bytes::Bytes> {
    match disposition {
        Disposition::Retry { error, .. }
        | Disposition::Terminal { error }
        | Disposition::Park { error, .. }
        | Disposition::NotReached { error, .. } => error.answer(),
        Disposition::Completed { .. } | Disposition::Skip { .. } | Disposition::Return => None,
    }
}

/// The end of an attempt that failed, with its error in another form.
fn failed(disposition: Disposition, change: impl FnOnce(ErrorText) -> ErrorText) -> Disposition {
    match disposition {
        Disposition::Retry {
            after,
            cause,
            error,
        } => Disposition::Retry {
            after,
            cause,
            error: change(error),
        },
        Disposition::Terminal { error } => Disposition::Terminal {
            error: change(error),
        },
        Disposition::Park { cause, error } => Disposition::Park {
            cause,
            error: change(error),
        },
        Disposition::NotReached { after, error } => Disposition::NotReached {
            after,
            error: change(error),
        },
        other
        @ (Disposition::Completed { .. } | Disposition::Skip { .. } | Disposition::Return) => other,
    }
}

/// The same text with a sealed answer.
fn answered(key: &DataKey, identity: &Identity, error: ErrorText) -> ErrorText {
    let Some(answer) = error.answer().cloned() else {
        return error;
    };
    let sealed = seal_bytes(key, Purpose::Answer, identity, &answer);
    error.with_sealed_answer(sealed)
}

impl Inbox for SealedInbox {
    /// All or none. If one cannot be sealed, the error is about an item, and what the others bring is to be offered without it.
    fn receive(&self, arrivals: Arrivals) -> Answer<'_, Vec<Receipt>> {
        Box::pin(async move {
            let all = arrivals.messages.iter();
            let tenants = distinct(all.map(|message| message.identity().tenant()));
            let keys = self.keys.to_seal(&tenants).await;
            let all = arrivals.messages.into_iter();
            let messages = all.map(|message| sealed(&keys, message));
            let messages = messages.collect::<Result<_>>()?;
            self.inbox
                .receive(Arrivals {
                    messages,
                    ..arrivals
                })
                .await
        })
    }

    fn take_positions(&self, source: String, partitions: Vec<String>) -> Answer<'_, Vec<Taken>> {
        self.inbox.take_positions(source, partitions)
    }

    fn claim_batch(&self, ask: ClaimBatch) -> Answer<'_, Claimed> {
        Box::pin(async move {
            let plan = ask.plan.clone();
            let claimed = self.inbox.claim_batch(ask).await?;
            self.opened(plan, claimed).await
        })
    }

    fn renew(&self, claims: Vec<Claim>, lease: LeaseTerm) -> Answer<'_, Vec<Renewal>> {
        self.inbox.renew(claims, lease)
    }

    fn finish(&self, plan: Plan, items: Vec<Finish>) -> Answer<'_, Vec<Finished>> {
        Box::pin(async move {
            let sealed = self.sealed_ends(items).await?;
            self.inbox.finish(plan, sealed).await
        })
    }

    fn remember_step(&self, claim: Claim, step: Step) -> Answer<'_, Renewal> {
        Box::pin(async move {
            let identity = &claim.identity;
            let step = match self.key(identity.tenant()).await? {
                Some(key) => Step {
                    result: seal_bytes(&key, Purpose::Step, identity, &step.result),
                    name: step.name,
                },
                None => step,
            };
            self.inbox.remember_step(claim, step).await
        })
    }

    fn advance_lanes(&self, plan: Plan, limit: usize) -> Answer<'_, usize> {
        self.inbox.advance_lanes(plan, limit)
    }

    fn wake_up(&self, consumer: &Scope) -> WakeUp {
        self.inbox.wake_up(consumer)
    }

    fn list_messages(&self, query: Query) -> Answer<'_, Page> {
        self.inbox.list_messages(query)
    }

    fn states(&self, identities: Vec<Identity>) -> Answer<'_, Vec<Option<State>>> {
        self.inbox.states(identities)
    }

    fn message(&self, identity: Identity) -> Answer<'_, Option<Detail>> {
        Box::pin(async move {
            match self.inbox.message(identity).await? {
                Some(detail) => self.shown(detail).await.map(Some),
                None => Ok(None),
            }
        })
    }

    fn gaps(&self, consumer: Scope, limit: usize) -> Answer<'_, Vec<Gap>> {
        self.inbox.gaps(consumer, limit)
    }

    fn waiting_lanes(&self, consumer: Scope, limit: usize) -> Answer<'_, Vec<WaitingLane>> {
        self.inbox.waiting_lanes(consumer, limit)
    }

    fn counts(&self) -> Answer<'_, Vec<Counts>> {
        self.inbox.counts()
    }

    fn operate(&self, operation: Operation) -> Answer<'_, Report> {
        Box::pin(async move {
            let sealed = self.sealed_edit(operation).await?;
            self.inbox.operate(sealed).await
        })
    }

    fn set_paused(
        &self,
        consumer: Scope,
        paused: bool,
        by: Actor,
        reason: Option<String>,
    ) -> Answer<'_, bool> {
        self.inbox.set_paused(consumer, paused, by, reason)
    }

    fn expose_processed(&self, view: String) -> Answer<'_, ()> {
        self.inbox.expose_processed(view)
    }
}
