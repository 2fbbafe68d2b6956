//! Offers what a run brought to the store until the store takes it or says that the claim is lost.
//!
//! The effect has happened, so no kind of error ends the offering: a server that is read-only, refuses a password or
//! breaks its own rules in the middle of a failover may be well a moment later. Only the process's end does; the
//! record then becomes unknown when the lease ends, which is the truth.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::answer::{Recorded, Settlement};
use super::owner::Owner;
use crate::error::{Kind, Result};
use crate::known::Evidence;
use crate::record::UnknownCause;
use crate::store::{
    Actor, MarkAnswer, MarkRequest, ReleaseAnswer, Resolution, ResolveRequest, SettleAnswer,
    SettleRequest, StoreExt,
};

/// How long the lease is renewed for a store that takes renewals but not the outcome. After that the record becomes
/// unknown, where people look for it.
const RENEW_FOR: Duration = Duration::from_secs(300);
/// How long one try may take.
const TRY_WITHIN: Duration = Duration::from_secs(10);
/// The first pause between two tries, the longest while the lease lives, and the longest after that, when
/// only the audit still waits for the outcome.
const PAUSE_FIRST: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_secs(1);
const PAUSE_LATE_MAX: Duration = Duration::from_secs(15);

impl Owner {
    /// Records a run's settlement.
    pub(super) async fn record(&self, mut settlement: Settlement, cause: UnknownCause) -> Recorded {
        let (began, mut pause) = (Instant::now(), PAUSE_FIRST);
        settlement.happened_after(self.started.elapsed());
        loop {
            match timeout(TRY_WITHIN, self.offer(&settlement, cause)).await {
                Ok(Ok(recorded)) => return recorded,
                // The store cannot hold this body; that the effect has happened it can.
                Ok(Err(error)) if error.kind() == Kind::Invalid => settlement.omit_body(),
                Ok(Err(_)) | Err(_) => {}
            }
            if began.elapsed() >= RENEW_FOR {
                self.life.let_end();
            }
            self.rest(&mut pause).await;
        }
    }

    /// Gives back a claim under which nothing has begun.
    pub(super) async fn record_not_begun(&self) {
        let mut pause = PAUSE_FIRST;
        while !matches!(timeout(TRY_WITHIN, self.release()).await, Ok(Ok(()))) {
            self.rest(&mut pause).await;
        }
    }

    /// Sleeps between two tries; several must fit into what is left of the lease.
    async fn rest(&self, pause: &mut Duration) {
        let longest = match self.life.is_lost() {
            true => PAUSE_LATE_MAX,
            false => PAUSE_MAX.min(self.once.policy.lease.get() / 10),
        };
        *pause = (*pause).min(longest);
        sleep(*pause).await;
        *pause *= 2;
    }

    async fn offer(&self, settlement: &Settlement, cause: UnknownCause) -> Result<Recorded> {
        let store = &self.once.shared.store;
        let claim = self.lease.claim.clone();
        match settlement {
            Settlement::Settle(outcome) => {
                let request = SettleRequest {
                    claim,
                    outcome: outcome.clone().capped(store.limits().body_bytes_max),
                    took: self.started.elapsed(),
                    retention: self.once.policy.retention,
                };
                store.settle_one(request).await.map(|answer| match answer {
                    SettleAnswer::Settled => Recorded::Settled,
                    SettleAnswer::Late => Recorded::Late,
                    SettleAnswer::NeverGranted => Recorded::NotRecorded,
                })
            }
            Settlement::Release => store.release_one(claim).await.map(|answer| match answer {
                ReleaseAnswer::Released => Recorded::Released,
                ReleaseAnswer::Lost => Recorded::Late,
            }),
            Settlement::Unknown(evidence) => {
                let request = MarkRequest {
                    claim,
                    cause,
                    evidence: evidence.clone(),
                };
                store.mark_one(request).await.map(|answer| match answer {
                    MarkAnswer::Marked => Recorded::Unknown,
                    MarkAnswer::Lost => Recorded::Late,
                })
            }
        }
    }

    /// Releases a claim of which only this owner can know that nothing began under it. The store may already count
    /// it as unknown because the lease has ended; then the owner's word resolves it.
    async fn release(&self) -> Result<()> {
        let store = &self.once.shared.store;
        let claim = self.lease.claim.clone();
        if store.release_one(claim.clone()).await? == ReleaseAnswer::Lost {
            let request = ResolveRequest {
                claim,
                by: Actor::component("owner, nothing had begun"),
                reason: None,
                resolution: Resolution::Release,
            };
            // A refusal means that a newer claim has taken over.
            store.resolve_one(request).await?;
        }
        Ok(())
    }
}

impl Settlement {
    /// Doors say what they saw; when that was, the owner knows.
    fn happened_after(&mut self, after: Duration) {
        if let Self::Unknown(Some(evidence)) = self {
            *evidence = Evidence::new(evidence.status, evidence.error(), after);
        }
    }

    fn omit_body(&mut self) {
        if let Self::Settle(outcome) = self {
            *outcome = outcome.clone().capped(0);
        }
    }
}
