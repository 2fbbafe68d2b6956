//! A store that is away for a while: nothing runs, nothing is acknowledged, and nothing is lost.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_core::inbox::{
    Arrivals, Claim, ClaimBatch, Claimed, Counts, Detail, Finish, Finished, Gap, OnTerminal,
    Operation, Order, Page, Plan, Query, Receipt, Renewal, Report, State, Step, Taken, WaitingLane,
    WakeUp,
};
use semel_core::store::{Actor, Answer};
use semel_core::{Error, Identity, Inbox, Kind, LeaseTerm, Scope};
use semel_inbox::{Ctx, Done, Failure, Rule, Webhook, handler_fn};
use semel_sqlite::SqliteStore;
use tokio::sync::Semaphore;

use crate::support::{Rig, consumer, eventually, identity, message};

/// The real store behind a line that may be cut: before the call, or before the answer.
#[derive(Debug)]
struct Line {
    store: Arc<SqliteStore>,
    is_cut: AtomicBool,
    is_deaf: AtomicBool,
    refused: AtomicUsize,
    /// How long each answer takes, in milliseconds.
    slow_ms: AtomicU64,
    /// Whose lanes were moved on.
    advanced: Mutex<BTreeSet<String>>,
    /// What a cut looks like.
    kind: Kind,
}

impl Line {
    fn new(store: Arc<SqliteStore>) -> Arc<Self> {
        Self::failing(store, Kind::Unavailable)
    }

    fn failing(store: Arc<SqliteStore>, kind: Kind) -> Arc<Self> {
        Arc::new(Self {
            kind,
            store,
            is_cut: AtomicBool::new(false),
            is_deaf: AtomicBool::new(false),
            refused: AtomicUsize::new(0),
            slow_ms: AtomicU64::new(0),
            advanced: Mutex::default(),
        })
    }

    fn over<'a, T: Send + 'a>(&'a self, call: impl FnOnce() -> Answer<'a, T>) -> Answer<'a, T> {
        let away = || {
            self.refused.fetch_add(1, Ordering::SeqCst);
            Error::new(self.kind, "the line is cut")
        };
        if self.is_cut.load(Ordering::SeqCst) {
            let away = away();
            return Box::pin(async { Err(away) });
        }
        let (call, is_deaf) = (call(), self.is_deaf.load(Ordering::SeqCst));
        Box::pin(async move {
            let answer = call.await;
            tokio::time::sleep(Duration::from_millis(self.slow_ms.load(Ordering::SeqCst))).await;
            match is_deaf {
                true => Err(away()),
                false => answer,
            }
        })
    }
}

macro_rules! over_the_line {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)+) => {
        impl Inbox for Line {
            $(fn $name(&self, $($arg: $kind),*) -> Answer<'_, $answer> {
                self.over(|| self.store.$name($($arg),*))
            })+

            fn advance_lanes(&self, plan: Plan, limit: usize) -> Answer<'_, usize> {
                self.advanced.lock().unwrap().insert(plan.consumer.to_string());
                self.over(|| self.store.advance_lanes(plan, limit))
            }

            fn wake_up(&self, consumer: &Scope) -> WakeUp {
                Inbox::wake_up(&*self.store, consumer)
            }
        }
    };
}

over_the_line! {
    receive(arrivals: Arrivals) -> Vec<Receipt>;
    take_positions(source: String, partitions: Vec<String>) -> Vec<Taken>;
    claim_batch(ask: ClaimBatch) -> Claimed;
    renew(claims: Vec<Claim>, lease: LeaseTerm) -> Vec<Renewal>;
    finish(plan: Plan, items: Vec<Finish>) -> Vec<Finished>;
    remember_step(claim: Claim, step: Step) -> Renewal;
    list_messages(query: Query) -> Page;
    states(identities: Vec<Identity>) -> Vec<Option<State>>;
    message(identity: Identity) -> Option<Detail>;
    set_paused(consumer: Scope, paused: bool, by: Actor, reason: Option<String>) -> bool;
    gaps(consumer: Scope, limit: usize) -> Vec<Gap>;
    waiting_lanes(consumer: Scope, limit: usize) -> Vec<WaitingLane>;
    counts() -> Vec<Counts>;
    operate(operation: Operation) -> Report;
    expose_processed(view: String) -> ();
}

