//! A worker: receives what its source delivers, processes it, and sends what the handler wants sent.
//!
//! Lines in: `deliver ID POINT` and `replay ID POINT`, where the point may be `-`, and `drain`. Lines out: see `Word`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::Inbox;
use semel_core::inbox::{
    self, ClaimBatch, Claimed, Finish, Finished, Plan, UnknownPolicy, WorkerName,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::Opened;
use super::job::{Job, lease};
use super::{Open, Point, handler, intake};
use crate::killing::{Stops, lines, opened, runtime, say};
use crate::ledger::Ledger;

/// How many messages one claim takes.
const CLAIM_MAX: usize = 4;
/// How long a worker that has nothing to do waits at most before it looks again.
const IDLE: Duration = Duration::from_millis(20);
/// The pause before a call is made again.
const PAUSE: Duration = Duration::from_millis(10);

/// A worker's whole state.
pub(super) struct Worker {
    pub(super) job: Job,
    pub(super) inbox: Arc<dyn Inbox>,
    pub(super) ledger: Ledger,
    pub(super) stops: Stops<Point>,
    /// Held by whoever claims; whoever wants that nobody claims keeps it.
    pub(super) claiming: tokio::sync::Mutex<()>,
    /// What was delivered and whose source has not been told.
    owed: Mutex<BTreeSet<String>>,
    draining: AtomicBool,
}

/// What the supervisor wants done with a message.
#[derive(Debug)]
pub(super) enum Order {
    /// It is delivered.
    Deliver(String),
    /// It is to be replayed.
    Replay(String),
}

/// Serves until standard input ends.
pub(super) fn run(job: Job, open: Open<Opened>) {
    let runtime = runtime();
    let (_store, inbox) = runtime.block_on(opened(open, &job.scene.dir));
    let worker = Arc::new(Worker {
        ledger: job.scene.ledger(),
        job,
        inbox,
        stops: Stops::default(),
        claiming: tokio::sync::Mutex::default(),
        owed: Mutex::default(),
        draining: AtomicBool::new(false),
    });
    say("ready");
    let (orders, incoming) = unbounded_channel();
    runtime.spawn(intake::serve(worker.clone(), incoming));
    let (orders_plan, mails_plan) = (worker.job.orders(), worker.job.mails());
    runtime.spawn(worker.clone().work(orders_plan, handler::handle));
    runtime.spawn(worker.clone().work(mails_plan, handler::send));
    for words in lines() {
        worker.listen(&words, &orders);
    }
}

impl Worker {
    fn listen(&self, words: &[String], orders: &UnboundedSender<Order>) {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (order, id, point) = match words[..] {
            ["drain"] => return self.draining.store(true, Ordering::Release),
            ["deliver", id, point] => (Order::Deliver(id.to_owned()), id, point),
            ["replay", id, point] => (Order::Replay(id.to_owned()), id, point),
            _ => panic!("expected an order, found {words:?}"),
        };
        self.stops.set(id, point);
        if matches!(order, Order::Deliver(_)) {
            self.owed().insert(id.to_owned());
        }
        // Nobody listens any more only when the process ends.
        let _ = orders.send(order);
    }

    /// Claims messages of `plan` and runs each in a task of its own.
    async fn work<F>(self: Arc<Self>, plan: Plan, handle: fn(Arc<Self>, inbox::Job) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        loop {
            let claimed = self.claim(&plan).await;
            let idle = claimed.jobs.is_empty();
            for job in claimed.jobs {
                tokio::spawn(handle(self.clone(), job));
            }
            if idle {
                self.rest(&plan, claimed.next_due).await;
            }
        }
    }

    async fn claim(&self, plan: &Plan) -> Claimed {
        let _claiming = self.claiming.lock().await;
        let ask = ClaimBatch {
            plan: plan.clone(),
            bytes_max: usize::MAX,
            worker: WorkerName::new(format!("process {}", std::process::id()))
                .expect("a short name"),
            max: CLAIM_MAX,
            lease: lease(),
            on_unknown: UnknownPolicy::Rerun,
        };
        patiently(|| self.inbox.claim_batch(ask.clone())).await
    }

    /// Waits until something may be due.
    async fn rest(&self, plan: &Plan, next_due: Option<Duration>) {
        if self.draining.load(Ordering::Acquire) && self.is_drained().await {
            say("drained");
            std::future::pending::<()>().await;
        }
        let mut wake_up = self.inbox.wake_up(&plan.consumer);
        let wait = next_due.unwrap_or(IDLE).min(IDLE);
        // Whether it rang or not, the next look tells.
        let _ = tokio::time::timeout(wait, wake_up.woken()).await;
    }

    /// Nothing is owed, and nothing waits, runs or is to be tried again.
    async fn is_drained(&self) -> bool {
        let own = [self.job.orders().consumer, self.job.mails().consumer];
        let counts = patiently(|| self.inbox.counts()).await;
        let pending = counts.iter().filter(|c| own.contains(&c.consumer));
        self.owed().is_empty() && pending.map(|c| c.pending()).sum::<u64>() == 0
    }

    /// Ends an attempt; whether that counted.
    pub(super) async fn finish(&self, plan: &Plan, item: Finish) -> bool {
        let finished = patiently(|| self.inbox.finish(plan.clone(), vec![item.clone()])).await;
        finished == [Finished::Done]
    }

    /// Tells the source, if it has not been told.
    pub(super) async fn ack(&self, id: &str) {
        if self.owed().contains(id) {
            self.stops.reach(id, Point::BeforeAck).await;
            self.owed().remove(id);
            say(&format!("acked {id}"));
            self.stops.reach(id, Point::AfterAck).await;
        }
    }

    /// What was delivered and whose source has not been told.
    pub(super) fn owed(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls until there is an answer: a store that is away for a moment loses nothing.
pub(super) async fn patiently<'a, T>(call: impl Fn() -> semel_core::store::Answer<'a, T>) -> T {
    loop {
        match call().await {
            Ok(answer) => return answer,
            Err(error) if error.is_retryable() => tokio::time::sleep(PAUSE).await,
            Err(error) => panic!("expected an answer, found {error}"),
        }
    }
}

/// Orders, as many as there are.
pub(super) async fn next_orders(incoming: &mut UnboundedReceiver<Order>) -> Vec<Order> {
    let mut orders = Vec::new();
    // Without an order for a while, what is owed is delivered again.
    let heard = tokio::time::timeout(IDLE * 2, incoming.recv_many(&mut orders, 16)).await;
    if heard == Ok(0) {
        // Standard input has ended, and the process is about to.
        std::future::pending::<()>().await;
    }
    orders
}
