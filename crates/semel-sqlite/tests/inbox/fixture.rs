//! A store on a file of its own with a clock that the tests move, and shorthand for a consumer's messages.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{
    Action, Arrivals, ClaimBatch, Detail, Disposition, Finish, Finished, Job, Message, Operation,
    Order, Plan, Receipt, Report, Selection, State, UnknownPolicy, WorkerName,
};
use semel_core::store::Actor;
use semel_core::{
    Identity, Inbox, Key, LeaseTerm, ManualClock, Outcome, Retention, Store, Timestamp,
};
use semel_sqlite::{Config, SqliteStore};
use tempfile::TempDir;

pub(crate) const CONSUMER: &str = "mailer@1";
pub(crate) const LEASE: Duration = Duration::from_secs(30);
pub(crate) const KEEP: Duration = Duration::from_secs(3_600);

pub(crate) struct Fixture {
    pub(crate) dir: TempDir,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) store: SqliteStore,
    pub(crate) plan: Plan,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        // Far ahead, so that transactions of the user's own, which have the machine's clock, are not.
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(4_000_000_000_000)));
        let store = open(path(&dir), &clock);
        let mut plan = Plan::new(CONSUMER.parse().unwrap());
        plan.retention = Retention::delete_after(KEEP).unwrap();
        Self {
            dir,
            clock,
            store,
            plan,
        }
    }

    pub(crate) fn ordered(mut self, order: Order) -> Self {
        self.plan.order = order;
        self
    }

    pub(crate) fn path(&self) -> PathBuf {
        path(&self.dir)
    }

    /// The file as a tool of the user's sees it.
    pub(crate) fn connection(&self) -> Connection {
        let connection = Connection::open(self.path()).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        connection
    }

    pub(crate) fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        self.connection()
            .query_row(&sql, [], |row| row.get(0))
            .unwrap()
    }

    pub(crate) async fn receive(&self, messages: Vec<Message>) -> Vec<Receipt> {
        let plan = self.plan.clone();
        let arrivals = Arrivals {
            plan,
            messages,
            positions: Vec::new(),
        };
        self.store.receive(arrivals).await.unwrap()
    }

    pub(crate) async fn versions(&self, versions: &[u64]) -> Vec<State> {
        let messages = versions.iter().map(|v| version("a", *v)).collect();
        let receipts = self.receive(messages).await.into_iter();
        receipts
            .map(|receipt| match receipt {
                Receipt::Stored { state } => state,
                other => panic!("expected a new message, found {other:?}"),
            })
            .collect()
    }

    pub(crate) async fn claim_as(&self, on_unknown: UnknownPolicy) -> Vec<Job> {
        let ask = ClaimBatch {
            plan: self.plan.clone(),
            worker: WorkerName::new("worker-1").unwrap(),
            max: 100,
            bytes_max: usize::MAX,
            lease: LeaseTerm::new(LEASE).unwrap(),
            on_unknown,
        };
        self.store.claim_batch(ask).await.unwrap().jobs
    }

    pub(crate) async fn claim(&self) -> Vec<Job> {
        self.claim_as(UnknownPolicy::Rerun).await
    }

    pub(crate) async fn claim_one(&self) -> Job {
        let mut jobs = self.claim().await;
        assert_eq!(jobs.len(), 1);
        jobs.remove(0)
    }

    pub(crate) async fn finish(&self, job: &Job, disposition: Disposition) -> Finished {
        let items = vec![finish_of(job, disposition)];
        let finished = self.store.finish(self.plan.clone(), items).await;
        finished.unwrap()[0]
    }

    /// Completes until nothing is due; the ids in their order.
    pub(crate) async fn process_all(&self) -> Vec<String> {
        let mut ids = Vec::new();
        loop {
            let jobs = self.claim().await;
            if jobs.is_empty() {
                return ids;
            }
            for job in jobs {
                assert_eq!(self.finish(&job, completed()).await, Finished::Done);
                ids.push(job.claim.identity.key().to_string());
            }
        }
    }

    pub(crate) async fn detail(&self, id: &str) -> Option<Detail> {
        self.store.message(identity(id)).await.unwrap()
    }

    pub(crate) async fn state(&self, id: &str) -> State {
        self.detail(id).await.unwrap().entry.state
    }

    pub(crate) async fn operate(&self, action: Action, ids: &[&str]) -> Report {
        let select = Selection {
            ids: ids.iter().map(|id| Key::new(id).unwrap()).collect(),
            ..Selection::default()
        };
        let operation = Operation {
            plan: self.plan.clone(),
            select,
            action,
            by: Actor::new("ops").unwrap(),
            reason: None,
            verb: "inbox test",
            dry_run: false,
            edit: None,
        };
        self.store.operate(operation).await.unwrap()
    }

    pub(crate) async fn advance_lanes(&self) -> usize {
        self.store
            .advance_lanes(self.plan.clone(), 100)
            .await
            .unwrap()
    }

    pub(crate) async fn sweep_all(&self) {
        while self.store.sweep(64).await.unwrap().more {}
    }
}

fn path(dir: &TempDir) -> PathBuf {
    dir.path().join("semel.db")
}

pub(crate) fn open(path: PathBuf, clock: &Arc<ManualClock>) -> SqliteStore {
    let config = Config::new(path).clock(clock.clone()).sweep_every(None);
    config.open().unwrap()
}

pub(crate) fn identity(id: &str) -> Identity {
    Identity::parse("public", CONSUMER, id).unwrap()
}

pub(crate) fn message(id: &str) -> Message {
    Message::new(identity(id), format!("payload of {id}")).unwrap()
}

pub(crate) fn in_lane(lane: &str, id: &str) -> Message {
    message(id).with_lane(Key::new(lane).unwrap())
}

/// The version of a lane, with the id `LANE-VERSION`.
pub(crate) fn version(lane: &str, version: u64) -> Message {
    let message = in_lane(lane, &format!("{lane}-{version}"));
    message.with_sequence(version).unwrap()
}

pub(crate) fn finish_of(job: &Job, disposition: Disposition) -> Finish {
    Finish {
        claim: job.claim.clone(),
        took: Duration::from_millis(5),
        disposition,
    }
}

pub(crate) fn completed() -> Disposition {
    Disposition::Completed {
        outcome: Outcome::succeeded("done"),
        intents: Vec::new(),
    }
}

pub(crate) fn terminal() -> Disposition {
    Disposition::Terminal {
        error: ErrorText::new("the account is closed"),
    }
}

pub(crate) fn retry() -> Disposition {
    Disposition::Retry {
        after: Duration::ZERO,
        cause: semel_core::inbox::Cause::Retryable,
        error: ErrorText::new("the provider is away"),
    }
}
