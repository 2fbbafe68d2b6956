//! The layer in front of a store of records.

use std::sync::Arc;

use semel_core::record::{Event, EventKind};
use semel_core::store::{
    Answer, Answers, Batch, ClaimAnswer, ClaimRequest, Layer, Limits, Page, Query, Resolution,
    ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest, each_fails, merge,
};
use semel_core::{Error, Fingerprint, Identity, Outcome, Record, Result, State, Store};

use crate::cipher::OVERHEAD;
use crate::contents::{Closed, closed_outcome, open_outcome, seal_outcome};
use crate::keyring::{Keyring, SCOPE, locked};

/// A store whose outcomes are sealed. What was plain before stays readable.
#[derive(Debug, Clone)]
pub struct Sealed {
    store: Arc<dyn Store>,
    keys: Keyring,
}

impl Sealed {
    /// In front of `store`, with these keys.
    pub fn new(store: Arc<dyn Store>, keys: Keyring) -> Self {
        Self { store, keys }
    }

    async fn sealed(&self, identity: &Identity, outcome: Outcome) -> Result<Outcome> {
        Ok(match self.keys.to_seal(identity.tenant()).await? {
            Some(key) => seal_outcome(&key, identity, outcome),
            None => outcome,
        })
    }

    /// Seals and settles each item by itself: one whose key cannot be had fails alone.
    async fn settled(&self, items: Batch<SettleRequest>) -> Batch<Result<SettleAnswer>> {
        let (mut failed, mut sealed) = (Batch::new(), Batch::new());
        for item in items {
            let identity = item.claim.identity.clone();
            match self.sealed(&identity, item.outcome).await {
                Ok(outcome) => {
                    sealed.push(SettleRequest {
                        claim: item.claim,
                        outcome,
                        took: item.took,
                        retention: item.retention,
                    });
                    failed.push(None);
                }
                Err(error) => failed.push(Some(Err(error))),
            }
        }
        match sealed.is_empty() {
            true => merge(failed, []),
            false => merge(failed, self.store.settle(sealed).await),
        }
    }

    /// The outcome as it was, or what can be told of it.
    async fn opened(
        &self,
        identity: &Identity,
        outcome: &Outcome,
    ) -> Result<(Outcome, Option<Closed>)> {
        let found = self.keys.find(identity.tenant()).await?;
        Ok(match open_outcome(&found, identity, outcome)? {
            Ok(outcome) => (outcome, None),
            Err(closed) => (closed_outcome(outcome, &closed), Some(closed)),
        })
    }

    async fn record(&self, record: Arc<Record>) -> Result<(Arc<Record>, Option<Closed>)> {
        let outcome = match &record.state {
            State::Settled(settled) if settled.outcome.headers.are_sealed() => &settled.outcome,
            State::Settled(_) | State::Running { .. } | State::Unknown { .. } => {
                return Ok((record, None));
            }
        };
        let (outcome, closed) = self.opened(&record.identity, outcome).await?;
        let mut record = Record::clone(&record);
        if let State::Settled(settled) = &mut record.state {
            settled.outcome = outcome;
        }
        Ok((Arc::new(record), closed))
    }

    /// A replay of what this process cannot read would be a lie about the answer; of what was erased it says that it is not kept.
    async fn claimed(&self, answer: ClaimAnswer) -> Result<ClaimAnswer> {
        let ClaimAnswer::Settled(record) = answer else {
            return Ok(answer);
        };
        match self.record(record).await? {
            (_, Some(Closed::Locked(kek))) => Err(locked(&kek)),
            (record, _) => Ok(ClaimAnswer::Settled(record)),
        }
    }

    async fn event(&self, identity: &Identity, event: Event) -> Result<Event> {
        Ok(match &event.kind {
            EventKind::LateOutcome(outcome) if outcome.headers.are_sealed() => Event {
                kind: EventKind::LateOutcome(self.opened(identity, outcome).await?.0),
                ..event
            },
            _ => event,
        })
    }
}

