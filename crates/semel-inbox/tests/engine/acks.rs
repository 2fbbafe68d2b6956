//! Sources are told after the message is durable, or after its effect, and what they keep open is kept alive.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use semel_core::inbox::State;
use semel_core::store::{
    Actor, Answer, ClaimAnswer, ClaimRequest, SettleRequest, StoreExt, Takeover,
};
use semel_core::{Inbox, LeaseTerm, Outcome, Retention};
use semel_inbox::Ack;
use semel_inbox::source::{
    Batch, Delivery, Event, Handle, Partition, Raw, Settle, Settled, Source, SourceLease, Want,
};
use semel_inbox::{Done, Failure, Rule, handler_fn};
use tokio::sync::{Mutex as AsyncMutex, Semaphore, mpsc};

use crate::support::{Rig, consumer, eventually, identity};

/// A queue whose deliveries and answers a test sees.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) acked: Mutex<Vec<u64>>,
    nacked: Mutex<Vec<u64>>,
    extended: Mutex<Vec<u64>>,
    opened: AtomicBool,
}

pub(crate) struct Queue {
    deliveries: AsyncMutex<mpsc::UnboundedReceiver<Delivery>>,
    told: Arc<Told>,
    lease: Option<SourceLease>,
}

fn number(handle: &Handle) -> u64 {
    *handle.get().unwrap()
}

impl Source for Queue {
    fn name(&self) -> &str {
        "queue"
    }

    fn lease(&self) -> Option<SourceLease> {
        self.lease
    }

    fn open(&self, _: Vec<(Partition, String)>) -> Answer<'_, ()> {
        self.told.opened.store(true, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    }

    fn next(&self, want: Want) -> Answer<'_, Event> {
        Box::pin(async move {
            if want.count == 0 {
                return std::future::pending().await;
            }
            let mut deliveries = Vec::new();
            let mut waiting = self.deliveries.lock().await;
            waiting.recv_many(&mut deliveries, want.count).await;
            Ok(match deliveries.is_empty() {
                true => Event::End,
                false => Event::Batch(Batch::of(deliveries)),
            })
        })
    }

    fn settle(&self, items: Vec<(Handle, Settle)>) -> Answer<'_, Vec<Settled>> {
        for (handle, how) in &items {
            let told = match how {
                Settle::Ack => &self.told.acked,
                Settle::Back(_) => &self.told.nacked,
                Settle::Extend => &self.told.extended,
                other => panic!("{other:?} is new"),
            };
            told.lock().unwrap().push(number(handle));
        }
        Box::pin(async move { Ok(vec![Settled::Done; items.len()]) })
    }
}

pub(crate) fn queue(
    lease: Option<Duration>,
) -> (Arc<Queue>, mpsc::UnboundedSender<Delivery>, Arc<Told>) {
    let (send, deliveries) = mpsc::unbounded_channel();
    let told: Arc<Told> = Arc::default();
    let queue = Queue {
        deliveries: AsyncMutex::new(deliveries),
        told: told.clone(),
        lease: lease.map(SourceLease::extendable),
    };
    (Arc::new(queue), send, told)
}

pub(crate) fn delivery(tag: u64, id: Option<&str>) -> Delivery {
    Delivery {
        raw: Raw {
            id: id.map(str::to_owned),
            payload: Some("{}".into()),
            ..Raw::default()
        },
        handle: Handle::new(tag),
        partition: Partition::default(),
    }
}

#[tokio::test]
async fn after_the_receive_a_source_is_told_although_nothing_has_run() {
    let (rig, (queue, send, told)) = (Rig::new(), queue(None));
    let handler = handler_fn(|_| async { std::future::pending().await });
    let engine = rig.engine().consumer(consumer("mail"), handler);
    let engine = engine.source("mail".parse().unwrap(), queue, Rule::default());
    let _running = engine.build().unwrap().start();
    for (tag, id) in [(1, Some("a")), (2, Some("a")), (3, None)] {
        send.send(delivery(tag, id)).unwrap();
    }
    let acked = async || (*told.acked.lock().unwrap() == [1, 2, 3]).then_some(());
    eventually("all are acknowledged", acked).await;
    rig.until(&identity("mail", "a"), State::InProgress).await;
    let parked = rig.unreadable("mail").await;
    assert_eq!(parked.len(), 1);
    let error = parked[0].entry.error.as_deref();
    assert!(
        error.is_some_and(|error| error.contains("no id")),
        "{error:?}"
    );
    assert!(told.opened.load(Ordering::SeqCst));
}