#[tokio::test]
async fn a_step_that_is_done_is_remembered_when_a_failover_is_over() {
    for kind in [Kind::ReadOnly, Kind::Internal, Kind::Damaged] {
        let rig = Rig::new();
        let line = Line::failing(rig.store.clone(), kind);
        let steps = Arc::new(AtomicUsize::new(0));
        let (counter, failing) = (steps.clone(), line.clone());
        let handler = handler_fn(move |ctx: Ctx| {
            let (counter, failing) = (counter.clone(), failing.clone());
            async move {
                let charge = async || {
                    failing.is_cut.store(true, Ordering::SeqCst);
                    Ok::<_, Failure>(counter.fetch_add(1, Ordering::SeqCst))
                };
                ctx.step("charge", charge).await?;
                Ok(Done::new())
            }
        });
        let engine = rig
            .engine_on(line.clone())
            .consumer(consumer("mail"), handler);
        let running = engine.build().unwrap().start();
        rig.receive(message("mail", "m-1", "hi")).await;
        let tried = async || (line.refused.load(Ordering::SeqCst) > 2).then_some(());
        eventually("several refusals", tried).await;
        line.is_cut.store(false, Ordering::SeqCst);
        rig.until(&identity("mail", "m-1"), State::Completed).await;
        assert_eq!(steps.load(Ordering::SeqCst), 1, "{kind:?}");
        running.shutdown().await;
    }
}

#[tokio::test]
async fn an_effect_that_cannot_be_written_down_is_not_repeated_and_not_forgotten() {
    for kind in [Kind::Unavailable, Kind::Internal, Kind::Limit] {
        effect_without_a_store(kind).await;
    }
}

async fn effect_without_a_store(kind: Kind) {
    let rig = Rig::new();
    let line = Line::failing(rig.store.clone(), kind);
    let (gate, runs) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
    let (waits, counter) = (gate.clone(), runs.clone());
    let handler = handler_fn(move |_| {
        let waits = waits.clone();
        counter.fetch_add(1, Ordering::SeqCst);
        async move {
            waits.acquire().await?.forget();
            Ok(Done::new())
        }
    });
    let engine = rig
        .engine_on(line.clone())
        .consumer(consumer("mail"), handler);
    let running = engine.build().unwrap().start();
    rig.receive(message("mail", "m-1", "hi")).await;
    let id = identity("mail", "m-1");
    rig.until(&id, State::InProgress).await;
    line.is_cut.store(true, Ordering::SeqCst);
    gate.add_permits(1);
    let receiver = running.receiver(&"mail".parse().unwrap()).unwrap();
    let refused = receiver.receive(message("mail", "m-2", "hi")).await;
    assert_eq!(refused.unwrap_err().kind(), kind);
    let tried = async || (line.refused.load(Ordering::SeqCst) > 5).then_some(());
    eventually("several refusals", tried).await;
    rig.until(&id, State::InProgress).await;
    line.is_cut.store(false, Ordering::SeqCst);
    rig.until(&id, State::Completed).await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert!(
        rig.store
            .message(identity("mail", "m-2"))
            .await
            .unwrap()
            .is_none()
    );
    running.shutdown().await;
}

#[tokio::test]
async fn an_end_whose_answer_was_lost_counts_and_nothing_runs_again() {
    let rig = Rig::new();
    let line = Line::new(rig.store.clone());
    let (runs, deaf) = (Arc::new(AtomicUsize::new(0)), line.clone());
    let counter = runs.clone();
    let handler = handler_fn(move |_| {
        deaf.is_deaf.store(true, Ordering::SeqCst);
        counter.fetch_add(1, Ordering::SeqCst);
        async { Ok(Done::new()) }
    });
    let engine = rig.engine_on(line.clone());
    let engine = engine.consumer(consumer("mail"), handler);
    let running = engine.build().unwrap().start();
    rig.receive(message("mail", "m-1", "hi")).await;
    rig.until(&identity("mail", "m-1"), State::Completed).await;
    let tried = async || (line.refused.load(Ordering::SeqCst) > 5).then_some(());
    eventually("several lost answers", tried).await;
    line.is_deaf.store(false, Ordering::SeqCst);
    running.shutdown().await;
    rig.until(&identity("mail", "m-1"), State::Completed).await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    let finished = rig.seen.finished.lock().unwrap();
    assert!(finished.iter().all(|(_, end)| !end.late));
}

