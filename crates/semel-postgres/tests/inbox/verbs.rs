//! Shorthands for the inbox's verbs.

use std::time::Duration;

use semel_core::inbox::{
    Arrivals, ClaimBatch, Disposition, Finish, Finished, Intent, Job, Message, Plan, Receipt,
    State, UnknownPolicy, WorkerName,
};
use semel_core::{Identity, Inbox, LeaseTerm, Outcome};
use semel_postgres::PostgresStore;

pub(crate) fn plan() -> Plan {
    Plan::new("mailer@1".parse().unwrap())
}

pub(crate) fn message_to(plan: &Plan, id: &str) -> Message {
    let consumer = plan.consumer.to_string();
    let identity = Identity::parse("public", &consumer, id).unwrap();
    Message::new(identity, format!("payload of {id}")).unwrap()
}

pub(crate) fn arrivals(plan: &Plan, ids: &[String]) -> Arrivals {
    Arrivals {
        plan: plan.clone(),
        messages: ids.iter().map(|id| message_to(plan, id)).collect(),
        positions: Vec::new(),
    }
}

pub(crate) fn ids(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("m-{n}")).collect()
}

/// Receives messages, which must be new.
pub(crate) async fn received(store: &PostgresStore, plan: &Plan, ids: &[String]) {
    let state = State::Received;
    for piece in ids.chunks(1_000) {
        let receipts = store.receive(arrivals(plan, piece)).await.unwrap();
        let new = |receipt: &Receipt| *receipt == Receipt::Stored { state };
        assert!(receipts.iter().all(new), "{receipts:?}");
    }
}

pub(crate) fn ask(plan: &Plan, max: usize) -> ClaimBatch {
    ClaimBatch {
        plan: plan.clone(),
        worker: WorkerName::new("a test").unwrap(),
        max,
        bytes_max: usize::MAX,
        lease: LeaseTerm::default(),
        on_unknown: UnknownPolicy::Rerun,
    }
}

pub(crate) async fn claimed(store: &PostgresStore, plan: &Plan, max: usize) -> Vec<Job> {
    store.claim_batch(ask(plan, max)).await.unwrap().jobs
}

pub(crate) fn completed(job: &Job, intents: Vec<Intent>) -> Finish {
    Finish {
        claim: job.claim.clone(),
        took: Duration::ZERO,
        disposition: Disposition::Completed {
            outcome: Outcome::succeeded("done"),
            intents,
        },
    }
}

/// Completes messages, which must all be held.
pub(crate) async fn complete(store: &PostgresStore, plan: &Plan, jobs: &[Job]) {
    let items = jobs.iter().map(|job| completed(job, Vec::new())).collect();
    let finished = store.finish(plan.clone(), items).await.unwrap();
    assert!(finished.iter().all(|end| *end == Finished::Done));
}

pub(crate) fn id(job: &Job) -> String {
    job.claim.identity.key().to_string()
}
