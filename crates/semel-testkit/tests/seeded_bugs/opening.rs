//! Handles on a store with a bug, and what goes wrong when one is opened.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use semel_core::record::Claim;
use semel_core::store::{
    Actor, Query, RenewRequest, Resolution, ResolveRequest, StateFilter, StoreExt,
};
use semel_core::{Identity, LeaseTerm, ManualClock, MemoryStore, Record, Store, Timestamp};
use semel_testkit::conformance::{Handle, Subject};
use tokio::sync::Mutex;

use crate::bugs::Bug;
use crate::wrong::Wrong;

/// A store with `bug`, which offers every ability: its handles share one store in memory.
pub(crate) async fn subject(bug: Bug) -> Subject {
    let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_800_000_000_000)));
    let shared = Arc::new(MemoryStore::with_clock(clock.clone()));
    let writers = Arc::new(Mutex::new(()));
    let (wall_clock, turns) = (clock.clone(), writers.clone());
    let open = move || {
        let (clock, turns) = (wall_clock.clone(), turns.clone());
        let memory = match bug {
            Bug::HandlesApart => Arc::new(MemoryStore::with_clock(clock.clone())),
            _ => shared.clone(),
        };
        async move {
            let hidden = opened(bug, &memory).await;
            Handle::with_outcomes(Wrong::new(bug, memory, clock, turns, hidden))
        }
    };
    let subject = Subject::opened(open).await.moved_by(clock);
    subject.stalled_by(move || writers.clone().lock_owned())
}

/// What the bug does to a store that is opened, and how many events of each identity it forgets.
async fn opened(bug: Bug, memory: &MemoryStore) -> HashMap<Identity, usize> {
    let mut hidden = HashMap::new();
    match bug {
        Bug::LeasesForgottenOnOpening => {
            for claim in claims(memory, Some(StateFilter::Running)).await {
                memory.release_one(claim).await.expect("memory answers");
            }
        }
        Bug::LeasesRestartedOnOpening => {
            let lease = LeaseTerm::new(Duration::from_secs(600)).expect("a valid term");
            for claim in claims(memory, Some(StateFilter::Running)).await {
                let request = RenewRequest { claim, lease };
                memory.renew_one(request).await.expect("memory answers");
            }
        }
        Bug::UnknownsForgottenOnOpening => {
            for claim in claims(memory, Some(StateFilter::Unknown)).await {
                decide(memory, claim, Resolution::Release).await;
            }
        }
        Bug::HistoryForgottenOnOpening => {
            for claim in claims(memory, None).await {
                let identity = claim.identity;
                let events = memory.history(identity.clone()).await;
                hidden.insert(identity, events.expect("memory answers").len());
            }
        }
        _ => {}
    }
    hidden
}

/// The claims of all records in `state`.
pub(crate) async fn claims(memory: &MemoryStore, state: Option<StateFilter>) -> Vec<Claim> {
    let query = Query {
        state,
        limit: 1_000,
        ..Query::default()
    };
    let page = memory.list(query).await.expect("memory answers");
    let claim = |record: Record| Claim {
        identity: record.identity,
        fence: record.fence,
    };
    page.records.into_iter().map(claim).collect()
}

pub(crate) async fn decide(memory: &MemoryStore, claim: Claim, resolution: Resolution) {
    let request = ResolveRequest {
        claim,
        by: Actor::new("a bug").expect("a short name is valid"),
        resolution,
        reason: None,
    };
    memory.resolve_one(request).await.expect("memory answers");
}
