//! What a test gets: an inbox, a consumer of its own, a way to let time pass, and shorthand for receiving, claiming and finishing.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use semel_core::inbox::{
    Arrivals, ClaimBatch, Claimed, Disposition, Finish, Finished, Intent, Job, Message, Order,
    Plan, Receipt, State, Step, UnknownPolicy, WorkerName,
};
use semel_core::store::StoreExt;
use semel_core::{
    Identity, Inbox, ManualClock, Outcome, Record, Retention, Scope, Store, Timestamp,
};

use super::values::{completed, finish_of, id, key, lease, only, retention, short_lease};

/// A fresh consumer per subject keeps tests apart on a server that they share.
static CONSUMERS: AtomicU64 = AtomicU64::new(0);
/// Process numbers repeat, and a server may outlive the process: each run has a name of its own.
static RUN: LazyLock<u64> = LazyLock::new(crate::random::fresh_seed);

/// An inbox and the store of its records.
pub type Handle = (Arc<dyn Inbox>, Arc<dyn Store>);
type Open = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Handle> + Send>> + Send + Sync>;

/// An inbox under test, as one consumer uses it.
#[derive(Clone)]
pub struct Subject {
    inbox: Arc<dyn Inbox>,
    store: Arc<dyn Store>,
    clock: Option<Arc<ManualClock>>,
    plan: Plan,
    tenant: String,
    /// Opens the same data.
    open: Option<Open>,
    /// Kept until the test is over, for example a temporary directory.
    _keep: Option<Arc<dyn Send + Sync>>,
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Subject({:?}, {})", self.inbox, self.plan.consumer)
    }
}

impl Subject {
    /// An inbox and the store of its records on a clock that the test moves.
    pub fn on_clock(inbox: Arc<dyn Inbox>, store: Arc<dyn Store>, clock: Arc<ManualClock>) -> Self {
        let mut subject = Self::in_real_time(inbox, store);
        subject.clock = Some(clock);
        subject
    }

    /// An inbox and the store of its records on a clock that nobody can move, such as a server's.
    pub fn in_real_time(inbox: Arc<dyn Inbox>, store: Arc<dyn Store>) -> Self {
        let number = CONSUMERS.fetch_add(1, Ordering::Relaxed);
        let consumer = Scope::new(format!("consumer-{:016x}-{number}", *RUN), 1);
        let mut plan = Plan::new(consumer.expect("a valid name"));
        plan.retention = retention();
        Self {
            inbox,
            store,
            clock: None,
            plan,
            tenant: "public".to_owned(),
            open: None,
            _keep: None,
        }
    }

    /// Keeps `value` alive until the test is over.
    #[must_use]
    pub fn keeping(mut self, value: impl Send + Sync + 'static) -> Self {
        self._keep = Some(Arc::new(value));
        self
    }

