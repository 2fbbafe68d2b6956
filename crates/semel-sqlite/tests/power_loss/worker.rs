//! A worker: runs operations on the store under the layer until the power fails, and says what the store has acknowledged.
//!
//! Every line is said after the store has answered, but `releasing`, which is said before it is asked.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{
    Arrivals, ClaimBatch, Disposition, Finish, Finished, Job as Claimed, UnknownPolicy, WorkerName,
};
use semel_core::store::{
    ClaimAnswer, ClaimRequest, ReleaseAnswer, SettleAnswer, SettleRequest, StoreExt, Takeover,
};
use semel_core::{Fingerprint, Inbox, Lease, LeaseTerm, Retention};
use semel_sqlite::SqliteStore;
use semel_testkit::ledger::Ledger;
use tokio::task::JoinSet;

use crate::job::{
    Job, Kind, config, consumer, identity_of, kind_of, ledger, live, message_of, name_of,
    outcome_of,
};

/// How many operations are new between two openings of the store; as many earlier ones are asked for again.
const OPERATIONS: u64 = 24;
/// How many callers there are at a time.
const CALLERS: u64 = 4;
/// How often the store is opened before the worker gives up waiting for the power to fail.
const SESSIONS_MAX: u64 = 100;
/// How long a worker may take at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// Serves until the power fails.
pub(crate) fn serve(job: &Job, first: u64) {
    std::thread::spawn(|| {
        std::thread::sleep(PATIENCE);
        // The supervisor hears of it as of every worker that ends by itself.
        std::process::exit(3);
    });
    semel_powerloss::install(job.plan(), |moment| say(&format!("lost {}", moment.name())));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be built");
    for session in 0..SESSIONS_MAX {
        let store = config(&live(&job.root)).open().expect("the store opens");
        let worker = Arc::new(Worker {
            store,
            ledger: ledger(&job.root),
        });
        runtime.block_on(worker.session(first + session * OPERATIONS));
    }
}

/// One write per line, so that a line is heard whole or not at all.
fn say(line: &str) {
    let written = io::stdout()
        .lock()
        .write_all(format!("{line}\n").as_bytes());
    written.expect("the supervisor listens");
}

struct Worker {
    store: SqliteStore,
    ledger: Ledger,
}

impl Worker {
    async fn session(self: Arc<Self>, first: u64) {
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let worker = self.clone();
            let numbers = first.saturating_sub(OPERATIONS)..first + OPERATIONS;
            callers.spawn(async move {
                for number in numbers.filter(|number| number % CALLERS == caller) {
                    worker.operation(number).await;
                }
            });
        }
        callers.join_all().await;
    }

    async fn operation(&self, number: u64) {
        let name = name_of(number);
        match kind_of(number) {
            Kind::Payment => self.pay(&name).await,
            Kind::Release => self.release(&name).await,
            Kind::Message => self.receive(&name).await,
        }
    }

    async fn pay(&self, name: &str) {
        let Some(lease) = self.claim(name).await else {
            return;
        };
        self.take_effect(name, lease.claim.fence.get());
        let fence = lease.claim.fence;
        let request = SettleRequest {
            claim: lease.claim,
            outcome: outcome_of(name),
            took: Duration::ZERO,
            retention: Retention::default(),
        };
        let settled = self.store.settle_one(request).await;
        assert_eq!(settled.expect("an answer"), SettleAnswer::Settled, "{name}");
        say(&format!("settled {name} {fence}"));
    }

    async fn release(&self, name: &str) {
        let Some(lease) = self.claim(name).await else {
            return;
        };
        let fence = lease.claim.fence;
        say(&format!("releasing {name} {fence}"));
        let released = self.store.release_one(lease.claim).await;
        assert_eq!(
            released.expect("an answer"),
            ReleaseAnswer::Released,
            "{name}"
        );
        say(&format!("released {name} {fence}"));
        self.claim(name).await;
    }

    /// The lease, if it was granted.
    async fn claim(&self, name: &str) -> Option<Lease> {
        let request = ClaimRequest {
            identity: identity_of(name),
            fingerprint: Fingerprint::of_bytes(name.as_bytes()),
            lease: lease(),
            takeover: Takeover::Never,
            about: None,
            nonce: None,
        };
        match self.store.claim_one(request).await.expect("an answer") {
            ClaimAnswer::Granted(lease) => {
                say(&format!("claimed {name} {}", lease.claim.fence));
                Some(lease)
            }
            _ => None,
        }
    }

    /// Receives a message and processes whatever is due.
    async fn receive(&self, name: &str) {
        let arrivals = Arrivals {
            plan: consumer(),
            messages: vec![message_of(name)],
            positions: Vec::new(),
        };
        self.store.receive(arrivals).await.expect("an answer");
        say(&format!("received {name}"));
        let ask = ClaimBatch {
            plan: consumer(),
            worker: WorkerName::new("worker").expect("a short name"),
            max: 2,
            bytes_max: usize::MAX,
            lease: lease(),
            on_unknown: UnknownPolicy::Hold,
        };
        let claimed = self.store.claim_batch(ask).await.expect("an answer");
        for job in claimed.jobs {
            self.finish(job).await;
        }
    }

    async fn finish(&self, job: Claimed) {
        let name = job.claim.identity.key().to_string();
        let fence = job.claim.fence;
        say(&format!("took {name} {fence}"));
        self.take_effect(&name, fence.get());
        let item = Finish {
            claim: job.claim,
            took: Duration::ZERO,
            disposition: Disposition::Completed {
                outcome: outcome_of(&name),
                intents: Vec::new(),
            },
        };
        let finished = self.store.finish(consumer(), vec![item]).await;
        assert_eq!(finished.expect("an answer"), [Finished::Done], "{name}");
        say(&format!("finished {name} {fence}"));
    }

    fn take_effect(&self, name: &str, fence: u64) {
        let taken = self.ledger.effect(name, fence);
        taken.expect("the ledger takes effects");
    }
}

/// A lease that no run outlives: what was claimed stays claimed.
fn lease() -> LeaseTerm {
    LeaseTerm::new(Duration::from_secs(3_600)).expect("a valid term")
}
