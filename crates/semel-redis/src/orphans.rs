//! How an orphaned claim is given back: see [`semel_core::store::remote::Orphans`]. One that is on record as unknown
//! already, because its lease ended first and another caller asked, is left as it is.

use semel_core::protocol::{self, Change, Standing, Step};
use semel_core::record::Claim;
use semel_core::store::remote::{GiveBack, GivenBack, Nonce, Orphan};
use semel_core::store::{Actor, Resolution, ResolveRequest};
use semel_core::{Identity, Result};

use crate::engine::{Asked, Engine, Loaded};
use crate::items::ClaimItem;

/// How many claims are given back at the same time: one of each bucket.
pub(crate) const TURNS_MAX: usize = 256;

impl GiveBack for Engine {
    /// No caller has the fence of such a grant, so nothing ran under it.
    async fn give_back(&self, orphan: &Orphan) -> Result<GivenBack> {
        let asked = Asked::until(self.link.deadline());
        let step = |loaded: &Loaded| give_back_step(loaded, orphan.nonce);
        let (given_back, _) = self.decide(&orphan.identity, None, asked, step).await?;
        Ok(given_back)
    }

    /// All records of a bucket are on one node.
    fn group(&self, identity: &Identity) -> u64 {
        self.keys.bucket(identity).index()
    }
}

impl ClaimItem {
    /// This claim, in case that its caller does not hear of it. The server grants nothing after its deadline. A claim
    /// with a name is not given back: its caller may be asking for it again at this moment.
    pub(crate) fn orphan(&self) -> Option<Orphan> {
        self.request.nonce.is_none().then(|| Orphan {
            identity: self.request.identity.clone(),
            nonce: self.nonce,
            lease: self.request.lease.get(),
            arrives_until: self.deadline,
        })
    }
}

fn give_back_step(loaded: &Loaded, nonce: Nonce) -> Step<GivenBack> {
    let nothing = |answer| Step {
        answer,
        change: Change::None,
        events: Vec::new(),
        audit: None,
    };
    let Some(stored) = loaded
        .stored
        .as_ref()
        .filter(|stored| stored.nonce == nonce)
    else {
        return nothing(GivenBack::Absent);
    };
    let record = &stored.record;
    let (change, events) = match Standing::of(Some(record), loaded.now) {
        Standing::Running { .. } => {
            let step = protocol::release(Some(record), record.fence, loaded.now);
            (step.change, step.events)
        }
        Standing::Ended { .. } => {
            let (identity, fence) = (record.identity.clone(), record.fence);
            let request = ResolveRequest {
                claim: Claim { identity, fence },
                by: Actor::component("the store, whose answer was lost"),
                resolution: Resolution::Release,
                reason: None,
            };
            let step = protocol::resolve(Some(record), &request, loaded.now);
            (step.change, step.events)
        }
        // Once it is on record as unknown, a caller may have got that answer: what is unknown is for operators to decide.
        Standing::Unknown { .. } | Standing::Absent | Standing::Settled { .. } => {
            return nothing(GivenBack::Done);
        }
    };
    Step {
        answer: GivenBack::Done,
        change,
        events,
        audit: None,
    }
}
