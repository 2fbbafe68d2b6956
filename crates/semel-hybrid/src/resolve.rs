//! Decisions of operators and providers, in an order that no slow owner can undo.

use std::sync::Arc;
use std::time::Duration;

use semel_core::record::{Claim, EventKind, Record, Resolved};
use semel_core::store::{
    Batch, KeepAnswer, KeepRequest, NoteRequest, Resolution, ResolveAnswer, ResolveRequest, Room,
    StoreExt, check_batch, each_fails, one, only,
};
use semel_core::{Fence, Outcome, Result, Retention, State};

use crate::Hybrid;
use crate::copy::{claim_of, copy_retention, drop_copy, erase_copy, is_settled};

impl Hybrid {
    /// One after another: decisions are rare, and each depends on what the one before has done.
    pub(crate) async fn resolve_all(
        &self,
        items: Batch<ResolveRequest>,
    ) -> Batch<Result<ResolveAnswer>> {
        if let Err(error) = check_batch(items.len()) {
            return each_fails(items.len(), &error);
        }
        let mut answers = Batch::with_capacity(items.len());
        for item in items {
            answers.push(self.resolve_item(item).await);
        }
        answers
    }

    async fn resolve_item(&self, item: ResolveRequest) -> Result<ResolveAnswer> {
        match item.resolution.clone() {
            Resolution::Settle { outcome, retention } => {
                self.resolve_as_happened(item, outcome, retention).await
            }
            Resolution::Release => self.resolve_as_not_happened(item).await,
            Resolution::Erase => self.erase(item).await,
            Resolution::Correct { .. } => self.correct(item).await,
            Resolution::EraseContents => self.erase_contents(item).await,
        }
    }

    /// Kept first: from then on it is settled, whatever becomes of the fast store's claim.
    async fn resolve_as_happened(
        &self,
        item: ResolveRequest,
        outcome: Outcome,
        retention: Retention,
    ) -> Result<ResolveAnswer> {
        let Some(record) = self.unknown(&item.claim).await? else {
            return Ok(ResolveAnswer::Refused);
        };
        let request = KeepRequest {
            claim: item.claim.clone(),
            fingerprint: record.fingerprint,
            attempt: record.attempt,
            claimed_at: record.claimed_at,
            outcome: outcome.clone(),
            took: Duration::ZERO,
            retention,
            about: record.about.clone(),
            resolved: true,
        };
        match only(self.durable.keep(one(request)).await)? {
            KeepAnswer::Superseded => return Ok(ResolveAnswer::Refused),
            KeepAnswer::Kept => {}
        }
        let retention = copy_retention(retention.keep());
        let copied = ResolveRequest {
            resolution: Resolution::Settle { outcome, retention },
            ..item.clone()
        };
        if !matches!(
            self.fast.resolve_one(copied).await,
            Ok(ResolveAnswer::Resolved)
        ) {
            // The fast store could not write down who decided.
            let kind = EventKind::Resolved {
                by: item.by.as_str().to_owned(),
                how: Resolved::Settled,
                reason: item.reason.map(|reason| reason.as_str().to_owned()),
            };
            let claim = item.claim;
            only(self.durable.note(one(NoteRequest { claim, kind })).await)?;
        }
        Ok(ResolveAnswer::Resolved)
    }

    /// Barred first: an owner that was only slow can keep nothing once the claim is gone.
    async fn resolve_as_not_happened(&self, item: ResolveRequest) -> Result<ResolveAnswer> {
        if self.unknown(&item.claim).await?.is_none() {
            return Ok(ResolveAnswer::Refused);
        }
        match only(self.durable.bar(one(above(&item.claim))).await)? {
            Room::Settled(_) => Ok(ResolveAnswer::Refused),
            // A higher bar does as well.
            Room::Open | Room::Barred(_) => self.fast.resolve_one(item).await,
        }
    }

    /// Gone from the durable store first: a copy without its record answers nobody.
    async fn erase(&self, item: ResolveRequest) -> Result<ResolveAnswer> {
        let erased = self.durable.resolve_one(item.clone()).await?;
        if erased == ResolveAnswer::Refused {
            // What is left of a record that the durable store no longer has.
            return self.fast.resolve_one(item).await;
        }
        // A keep that is still on its way for a second time must not bring it back.
        only(self.durable.bar(one(above(&item.claim))).await)?;
        self.drop_copy_of(item.claim).await?;
        Ok(ResolveAnswer::Resolved)
    }

    /// The durable store's word counts; the copy of what was decided before goes.
    async fn correct(&self, item: ResolveRequest) -> Result<ResolveAnswer> {
        let claim = item.claim.clone();
        let corrected = self.durable.resolve_one(item).await?;
        if corrected == ResolveAnswer::Resolved {
            self.drop_copy_of(claim).await?;
        }
        Ok(corrected)
    }

    /// The durable store's word counts; the copy goes, and before it what the fast store's history holds. A history whose copy
    /// is gone is out of reach there and shown without contents.
    async fn erase_contents(&self, item: ResolveRequest) -> Result<ResolveAnswer> {
        let claim = item.claim.clone();
        let erased = self.durable.resolve_one(item).await?;
        if erased == ResolveAnswer::Resolved {
            let copy = self.fast.look_up_one(claim.identity.clone()).await?;
            if let Some(copy) = copy.filter(|copy| is_settled(copy)) {
                self.fast.resolve_one(erase_copy(claim_of(&copy))).await?;
            }
            self.drop_copy_of(claim).await?;
        }
        Ok(erased)
    }

    async fn drop_copy_of(&self, claim: Claim) -> Result<()> {
        let copy = self.fast.look_up_one(claim.identity).await?;
        if let Some(copy) = copy.filter(|copy| is_settled(copy)) {
            self.fast.resolve_one(drop_copy(claim_of(&copy))).await?;
        }
        Ok(())
    }

    /// The fast store's record of this very claim, if its outcome is unknown.
    async fn unknown(&self, claim: &Claim) -> Result<Option<Arc<Record>>> {
        let found = self.fast.look_up_one(claim.identity.clone()).await?;
        Ok(found.filter(|record| {
            record.fence == claim.fence && matches!(record.state, State::Unknown { .. })
        }))
    }
}

/// The lowest claim that comes after this one.
fn above(claim: &Claim) -> Claim {
    Claim {
        identity: claim.identity.clone(),
        fence: Fence::new(claim.fence.get().saturating_add(1)),
    }
}