#[tokio::test]
async fn a_webhook_says_that_nothing_was_stored() {
    let rig = Rig::new();
    let line = Line::new(rig.store.clone());
    line.is_cut.store(true, Ordering::SeqCst);
    let handler = handler_fn(|_| async { Ok(Done::new()) });
    let engine = rig.engine_on(line.clone());
    let engine = engine.consumer(consumer("mail"), handler);
    let running = engine.build().unwrap().start();
    let webhook = Webhook::new("mail".parse().unwrap()).rule(Rule::stripe());
    let router = running.router(vec![webhook]).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/inbox/mail", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let post = || client.post(&url).body("{\"id\":\"1\"}").send();
    let refused = post().await.unwrap();
    assert_eq!(refused.status(), 503);
    assert!(refused.headers().contains_key("retry-after"));
    let problem = refused.text().await.unwrap();
    assert!(problem.contains("urn:semel:problem:store-unavailable"));
    line.is_cut.store(false, Ordering::SeqCst);
    assert_eq!(post().await.unwrap().status(), 202);
    rig.until(&identity("mail", "1"), State::Completed).await;
    running.shutdown().await;
}

#[tokio::test]
async fn the_lanes_of_every_consumer_are_moved_on_whatever_its_order() {
    let rig = Rig::new();
    let line = Line::new(rig.store.clone());
    let handler = || handler_fn(|_| async { Ok(Done::new()) });
    let mut by_key = consumer("by-key");
    by_key.plan.order = Order::Arrival {
        on_terminal: OnTerminal::Park,
    };
    let engine = rig.engine_on(line.clone());
    let engine = engine.consumer(consumer("free"), handler());
    let engine = engine.consumer(by_key, handler());
    let running = engine.build().unwrap().start();
    let both = async || (line.advanced.lock().unwrap().len() == 2).then_some(());
    eventually("both are looked after", both).await;
    running.shutdown().await;
}

/// The claim of a probe takes so long that it is given back unbegun: the next probe is claimed all the same.
#[tokio::test]
async fn a_probe_whose_claim_came_too_late_is_claimed_again() {
    let rig = Rig::new();
    let line = Line::new(rig.store.clone());
    let is_away = Arc::new(AtomicBool::new(true));
    let away = is_away.clone();
    let handler = handler_fn(move |_| {
        let away = away.load(Ordering::SeqCst);
        async move {
            match away {
                true => Err(Failure::not_reached("refused")),
                false => Ok(Done::new()),
            }
        }
    });
    let mut policy = consumer("mail");
    policy.lease = LeaseTerm::new(Duration::from_millis(400)).unwrap();
    let engine = semel_inbox::Engine::builder(line.clone()).consumer(policy, handler);
    let running = engine.build().unwrap().start();
    rig.receive(message("mail", "m-1", "hi")).await;
    let is = async |state| {
        let look = async || (running.circuits()[0].state == state).then_some(());
        eventually("the circuit", look).await;
    };
    is(semel_inbox::CircuitState::Open).await;
    line.slow_ms.store(300, Ordering::SeqCst);
    is_away.store(false, Ordering::SeqCst);
    let returned = async || {
        let detail = rig
            .store
            .message(identity("mail", "m-1"))
            .await
            .unwrap()
            .unwrap();
        let cause = semel_core::inbox::Cause::Returned;
        detail
            .transitions
            .iter()
            .any(|t| t.cause == Some(cause))
            .then_some(())
    };
    eventually("the claim is given back", returned).await;
    line.slow_ms.store(0, Ordering::SeqCst);
    rig.until(&identity("mail", "m-1"), State::Completed).await;
    running.shutdown().await;
}
