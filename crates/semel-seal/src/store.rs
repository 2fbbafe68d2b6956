//! The layer in front of a store of records.

use std::sync::Arc;

use semel_core::record::{Event, EventKind};
use semel_core::store::{
    Answer, Answers, Batch, ClaimAnswer, ClaimRequest, Layer, Limits, MarkAnswer, MarkRequest,
    Page, Query, ReleaseAnswer, RenewAnswer, RenewRequest, Resolution, ResolveAnswer,
    ResolveRequest, SettleAnswer, SettleRequest, each_fails, merge,
};
use semel_core::{Error, Fingerprint, Identity, Outcome, Record, Result, State, Store, Tenant};

use crate::cipher::{DataKey, OVERHEAD};
use crate::contents::{Closed, closed_outcome, open_outcome, plain_outcome, seal_outcome};
use crate::keyring::{Keyring, Opener, PerTenant, distinct};
use crate::wrapped::SCOPE;

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

    /// Seals and settles each item by itself: one whose key cannot be had fails alone.
    async fn settled(&self, items: Batch<SettleRequest>) -> Batch<Result<SettleAnswer>> {
        let tenants = distinct(items.iter().map(|item| item.claim.identity.tenant()));
        let keys = self.keys.to_seal(&tenants).await;
        let (mut failed, mut ready) = (Batch::new(), Batch::new());
        for item in items {
            match keys.of(item.claim.identity.tenant()) {
                Ok(key) => {
                    let outcome = sealed(key.as_deref(), &item.claim.identity, item.outcome);
                    ready.push(SettleRequest { outcome, ..item });
                    failed.push(None);
                }
                Err(error) => failed.push(Some(Err(error))),
            }
        }
        match ready.is_empty() {
            true => merge(failed, []),
            false => merge(failed, self.store.settle(ready).await),
        }
    }

    /// Claims only for tenants whose outcomes can be sealed: once an effect has happened it is too late to refuse.
    async fn claimed(&self, items: Batch<ClaimRequest>) -> Batch<Result<ClaimAnswer>> {
        let tenants = distinct(items.iter().map(|item| item.identity.tenant()));
        let may = self.keys.ready(&tenants).await;
        let (mut refused, mut ready) = (Batch::new(), Batch::new());
        for item in items {
            match may.of(item.identity.tenant()) {
                Ok(()) => {
                    ready.push(item);
                    refused.push(None);
                }
                Err(error) => refused.push(Some(Err(error))),
            }
        }
        if ready.is_empty() {
            return merge(refused, []);
        }
        let answers = self.store.claim(ready).await;
        let settled = answers.iter().filter_map(|answer| match answer {
            Ok(ClaimAnswer::Settled(record)) if is_sealed(record) => Some(record),
            _ => None,
        });
        let mut opener = self.opener(settled).await;
        let mut opened = Batch::new();
        for answer in answers {
            opened.push(match answer {
                Ok(ClaimAnswer::Settled(record)) => replayed(&mut opener, record).await,
                other => other,
            });
        }
        merge(refused, opened)
    }

    /// The keys of sealed records, looked up at once.
    async fn opener(&self, records: impl Iterator<Item = &Arc<Record>>) -> Opener {
        let tenants = distinct(records.map(|record| record.identity.tenant()));
        self.keys.opener(&tenants).await
    }

    async fn shown(&self, records: Vec<Option<Arc<Record>>>) -> Vec<Result<Option<Arc<Record>>>> {
        let sealed = records.iter().flatten().filter(|record| is_sealed(record));
        let mut opener = self.opener(sealed).await;
        let mut shown = Vec::with_capacity(records.len());
        for record in records {
            shown.push(match record {
                Some(record) => opened(&mut opener, record).await.map(|(one, _)| Some(one)),
                None => Ok(None),
            });
        }
        shown
    }

    /// With the outcome that a decision puts on record sealed.
    async fn decided(&self, items: Batch<ResolveRequest>) -> Batch<Result<ResolveAnswer>> {
        let brings = items
            .iter()
            .filter(|item| item.resolution.outcome().is_some());
        let tenants: Vec<Tenant> = brings
            .map(|item| item.claim.identity.tenant().clone())
            .collect();
        let keys = match tenants.is_empty() {
            true => PerTenant::All(Ok(None)),
            false => self.keys.to_seal(&distinct(&tenants)).await,
        };
        let (mut failed, mut ready) = (Batch::new(), Batch::new());
        for mut item in items {
            let identity = &item.claim.identity;
            let done = match &mut item.resolution {
                Resolution::Settle { outcome, .. } | Resolution::Correct { outcome } => {
                    let key = keys.of(identity.tenant());
                    key.map(|key| *outcome = sealed(key.as_deref(), identity, outcome.clone()))
                }
                Resolution::Release | Resolution::Erase | Resolution::EraseContents => Ok(()),
            };
            match done {
                Ok(()) => {
                    ready.push(item);
                    failed.push(None);
                }
                Err(error) => failed.push(Some(Err(error))),
            }
        }
        match ready.is_empty() {
            true => merge(failed, []),
            false => merge(failed, self.store.resolve(ready).await),
        }
    }
}