/// Data keys are records like others, but no caller's.
fn refused<'a>(identities: impl IntoIterator<Item = &'a Identity>) -> Option<Error> {
    let mut identities = identities.into_iter();
    let is_ours = |identity: &Identity| identity.scope().name() == SCOPE;
    let found = identities.any(is_ours);
    found.then(|| {
        Error::invalid(format!(
            "the scope {SCOPE} is reserved for data keys, which `semel encryption` rotates and erases"
        ))
    })
}

/// Answers with the error if there is one.
macro_rules! refuse {
    ($items:ident, $identity:expr) => {
        if let Some(error) = refused($items.iter().map($identity)) {
            let answers = each_fails($items.len(), &error);
            return Box::pin(std::future::ready(answers));
        }
    };
}

impl Layer for Sealed {
    fn beneath(&self) -> &dyn Store {
        self.store.as_ref()
    }

    fn limits(&self) -> Limits {
        let limits = self.store.limits();
        limits.with_body_bytes(limits.body_bytes_max.saturating_sub(OVERHEAD))
    }

    /// What is in memory beneath is sealed, and opening it may need the store.
    fn cached(&self, _identity: &Identity, _fingerprint: Fingerprint) -> Option<Arc<Record>> {
        None
    }

    fn claim(&self, items: Batch<ClaimRequest>) -> Answers<'_, ClaimAnswer> {
        refuse!(items, |item| &item.identity);
        Box::pin(async move {
            let mut answers = Batch::new();
            for answer in self.store.claim(items).await {
                answers.push(match answer {
                    Ok(answer) => self.claimed(answer).await,
                    Err(error) => Err(error),
                });
            }
            answers
        })
    }

    fn settle(&self, items: Batch<SettleRequest>) -> Answers<'_, SettleAnswer> {
        refuse!(items, |item| &item.claim.identity);
        // What is above the limit of the sealed store would fit into the one beneath only without its seal.
        let (answers, items) = Layer::limits(self).sort_out(items);
        Box::pin(async move { merge(answers, self.settled(items).await) })
    }

    fn resolve(&self, items: Batch<ResolveRequest>) -> Answers<'_, ResolveAnswer> {
        refuse!(items, |item| &item.claim.identity);
        Box::pin(async move {
            let (mut failed, mut sealed) = (Batch::new(), Batch::new());
            for mut item in items {
                let identity = item.claim.identity.clone();
                let sealing = match &mut item.resolution {
                    Resolution::Settle { outcome, .. } | Resolution::Correct { outcome } => {
                        let plain = outcome.clone();
                        let done = self.sealed(&identity, plain).await;
                        done.map(|done| *outcome = done)
                    }
                    _ => Ok(()),
                };
                match sealing {
                    Ok(()) => {
                        sealed.push(item);
                        failed.push(None);
                    }
                    Err(error) => failed.push(Some(Err(error))),
                }
            }
            match sealed.is_empty() {
                true => merge(failed, []),
                false => merge(failed, self.store.resolve(sealed).await),
            }
        })
    }

    fn look_up(&self, items: Batch<Identity>) -> Answers<'_, Option<Arc<Record>>> {
        Box::pin(async move {
            let mut answers = Batch::new();
            for answer in self.store.look_up(items).await {
                answers.push(match answer {
                    Ok(Some(record)) => self.record(record).await.map(|(record, _)| Some(record)),
                    other => other,
                });
            }
            answers
        })
    }

    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>> {
        Box::pin(async move {
            let mut events = Vec::new();
            for event in self.store.history(identity.clone()).await? {
                events.push(self.event(&identity, event).await?);
            }
            Ok(events)
        })
    }

    /// Data keys are listed only where their scope is asked for, so that what is done to all records of a tenant is not done to its key.
    fn list(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move {
            let asked = query.scope.is_some();
            let mut page = self.store.list(query).await?;
            let is_shown = |record: &Record| asked || record.identity.scope().name() != SCOPE;
            page.records.retain(is_shown);
            let mut records = Vec::with_capacity(page.records.len());
            for record in page.records {
                let (record, _) = self.record(Arc::new(record)).await?;
                records.push(Arc::unwrap_or_clone(record));
            }
            Ok(Page { records, ..page })
        })
    }
}