#[tokio::test]
async fn after_the_effect_a_source_is_told_only_then_and_its_lease_is_extended_meanwhile() {
    let (rig, (queue, send, told)) = (Rig::new(), queue(Some(Duration::from_millis(30))));
    let gate = Arc::new(Semaphore::new(0));
    let waits = gate.clone();
    let handler = handler_fn(move |ctx| {
        let waits = waits.clone();
        async move {
            if ctx.attempt() == 1 {
                return Err(Failure::retryable("not yet"));
            }
            waits.acquire().await?.forget();
            Ok(Done::new())
        }
    });
    let mut policy = consumer("mail");
    policy.ack = Ack::AfterEffect;
    let engine = rig.engine().consumer(policy, handler);
    let engine = engine.source("mail".parse().unwrap(), queue, Rule::default());
    let running = engine.build().unwrap().start();
    send.send(delivery(1, Some("a"))).unwrap();
    rig.until(&identity("mail", "a"), State::InProgress).await;
    // The same message again, while the first is in progress.
    send.send(delivery(2, Some("a"))).unwrap();
    let extended = async || {
        let extended = told.extended.lock().unwrap();
        (extended.contains(&1) && extended.contains(&2)).then_some(())
    };
    eventually("both are extended", extended).await;
    assert!(told.acked.lock().unwrap().is_empty());
    gate.add_permits(1);
    let acked = async || {
        let mut acked = told.acked.lock().unwrap().clone();
        acked.sort_unstable();
        (acked == [1, 2]).then_some(())
    };
    eventually("both are acknowledged", acked).await;
    rig.until(&identity("mail", "a"), State::Completed).await;
    // A duplicate of what is done is told at once.
    send.send(delivery(3, Some("a"))).unwrap();
    let third = async || told.acked.lock().unwrap().contains(&3).then_some(());
    eventually("the duplicate is acknowledged", third).await;
    running.shutdown().await;
    assert!(told.nacked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn dead_letters_are_acknowledged_once_they_are_parked() {
    let (rig, (queue, send, told)) = (Rig::new(), queue(None));
    let handler = handler_fn(|_| async { Err(Failure::park("a person must look")) });
    let mut policy = consumer("mail");
    policy.ack = Ack::AfterEffect;
    let engine = rig.engine().consumer(policy, handler);
    let engine = engine.source("mail".parse().unwrap(), queue, Rule::default());
    let running = engine.build().unwrap().start();
    send.send(delivery(1, Some("a"))).unwrap();
    let acked = async || (*told.acked.lock().unwrap() == [1]).then_some(());
    eventually("it is acknowledged", acked).await;
    rig.until(&identity("mail", "a"), State::Parked).await;
    running.shutdown().await;
}

#[tokio::test]
async fn what_another_engine_deals_with_is_acknowledged_too() {
    let (rig, (queue, send, told)) = (Rig::new(), queue(None));
    let mut policy = consumer("mail");
    policy.ack = Ack::AfterEffect;
    // This one has the source, and a handler that never ends; the other one takes the message over.
    let begun = Arc::new(Semaphore::new(0));
    let began = begun.clone();
    let stuck = handler_fn(move |_| {
        began.add_permits(1);
        async { std::future::pending().await }
    });
    let engine = rig.engine().consumer(policy.clone(), stuck);
    let engine = engine.source("mail".parse().unwrap(), queue, Rule::default());
    let first = engine.build().unwrap().start();
    send.send(delivery(1, Some("a"))).unwrap();
    begun.acquire().await.unwrap().forget();
    let id = identity("mail", "a");
    let detail = rig.until(&id, State::InProgress).await;
    // Somebody else finishes it under the same claim.
    let finish = semel_core::inbox::Finish {
        claim: semel_core::inbox::Claim {
            identity: id.clone(),
            fence: fence(&rig, &detail).await,
        },
        took: Duration::ZERO,
        disposition: semel_core::inbox::Disposition::Completed {
            outcome: semel_core::Outcome::succeeded(""),
            intents: Vec::new(),
        },
    };
    let plan = policy.plan.clone();
    let finished = semel_core::Inbox::finish(&*rig.store, plan, vec![finish]);
    assert_eq!(finished.await.unwrap(), [semel_core::inbox::Finished::Done]);
    let acked = async || (*told.acked.lock().unwrap() == [1]).then_some(());
    eventually("it is acknowledged", acked).await;
    drop(first);
}

/// The fence of the claim: fences grow by one in a new store, so the first claim that works is found by trying.
async fn fence(rig: &Rig, _: &semel_core::inbox::Detail) -> semel_core::Fence {
    for number in 0..10_000 {
        let claim = semel_core::inbox::Claim {
            identity: identity("mail", "a"),
            fence: semel_core::Fence::new(number),
        };
        let lease = semel_core::LeaseTerm::default();
        let renewed = semel_core::Inbox::renew(&*rig.store, vec![claim], lease);
        if renewed.await.unwrap() == [semel_core::inbox::Renewal::Held] {
            return semel_core::Fence::new(number);
        }
    }
    panic!("no fence holds");
}

#[tokio::test]
async fn what_is_still_open_at_the_end_is_given_back() {
    let (rig, (queue, send, told)) = (Rig::new(), queue(None));
    let begun = Arc::new(Semaphore::new(0));
    let began = begun.clone();
    let stuck = handler_fn(move |_| {
        began.add_permits(1);
        async { std::future::pending().await }
    });
    let mut policy = consumer("mail");
    policy.ack = Ack::AfterEffect;
    let engine = rig.engine().settings(semel_inbox::Settings {
        drain: Duration::from_millis(50),
        ..semel_inbox::Settings::default()
    });
    let engine = engine.consumer(policy, stuck);
    let engine = engine.source("mail".parse().unwrap(), queue, Rule::default());
    let running = engine.build().unwrap().start();
    send.send(delivery(1, Some("a"))).unwrap();
    begun.acquire().await.unwrap().forget();
    running.shutdown().await;
    assert_eq!(*told.nacked.lock().unwrap(), [1]);
    assert!(told.acked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_handler_that_drains_while_the_engine_stops_has_its_delivery_acknowledged() {
    let (rig, (queue, send, told)) = (Rig::new(), queue(Some(Duration::from_millis(30))));
    let (gate, begun) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (waits, began) = (gate.clone(), begun.clone());
    let handler = handler_fn(move |_| {
        let waits = waits.clone();
        began.add_permits(1);
        async move {
            waits.acquire().await?.forget();
            Ok(Done::new())
        }
    });
    let mut policy = consumer("mail");
    policy.ack = Ack::AfterEffect;
    let engine = rig.engine().consumer(policy, handler);
    let engine = engine.source("mail".parse().unwrap(), queue, Rule::default());
    let running = engine.build().unwrap().start();
    send.send(delivery(1, Some("a"))).unwrap();
    begun.acquire().await.unwrap().forget();
    let stopped = tokio::spawn(running.shutdown());
    // The shutdown begins when its task first runs; the delivery stays open and is extended.
    tokio::task::yield_now().await;
    told.extended.lock().unwrap().clear();
    let extended = async || told.extended.lock().unwrap().contains(&1).then_some(());
    eventually("it is extended", extended).await;
    assert!(told.nacked.lock().unwrap().is_empty());
    gate.add_permits(1);
    stopped.await.unwrap();
    assert_eq!(*told.acked.lock().unwrap(), [1]);
    assert!(told.nacked.lock().unwrap().is_empty());
}

/// Another door claims the record of a message and settles it.
async fn settle_elsewhere(rig: &Rig, message: &semel_core::inbox::Message) {
    let ask = ClaimRequest {
        identity: message.identity().clone(),
        fingerprint: message.fingerprint(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    };
    let ClaimAnswer::Granted(granted) = rig.store.claim_one(ask).await.unwrap() else {
        panic!("expected a claim");
    };
    let settle = SettleRequest {
        claim: granted.claim,
        outcome: Outcome::succeeded("settled elsewhere"),
        took: Duration::ZERO,
        retention: Retention::default(),
    };
    rig.store.settle_one(settle).await.unwrap();
}

#[tokio::test]
async fn what_another_door_settles_is_acknowledged_and_does_not_run() {
    let (rig, (queue, send, told)) = (Rig::new(), queue(None));
    let handler = handler_fn(|_| async { panic!("it must not run") });
    let mut policy = consumer("mail");
    policy.ack = Ack::AfterEffect;
    let set = |paused| {
        let (by, name) = (Actor::new("ada").unwrap(), "mail".parse().unwrap());
        Inbox::set_paused(&*rig.store, name, paused, by, None)
    };
    set(true).await.unwrap();
    let engine = rig.engine().consumer(policy, handler);
    let engine = engine.source("mail".parse().unwrap(), queue, Rule::default());
    let running = engine.build().unwrap().start();
    send.send(delivery(1, Some("a"))).unwrap();
    let detail = rig.until(&identity("mail", "a"), State::Received).await;
    settle_elsewhere(&rig, &detail.message.unwrap()).await;
    set(false).await.unwrap();
    let acked = async || (*told.acked.lock().unwrap() == [1]).then_some(());
    eventually("it is acknowledged", acked).await;
    assert_eq!(*rig.seen.elsewhere.lock().unwrap(), ["a"]);
    running.shutdown().await;
}
