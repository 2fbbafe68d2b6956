//! Items on their way through a batcher: what was asked, and until when its caller waits.

use semel_core::Identity;
use semel_core::store::batcher::{Follow, Item};
use semel_core::store::remote::Nonce;
use semel_core::store::{
    ClaimAnswer, ClaimRequest, RenewAnswer, RenewRequest, SettleAnswer, SettleRequest,
};
use tokio::time::Instant;

/// A claim on its way.
#[derive(Debug, Clone)]
pub(crate) struct ClaimItem {
    pub(crate) request: ClaimRequest,
    pub(crate) nonce: Nonce,
    pub(crate) deadline: Instant,
}

impl Item for ClaimItem {
    type Answer = ClaimAnswer;

    fn identity(&self) -> &Identity {
        &self.request.identity
    }

    /// A duplicate that came at the same time is answered by the same look.
    fn follow(&self, later: &Self) -> Option<Follow<ClaimAnswer>> {
        let same = self.request.fingerprint == later.request.fingerprint
            && self.request.takeover == later.request.takeover;
        let lease_left = self.request.lease.get();
        let same_name = self.request.nonce.is_some() && self.request.nonce == later.request.nonce;
        let follow = move |answer: &ClaimAnswer| match answer {
            answer @ ClaimAnswer::Granted(_) if same_name => answer.clone(),
            ClaimAnswer::Granted(lease) => ClaimAnswer::Running {
                fence: lease.claim.fence,
                lease_left,
            },
            other => other.clone(),
        };
        same.then(|| Box::new(follow) as Follow<ClaimAnswer>)
    }
}

/// A settle on its way.
#[derive(Debug, Clone)]
pub(crate) struct SettleItem(pub(crate) SettleRequest, pub(crate) Instant);

impl Item for SettleItem {
    type Answer = SettleAnswer;

    fn identity(&self) -> &Identity {
        &self.0.claim.identity
    }

    fn bytes(&self) -> usize {
        let outcome = &self.0.outcome;
        let headers = outcome.headers.iter();
        let headers: usize = headers.map(|(name, value)| name.len() + value.len()).sum();
        headers + outcome.body.kept().map_or(0, bytes::Bytes::len)
    }
}

/// A renewal on its way.
#[derive(Debug, Clone)]
pub(crate) struct RenewItem(pub(crate) RenewRequest, pub(crate) Instant);

impl Item for RenewItem {
    type Answer = RenewAnswer;

    fn identity(&self) -> &Identity {
        &self.0.claim.identity
    }
}