    /// Says how the same data is opened again.
    #[must_use]
    pub fn reopening<F>(mut self, open: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Handle> + Send + 'static,
    {
        self.open = Some(Arc::new(move || Box::pin(open())));
        self
    }

    /// The same data, opened again after this handle was closed.
    pub async fn reopened(self) -> Self {
        let open = self.open.clone().expect("a subject that can be reopened");
        let Self {
            inbox,
            store,
            clock,
            plan,
            tenant,
            open: opening,
            _keep,
        } = self;
        drop((inbox, store));
        let (inbox, store) = open().await;
        Self {
            inbox,
            store,
            clock,
            plan,
            tenant,
            open: opening,
            _keep,
        }
    }

    /// The same with messages in this order.
    #[must_use]
    pub fn ordered(mut self, order: Order) -> Self {
        self.plan.order = order;
        self
    }

    /// The same with records and messages kept for this long.
    #[must_use]
    pub fn retaining(mut self, retention: Retention) -> Self {
        self.plan.retention = retention;
        self
    }

    /// The same on behalf of another tenant.
    #[must_use]
    pub fn of_tenant(mut self, tenant: &str) -> Self {
        tenant.clone_into(&mut self.tenant);
        self
    }

    /// The same inbox as another consumer uses it: this one's name with `suffix`, in `version`, without order.
    #[must_use]
    pub fn beside(&self, suffix: &str, version: u32) -> Self {
        let name = format!("{}{suffix}", self.plan.consumer.name());
        let mut other = self.clone();
        other.plan.consumer = Scope::new(name, version).expect("a valid name");
        other.plan.order = Order::None;
        other
    }

    /// The inbox itself.
    pub fn inbox(&self) -> &Arc<dyn Inbox> {
        &self.inbox
    }

    /// The store of its records.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The consumer's plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The consumer's name.
    pub fn consumer(&self) -> &Scope {
        &self.plan.consumer
    }

    /// Lets `duration` pass by the store's clock.
    pub async fn pass(&self, duration: Duration) {
        match &self.clock {
            Some(clock) => clock.advance(duration),
            None => tokio::time::sleep(duration).await,
        }
    }

    /// Steps the store's clock to `now`; only for stores whose clock can be set.
    pub fn step_to(&self, now: Timestamp) {
        let clock = self.clock.as_ref();
        clock.expect("a store whose clock can be set").set(now);
    }

    /// The identity of the message with this id.
    pub fn identity(&self, id: &str) -> Identity {
        let tenant = self.tenant.parse().expect("a valid tenant");
        Identity::new(tenant, self.plan.consumer.clone(), key(id))
    }

    /// The message with this id, whose payload follows from it.
    pub fn message(&self, id: &str) -> Message {
        self.message_of(id, &format!("payload of {id}"))
    }

    /// The message with this id and payload.
    pub fn message_of(&self, id: &str, payload: &str) -> Message {
        Message::new(self.identity(id), payload.to_owned()).expect("a small payload")
    }

    /// The message with this id in a lane.
    pub fn in_lane(&self, lane: &str, id: &str) -> Message {
        self.message(id).with_lane(key(lane))
    }

    /// The version of a lane, with the id `LANE-VERSION`.
    pub fn version(&self, lane: &str, version: u64) -> Message {
        let message = self.in_lane(lane, &format!("{lane}-{version}"));
        message.with_sequence(version).expect("a small version")
    }

    /// Receives messages. What is known of the first ones beside their state has a fact of its own and is left out.
    pub async fn receive(&self, messages: Vec<Message>) -> Vec<Receipt> {
        let received = self.receive_in_full(messages).await;
        received.into_iter().map(Receipt::brief).collect()
    }

    /// Receives messages, with all that the receipts say.
    pub async fn receive_in_full(&self, messages: Vec<Message>) -> Vec<Receipt> {
        let received = self.inbox.receive(self.arrivals(messages)).await;
        received.expect("the inbox answers")
    }

    /// Messages that are about to be received.
    pub fn arrivals(&self, messages: Vec<Message>) -> Arrivals {
        Arrivals {
            plan: self.plan.clone(),
            messages,
            positions: Vec::new(),
        }
    }

    /// Receives one message.
    pub async fn receive_one(&self, message: Message) -> Receipt {
        only(self.receive(vec![message]).await)
    }

    /// Receives the messages with these ids, which must be new and to be processed.
    pub async fn received(&self, ids: &[&str]) {
        let messages = ids.iter().map(|id| self.message(id)).collect();
        self.stored(messages).await;
    }

    /// Receives messages, which must be new and to be processed.
    pub async fn stored(&self, messages: Vec<Message>) {
        let receipts = self.receive(messages).await;
        let state = State::Received;
        let expected = Receipt::Stored { state };
        assert!(receipts.iter().all(|r| *r == expected), "{receipts:?}");
    }

    /// A claim of up to `max` messages for long.
    pub fn ask(&self, max: usize) -> ClaimBatch {
        ClaimBatch {
            plan: self.plan.clone(),
            worker: WorkerName::new("the suite").expect("a short name"),
            max,
            bytes_max: usize::MAX,
            lease: lease(),
            on_unknown: UnknownPolicy::Rerun,
        }
    }

    /// Claims as asked.
    pub async fn claim_as(&self, ask: ClaimBatch) -> Claimed {
        let claimed = self.inbox.claim_batch(ask).await;
        claimed.expect("the inbox answers")
    }

    /// Claims everything that is due, up to a hundred messages.
    pub async fn claim(&self) -> Vec<Job> {
        self.claim_as(self.ask(100)).await.jobs
    }

    /// Claims everything that is due for a time that tests wait out.
    pub async fn claim_briefly(&self) -> Vec<Job> {
        let mut ask = self.ask(100);
        ask.lease = short_lease();
        self.claim_as(ask).await.jobs
    }

    /// The one message that is due, claimed for long.
    pub async fn claim_one(&self) -> Job {
        only(self.claim().await)
    }

    /// The ids of everything that is due, which is claimed by that.
    pub async fn claim_ids(&self) -> Vec<String> {
        self.claim().await.iter().map(id).collect()
    }

    /// Nothing is due.
    pub async fn nothing_is_due(&self) {
        assert_eq!(self.claim_ids().await, Vec::<String>::new());
    }

    /// Ends an attempt.
    pub async fn finish(&self, job: &Job, disposition: Disposition) -> Finished {
        only(self.finish_all(vec![finish_of(job, disposition)]).await)
    }

    /// Ends attempts.
    pub async fn finish_all(&self, items: Vec<Finish>) -> Vec<Finished> {
        let finished = self.inbox.finish(self.plan.clone(), items).await;
        finished.expect("the inbox answers")
    }

    /// Completes a message with an outcome that follows from its id.
    pub async fn complete(&self, job: &Job) -> Finished {
        self.finish(job, completed(&format!("done {}", id(job))))
            .await
    }

    /// Completes a message with intents.
    pub async fn complete_with(&self, job: &Job, intents: Vec<Intent>) -> Finished {
        let outcome = Outcome::succeeded("done");
        self.finish(job, Disposition::Completed { outcome, intents })
            .await
    }

    /// Claims and completes everything that is due; the ids, in the order of the claims.
    pub async fn process(&self) -> Vec<String> {
        let jobs = self.claim().await;
        for job in &jobs {
            assert_eq!(self.complete(job).await, Finished::Done, "{}", id(job));
        }
        jobs.iter().map(id).collect()
    }

    /// Claims and completes until nothing is due; the ids, in the order of the claims.
    pub async fn process_all(&self) -> Vec<String> {
        let mut all = Vec::new();
        loop {
            match self.process().await {
                done if done.is_empty() => return all,
                done => all.extend(done),
            }
        }
    }

    /// Receives and completes the messages with these ids.
    pub async fn processed(&self, ids: &[&str]) {
        self.received(ids).await;
        let mut done = self.process_all().await;
        done.sort_unstable();
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        assert_eq!(done, ids);
    }

    /// Remembers a step whose result follows from its name.
    pub async fn step(&self, job: &Job, name: &str) -> semel_core::inbox::Renewal {
        let step = Step::new(name, format!("result of {name}")).expect("a small step");
        let remembered = self.inbox.remember_step(job.claim.clone(), step).await;
        remembered.expect("the inbox answers")
    }

    /// Renews a claim for long.
    pub async fn renew(&self, job: &Job) -> semel_core::inbox::Renewal {
        let renewed = self.inbox.renew(vec![job.claim.clone()], lease()).await;
        only(renewed.expect("the inbox answers"))
    }

    /// The record of the message with this id.
    pub async fn record(&self, id: &str) -> Option<Arc<Record>> {
        let found = self.store.look_up_one(self.identity(id)).await;
        found.expect("the store answers")
    }

    /// The body of the settled record of the message with this id.
    pub async fn outcome(&self, id: &str) -> String {
        let record = self.record(id).await.expect("a record");
        let semel_core::State::Settled(settled) = &record.state else {
            panic!("expected a settled record, found {:?}", record.state);
        };
        let body = settled.outcome.body.kept().expect("a kept body");
        String::from_utf8(body.to_vec()).expect("text")
    }

    /// Sweeps until nothing is left to do.
    pub async fn sweep_all(&self) {
        while self.store.sweep(64).await.expect("the store answers").more {}
    }
}