fn sealed(key: Option<&DataKey>, identity: &Identity, outcome: Outcome) -> Outcome {
    match key {
        Some(key) => seal_outcome(key, identity, outcome),
        None => plain_outcome(outcome),
    }
}

fn is_sealed(record: &Record) -> bool {
    matches!(&record.state, State::Settled(settled) if settled.outcome.headers.are_sealed())
}

/// The outcome as it was, or what can be told of it.
async fn outcome_of(
    opener: &mut Opener,
    identity: &Identity,
    outcome: &Outcome,
) -> Result<(Outcome, Option<Closed>)> {
    let opening = opener.open(identity.tenant(), |found| {
        open_outcome(found, identity, outcome)
    });
    Ok(match opening.await? {
        Ok(outcome) => (outcome, None),
        Err(closed) => (closed_outcome(outcome, &closed), Some(closed)),
    })
}

async fn opened(opener: &mut Opener, record: Arc<Record>) -> Result<(Arc<Record>, Option<Closed>)> {
    let outcome = match &record.state {
        State::Settled(settled) if settled.outcome.headers.are_sealed() => &settled.outcome,
        State::Settled(_) | State::Running { .. } | State::Unknown { .. } => {
            return Ok((record, None));
        }
    };
    let (outcome, closed) = outcome_of(opener, &record.identity, outcome).await?;
    let mut record = Record::clone(&record);
    if let State::Settled(settled) = &mut record.state {
        settled.outcome = outcome;
    }
    Ok((Arc::new(record), closed))
}

/// A replay of what this process cannot read would be a lie about the answer; of what was erased it says that it is not kept.
async fn replayed(opener: &mut Opener, record: Arc<Record>) -> Result<ClaimAnswer> {
    let (record, closed) = opened(opener, record).await?;
    match closed.and_then(|closed| closed.error()) {
        Some(error) => Err(error),
        None => Ok(ClaimAnswer::Settled(record)),
    }
}

async fn event(opener: &mut Opener, identity: &Identity, event: Event) -> Result<Event> {
    Ok(match &event.kind {
        EventKind::LateOutcome(outcome) if outcome.headers.are_sealed() => Event {
            kind: EventKind::LateOutcome(outcome_of(opener, identity, outcome).await?.0),
            ..event
        },
        _ => event,
    })
}

/// Data keys are records like others, but no caller's and no operator's.
fn is_ours(identity: &Identity) -> bool {
    identity.scope().name() == SCOPE
}

fn refused<'a>(identities: impl IntoIterator<Item = &'a Identity>) -> Option<Error> {
    let found = identities.into_iter().any(is_ours);
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
        Box::pin(self.claimed(items))
    }

    fn renew(&self, items: Batch<RenewRequest>) -> Answers<'_, RenewAnswer> {
        refuse!(items, |item| &item.claim.identity);
        self.store.renew(items)
    }

    fn settle(&self, items: Batch<SettleRequest>) -> Answers<'_, SettleAnswer> {
        refuse!(items, |item| &item.claim.identity);
        // What is above the limit of the sealed store would fit into the one beneath only without its seal.
        let (answers, items) = Layer::limits(self).sort_out(items);
        Box::pin(async move { merge(answers, self.settled(items).await) })
    }

    fn release(&self, items: Batch<semel_core::record::Claim>) -> Answers<'_, ReleaseAnswer> {
        refuse!(items, |claim| &claim.identity);
        self.store.release(items)
    }

    fn mark_unknown(&self, items: Batch<MarkRequest>) -> Answers<'_, MarkAnswer> {
        refuse!(items, |item| &item.claim.identity);
        self.store.mark_unknown(items)
    }

    fn resolve(&self, items: Batch<ResolveRequest>) -> Answers<'_, ResolveAnswer> {
        refuse!(items, |item| &item.claim.identity);
        Box::pin(self.decided(items))
    }

    /// Data keys are not shown: to callers they are not there.
    fn look_up(&self, items: Batch<Identity>) -> Answers<'_, Option<Arc<Record>>> {
        Box::pin(async move {
            let (mut answers, mut found) = (Batch::new(), Vec::new());
            for answer in self.store.look_up(items).await {
                match answer {
                    Ok(record) => {
                        found.push(record.filter(|record| !is_ours(&record.identity)));
                        answers.push(None);
                    }
                    Err(error) => answers.push(Some(Err(error))),
                }
            }
            merge(answers, self.shown(found).await)
        })
    }

    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>> {
        Box::pin(async move {
            if is_ours(&identity) {
                return Ok(Vec::new());
            }
            let (mut events, mut opener) = (Vec::new(), self.keys.opener(&[]).await);
            for one in self.store.history(identity.clone()).await? {
                events.push(event(&mut opener, &identity, one).await?);
            }
            Ok(events)
        })
    }

    /// Without data keys, so that what is done to all that is listed is not done to them.
    fn list(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(async move {
            let page = self.store.list(query).await?;
            let records = page.records.into_iter();
            let records = records.filter(|record| !is_ours(&record.identity));
            let records = records.map(|record| Some(Arc::new(record))).collect();
            let mut shown = Vec::new();
            for record in self.shown(records).await {
                shown.extend(record?.map(Arc::unwrap_or_clone));
            }
            let records = shown;
            Ok(Page { records, ..page })
        })
    }
}
