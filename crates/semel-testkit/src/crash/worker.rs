//! A worker: reads operations from its standard input, runs each once, and says what came of it.
//!
//! Lines in: `run OPERATION POINT`, where the point may be `-`. Lines out: `at OPERATION POINT` when it
//! stands still there, then never anything more about it; `ready` when its store is open; `done OPERATION`, `held OPERATION` for an
//! unknown outcome, `again OPERATION` when it is worth asking later.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use semel_core::once::{Error, Reconciled, Recorded, Refusal};
use semel_core::{
    Fingerprint, Identity, InProgress, LeaseTerm, OnFailure, OnUnknown, Once, Outcome, Policy,
    Store,
};

use super::{Open, Point};
use crate::killing::{Scene, Stops, lines, opened, runtime, say};
use crate::ledger::Ledger;

/// Short, so that a test need not wait long for what a killed worker left.
pub(super) const LEASE: Duration = Duration::from_millis(150);

/// What a worker is started for.
#[derive(Debug, Clone)]
pub(super) struct Job {
    pub(super) scene: Scene,
    pub(super) policy: OnUnknown,
}

impl Job {
    /// The job of a worker in `scene`.
    pub(super) fn of(scene: Scene) -> Option<Self> {
        let mut policies = super::POLICIES.into_iter();
        let policy = policies.find(|policy| policy.name() == scene.what)?;
        Some(Self { scene, policy })
    }

    /// The identity of an operation of this job.
    pub(super) fn identity(&self, operation: &str) -> Identity {
        let identity = Identity::parse(&self.scene.name(), "effects@1", operation);
        identity.expect("names of operations are valid keys")
    }
}

/// Whether an operation's effect checks its fence; half of them do where that matters.
pub(super) fn is_checked(operation: &str) -> bool {
    operation.ends_with("-checked")
}

/// Serves operations until standard input ends.
pub(super) fn run(job: Job, open: Open) {
    let runtime = runtime();
    let store = runtime.block_on(opened(open, &job.scene.dir));
    let worker = Arc::new(Worker::new(job, store));
    say("ready");
    for words in lines() {
        let [run, operation, point] = &words[..] else {
            panic!("expected `run OPERATION POINT`, found {words:?}");
        };
        assert_eq!(run, "run");
        worker.stops.set(operation, point);
        runtime.spawn(worker.clone().serve(operation.clone()));
    }
}

struct Worker {
    once: Once,
    ledger: Ledger,
    stops: Stops<Point>,
    job: Job,
}

impl Worker {
    fn new(job: Job, store: Arc<dyn Store>) -> Self {
        let ledger = job.scene.ledger();
        let policy = Policy {
            lease: LeaseTerm::new(LEASE).expect("a valid term"),
            in_progress: InProgress::Wait(LEASE * 4),
            on_unknown: job.policy,
            ..Policy::default()
        };
        let mut once = Once::on(store).with_policy(policy);
        if job.policy == OnUnknown::Reconcile {
            let ledger = ledger.clone();
            once = once.reconcile_with(move |identity: Identity, fence: semel_core::Fence| {
                let operation = identity.key().as_str().to_owned();
                let answer = ledger.ask(&operation, fence.get());
                async move { reconciled(&operation, answer) }
            });
        }
        Self {
            once,
            ledger,
            stops: Stops::default(),
            job,
        }
    }

    async fn serve(self: Arc<Self>, operation: String) {
        self.stops.reach(&operation, Point::BeforeClaim).await;
        let (worker, name) = (self.clone(), operation.clone());
        let answer = self
            .once
            .operation(
                self.job.identity(&operation),
                Fingerprint::of_bytes(operation.as_bytes()),
            )
            .run_classified(
                |_: &String| OnFailure::Unknown,
                move |run| async move {
                    worker.stops.reach(&name, Point::AfterClaim).await;
                    tokio::time::sleep(Duration::from_millis(1)).await;
                    worker.stops.reach(&name, Point::DuringRun).await;
                    worker.take_effect(&name, run.fence().get())?;
                    worker.stops.reach(&name, Point::AfterEffect).await;
                    Ok::<String, String>(format!("receipt of {name}"))
                },
            )
            .await;
        self.stops.reach(&operation, Point::AfterSettle).await;
        match answer {
            // A result that is not on record yet, or came too late to be, is no promise to anybody.
            Ok(receipt) if receipt.recorded != Recorded::Settled => {
                say(&format!("again {operation}"));
            }
            Ok(receipt) => {
                assert_eq!(receipt.value, format!("receipt of {operation}"));
                say(&format!("done {operation}"));
            }
            Err(Error::Refused(Refusal::Unknown { .. })) => say(&format!("held {operation}")),
            Err(_) => say(&format!("again {operation}")),
        }
    }

    fn take_effect(&self, operation: &str, fence: u64) -> Result<(), String> {
        let done = match self.job.policy {
            OnUnknown::Hold => self.ledger.effect(operation, fence),
            OnUnknown::Rerun if is_checked(operation) => {
                self.ledger.effect_checked(operation, fence).map(drop)
            }
            OnUnknown::Rerun => self.ledger.effect(operation, fence),
            OnUnknown::Reconcile => match self.ledger.effect_unless_barred(operation, fence) {
                Ok(crate::ledger::Effect::Done) => Ok(()),
                // Whoever barred this claim runs the operation again; this run had no effect.
                Ok(refused) => return Err(format!("the provider answered {refused:?}")),
                Err(error) => Err(error),
            },
        };
        done.map_err(|error| error.to_string())
    }
}

fn reconciled(operation: &str, answer: io::Result<bool>) -> Reconciled {
    match answer {
        Ok(true) => {
            let receipt = format!("\"receipt of {operation}\"");
            Reconciled::Happened(Outcome::succeeded(receipt))
        }
        Ok(false) => Reconciled::DidNotHappen,
        Err(_) => Reconciled::CannotTell,
    }
}
