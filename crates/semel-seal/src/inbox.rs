//! The layer in front of an inbox.

use std::sync::Arc;

use bytes::Bytes;
use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{
    Arrivals, Attempt, Cause, ClaimBatch, Claimed, Counts, Detail, Disposition, Edited, Finish,
    Finished, Gap, Inbox, Intent, Job, Message, Operation, Page, Plan, Query, Receipt, Renewal,
    Report, State, Step, Taken, WakeUp,
};
use semel_core::outcome::Settled;
use semel_core::record::Claim;
use semel_core::store::{Actor, Answer};
use semel_core::{Identity, LeaseTerm, Result, Scope, Tenant};

use crate::cipher::{DataKey, Purpose};
use crate::contents::{
    Closed, closed_outcome, open_bytes, open_edit, open_message, open_outcome, seal_bytes,
    seal_edit, seal_message, seal_outcome,
};
use crate::keyring::{Found, Keyring, locked};

/// An inbox whose messages, results and answers are sealed. What was plain before stays readable.
#[derive(Debug, Clone)]
pub struct SealedInbox {
    inbox: Arc<dyn Inbox>,
    keys: Keyring,
}

/// Why a claimed message does not run.
const FORGOTTEN: &str = "the contents are sealed, and the tenant's data key was destroyed";

impl SealedInbox {
    /// In front of `inbox`, with these keys.
    pub fn new(inbox: Arc<dyn Inbox>, keys: Keyring) -> Self {
        Self { inbox, keys }
    }

    async fn sealed(&self, message: Message) -> Result<Message> {
        match self.keys.to_seal(message.identity().tenant()).await? {
            Some(key) => seal_message(&key, message),
            None => Ok(message),
        }
    }

    async fn sealed_end(&self, item: Finish) -> Result<Finish> {
        let identity = item.claim.identity.clone();
        let key = self.keys.to_seal(identity.tenant()).await?;
        let disposition = match (item.disposition, key) {
            (Disposition::Completed { outcome, intents }, key) => {
                let outcome = match &key {
                    Some(key) => seal_outcome(key, &identity, outcome),
                    None => outcome,
                };
                let mut sealed = Vec::with_capacity(intents.len());
                for Intent { plan, message } in intents {
                    let message = self.sealed(message).await?;
                    sealed.push(Intent { plan, message });
                }
                let intents = sealed;
                Disposition::Completed { outcome, intents }
            }
            (disposition, Some(key)) => {
                failed(disposition, |error| answered(&key, &identity, error))
            }
            (disposition, None) => disposition,
        };
        Ok(Finish {
            disposition,
            ..item
        })
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
            if let Some(key) = self.keys.to_seal(identity.tenant()).await? {
                operation.edit = Some(seal_edit(&key, &identity, edit)?);
            }
        }
        Ok(operation)
    }

    /// What was claimed and can run. What was erased is parked, where people see it; if a key is missing here, everything is given back, because
    /// another process may have it.
    async fn opened(&self, plan: Plan, claimed: Claimed) -> Result<Claimed> {
        let (mut jobs, mut ends, mut missing) = (Vec::new(), Vec::new(), None);
        for job in &claimed.jobs {
            let found = self.keys.find(job.claim.identity.tenant()).await?;
            match open_job(&found, job)? {
                Ok(job) => jobs.push(job),
                Err(Closed::Forgotten) => ends.push(end(job, park())),
                Err(Closed::Locked(kek)) => missing = Some(kek),
            }
        }
        if let Some(kek) = missing {
            let all = claimed.jobs.iter();
            let all = all.map(|job| end(job, Disposition::Return)).collect();
            self.inbox.finish(plan, all).await?;
            return Err(locked(&kek));
        }
        if !ends.is_empty() {
            self.inbox.finish(plan, ends).await?;
        }
        Ok(Claimed { jobs, ..claimed })
    }

    async fn shown(&self, detail: Detail) -> Result<Detail> {
        let identity = detail.entry.identity.clone();
        let found = self.keys.find(identity.tenant()).await?;
        let message = match &detail.message {
            Some(message) => open_message(&found, message)?.ok(),
            None => None,
        };
        let settled = match detail.settled {
            Some(settled) => {
                let outcome = match open_outcome(&found, &identity, &settled.outcome)? {
                    Ok(outcome) => outcome,
                    Err(closed) => closed_outcome(&settled.outcome, &closed),
                };
                Some(Settled { outcome, ..settled })
            }
            None => None,
        };
        let open = |purpose, bytes: &Bytes| -> Result<Option<Bytes>> {
            Ok(open_bytes(&found, purpose, &identity, bytes)?.ok())
        };
        let mut attempts = Vec::with_capacity(detail.attempts.len());
        for attempt in detail.attempts {
            let answer = match &attempt.answer {
                Some(answer) => open(Purpose::Answer, answer)?,
                None => None,
            };
            attempts.push(Attempt { answer, ..attempt });
        }
        let mut steps = Vec::with_capacity(detail.steps.len());
        for Step { name, result } in detail.steps {
            let result = open(Purpose::Step, &result)?.unwrap_or_default();
            steps.push(Step { name, result });
        }
        let mut edits = Vec::with_capacity(detail.edits.len());
        for edited in detail.edits {
            if let Ok(edit) = open_edit(&found, &identity, &edited.edit)? {
                edits.push(Edited { edit, ..edited });
            }
        }
        let mut entry = detail.entry;
        if let Some(message) = &message {
            entry.payload_bytes = Some(message.payload().len() as u64);
        }
        Ok(Detail {
            entry,
            edits,
            message,
            settled,
            attempts,
            steps,
            ..detail
        })
    }
}

fn open_job(found: &Found, job: &Job) -> Result<std::result::Result<Job, Closed>> {
    let message = match open_message(found, &job.message)? {
        Ok(message) => message,
        Err(closed) => return Ok(Err(closed)),
    };
    let mut steps = Vec::with_capacity(job.steps.len());
    for Step { name, result } in &job.steps {
        match open_bytes(found, Purpose::Step, &job.claim.identity, result)? {
            Ok(result) => steps.push(Step {
                name: name.clone(),
                result,
            }),
            Err(closed) => return Ok(Err(closed)),
        }
    }
    Ok(Ok(Job {
        message: Arc::new(message),
        steps,
        ..job.clone()
    }))
}

fn end(job: &Job, disposition: Disposition) -> Finish {
    Finish {
        claim: job.claim.clone(),
        took: std::time::Duration::ZERO,
        disposition,
    }
}

fn park() -> Disposition {
    Disposition::Park {
        cause: Cause::Unreadable,
        error: ErrorText::new(FORGOTTEN),
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
    fn receive(&self, arrivals: Arrivals) -> Answer<'_, Vec<Receipt>> {
        Box::pin(async move {
            let mut messages = Vec::with_capacity(arrivals.messages.len());
            for message in arrivals.messages {
                messages.push(self.sealed(message).await?);
            }
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
            let mut sealed = Vec::with_capacity(items.len());
            for item in items {
                sealed.push(self.sealed_end(item).await?);
            }
            self.inbox.finish(plan, sealed).await
        })
    }

    fn remember_step(&self, claim: Claim, step: Step) -> Answer<'_, Renewal> {
        Box::pin(async move {
            let identity = &claim.identity;
            let step = match self.keys.to_seal(identity.tenant()).await? {
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
