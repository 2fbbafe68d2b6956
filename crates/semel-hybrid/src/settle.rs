//! Settling: the lease is proven in the fast store, the outcome is kept in the durable one.

use std::time::Duration;

use semel_core::record::{EventKind, Record, UnknownCause};
use semel_core::store::{
    Batch, KeepAnswer, KeepRequest, MarkRequest, NoteRequest, RenewAnswer, RenewRequest,
    SettleAnswer, SettleRequest, Store, check_batch, each_fails, merge,
};
use semel_core::{Error, Kind, LeaseTerm, Result, State};

use crate::Hybrid;
use crate::copy::copy_retention;

/// Time for the durable store, however little is left of the lease.
///
/// Short, because a process that dies here holds its claim for as long: a slow durable store is the
/// business of whoever renews the lease while it settles.
const KEEP_TIME: Duration = Duration::from_secs(1);

impl Hybrid {
    pub(crate) async fn settle_all(
        &self,
        items: Batch<SettleRequest>,
    ) -> Batch<Result<SettleAnswer>> {
        if let Err(error) = check_batch(items.len()) {
            return each_fails(items.len(), &error);
        }
        let (answers, fit) = self.limits().sort_out(items);
        merge(answers, self.settle_fit(fit).await)
    }

    async fn settle_fit(&self, items: Batch<SettleRequest>) -> Batch<Result<SettleAnswer>> {
        let (mut live, mut lost) = (Vec::new(), Vec::new());
        let mut answers: Batch<Result<SettleAnswer>> =
            items.iter().map(|_| Ok(SettleAnswer::Late)).collect();
        for (place, found) in self.proven(&items).await.into_iter().enumerate() {
            match found {
                Ok(Some(request)) => live.push((place, request)),
                Ok(None) => lost.push(place),
                Err(error) => answers[place] = Err(error),
            }
        }
        self.keep_live(&items, live, &mut answers).await;
        self.settle_lost(&items, lost, &mut answers).await;
        answers
    }

    /// For each item whose lease is alive, what is to be kept.
    ///
    /// The renewal also leaves time for the durable store. What the record says about its claim
    /// never changes, so it may be read at the same time.
    async fn proven(&self, items: &[SettleRequest]) -> Vec<Result<Option<KeepRequest>>> {
        let lease = LeaseTerm::new(KEEP_TIME).expect("a second is a valid lease");
        let renewals = items.iter().map(|item| RenewRequest {
            claim: item.claim.clone(),
            lease,
        });
        let identities = items.iter().map(|item| item.claim.identity.clone());
        let (renewed, found) = tokio::join!(
            self.fast.renew(renewals.collect()),
            self.fast.look_up(identities.collect())
        );
        let proofs = items.iter().zip(renewed.into_iter().zip(found));
        let proven = proofs.map(|(item, (renewed, found))| match (renewed?, found?) {
            (RenewAnswer::Lost, _) => Ok(None),
            (RenewAnswer::Renewed(_), Some(record)) if record.fence == item.claim.fence => {
                Ok(Some(request_of(item, &record)))
            }
            (RenewAnswer::Renewed(_), _) => Err(Error::new(
                Kind::Unavailable,
                "the fast store renewed a claim that it does not show",
            )),
        });
        proven.collect()
    }

    /// Once the outcome is kept nothing can undo it: what the fast store misses, the next claim repairs.
    async fn keep_live(
        &self,
        items: &[SettleRequest],
        live: Vec<(usize, KeepRequest)>,
        answers: &mut [Result<SettleAnswer>],
    ) {
        if live.is_empty() {
            return;
        }
        let (places, requests): (Vec<usize>, Vec<KeepRequest>) = live.into_iter().unzip();
        let kept = self.durable.keep(requests.into()).await;
        let (mut copies, mut superseded) = (Batch::new(), Vec::new());
        for (place, kept) in places.into_iter().zip(kept) {
            let item = &items[place];
            match kept {
                Ok(KeepAnswer::Kept) => {
                    answers[place] = Ok(SettleAnswer::Settled);
                    copies.push(SettleRequest {
                        retention: copy_retention(item.retention.keep()),
                        ..item.clone()
                    });
                }
                Ok(KeepAnswer::Superseded) => superseded.push(place),
                Err(error) => answers[place] = Err(error),
            }
        }
        if !copies.is_empty() {
            let _ = self.fast.settle(copies).await;
        }
        self.note_late(items, superseded, answers).await;
    }

    /// What another outcome was faster than is late, and no longer runs.
    async fn note_late(
        &self,
        items: &[SettleRequest],
        late: Vec<usize>,
        answers: &mut [Result<SettleAnswer>],
    ) {
        if late.is_empty() {
            return;
        }
        let notes = late.iter().map(|place| NoteRequest {
            claim: items[*place].claim.clone(),
            kind: EventKind::LateOutcome(items[*place].outcome.clone()),
        });
        let mut marks = Batch::new();
        let noted = self.durable.note(notes.collect()).await;
        for (place, noted) in late.into_iter().zip(noted) {
            match noted {
                Ok(()) => marks.push(MarkRequest {
                    claim: items[place].claim.clone(),
                    cause: UnknownCause::RunUndecided,
                    evidence: None,
                }),
                Err(error) => answers[place] = Err(error),
            }
        }
        let _ = self.fast.mark_unknown(marks).await;
    }

    /// What comes without a live lease is late, unless it is on record already: then it was sent again.
    async fn settle_lost(
        &self,
        items: &[SettleRequest],
        lost: Vec<usize>,
        answers: &mut [Result<SettleAnswer>],
    ) {
        if lost.is_empty() {
            return;
        }
        let identities = lost.iter().map(|place| &items[*place].claim.identity);
        let found = self.durable.look_up(identities.cloned().collect()).await;
        let mut late = Vec::new();
        for (place, record) in lost.into_iter().zip(found) {
            match record {
                Ok(Some(record)) if is_outcome_of(&record, &items[place]) => {
                    answers[place] = Ok(SettleAnswer::Settled);
                }
                Ok(_) => late.push(place),
                Err(error) => answers[place] = Err(error),
            }
        }
        if late.is_empty() {
            return;
        }
        let requests = late.iter().map(|place| items[*place].clone()).collect();
        for (place, answer) in late.into_iter().zip(self.fast.settle(requests).await) {
            answers[place] = answer;
        }
    }
}

fn request_of(item: &SettleRequest, record: &Record) -> KeepRequest {
    KeepRequest {
        claim: item.claim.clone(),
        fingerprint: record.fingerprint,
        attempt: record.attempt,
        claimed_at: record.claimed_at,
        outcome: item.outcome.clone(),
        took: item.took,
        retention: item.retention,
        about: record.about.clone(),
        resolved: false,
    }
}

fn is_outcome_of(record: &Record, item: &SettleRequest) -> bool {
    record.fence == item.claim.fence
        && matches!(&record.state, State::Settled(settled) if settled.is_of(&item.outcome))
}
