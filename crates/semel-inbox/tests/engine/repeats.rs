//! What is reported of messages that arrive again: where they come from, how late they are, and what they would have cost.

use std::sync::Arc;
use std::time::Duration;

use semel_core::duplicate::Origin;
use semel_core::inbox::State;
use semel_inbox::source::{Batch, Delivery, Event, Gone, Handle, Partition, Raw};
use semel_inbox::{Done, Rule, handler_fn};
use tokio::sync::{Semaphore, mpsc};

use crate::sources::scripted;
use crate::support::watch::Repeated;
use crate::support::{Rig, consumer, eventually, identity, message};

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn a_duplicate_tells_its_age_and_what_it_saved_by_the_stores_clock() {
    let (rig, clock) = Rig::with_clock();
    let (began, may_end) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (begun, gate) = (began.clone(), may_end.clone());
    let handler = handler_fn(move |_| {
        let (begun, gate) = (begun.clone(), gate.clone());
        async move {
            begun.add_permits(1);
            gate.acquire().await.unwrap().forget();
            Ok(Done::new())
        }
    });
    let policy = consumer("mailer");
    let retention = policy.plan.retention.keep();
    let running = rig.engine().consumer(policy, handler).build().unwrap();
    let running = running.start();
    let receiver = running.receiver(&"mailer".parse().unwrap()).unwrap();
    let send = async || {
        let message = message("mailer", "m-1", "hi");
        receiver.receive(message).await.unwrap();
    };
    send().await;
    began.acquire().await.unwrap().forget();
    clock.advance(Duration::from_secs(2));
    send().await;
    may_end.add_permits(1);
    rig.until(&identity("mailer", "m-1"), State::Completed)
        .await;
    clock.advance(HOUR);
    send().await;
    let repeated = rig.seen.repeated.lock().unwrap().clone();
    let [concurrent, late] = repeated[..] else {
        panic!("expected two duplicates, found {repeated:?}");
    };
    assert_eq!(
        (concurrent.origin, concurrent.age, concurrent.took),
        (Origin::ConcurrentRetry, Some(Duration::from_secs(2)), None)
    );
    let age = HOUR + Duration::from_secs(2);
    assert_eq!((late.origin, late.age), (Origin::ClientRetry, Some(age)));
    assert!(late.took.is_some());
    assert_eq!(late.retention, Some(retention));
    running.shutdown().await;
}

/// What a source delivers: the part, the offset, and how often the broker says that it has delivered it.
fn delivery(part: &str, offset: Option<i64>, deliveries: Option<u32>) -> Delivery {
    let mut raw = Raw {
        id: Some("m-1".to_owned()),
        payload: Some("hi".into()),
        deliveries,
        ..Raw::default()
    };
    raw.origin.topic = "orders".to_owned();
    raw.origin.offset = offset;
    Delivery {
        raw,
        handle: Handle::new(0_u64),
        partition: Partition::new(part),
    }
}

/// Lets the timers of the engine see a later time. They stand still only for that: the store works in threads of its own.
async fn two_minutes_pass() {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(120)).await;
    tokio::time::resume();
}

/// A consumer that reads a scripted source.
struct Reading {
    rig: Rig,
    running: semel_inbox::Running,
    say: mpsc::UnboundedSender<Event>,
}

impl Reading {
    async fn of(first: Delivery) -> Self {
        let (rig, (source, say)) = (Rig::new(), scripted(None));
        let handler = handler_fn(|_| async { Ok(Done::new()) });
        let engine = rig.engine().consumer(consumer("mailer"), handler);
        let engine = engine.source("mailer".parse().unwrap(), source, Rule::broker());
        let running = engine.build().unwrap().start();
        let reading = Self { rig, running, say };
        reading.says(first);
        let id = identity("mailer", "m-1");
        reading.rig.until(&id, State::Completed).await;
        reading
    }

    fn says(&self, delivery: Delivery) {
        self.say(Event::Batch(Batch::of(vec![delivery])));
    }

    fn say(&self, event: Event) {
        self.say.send(event).unwrap();
    }

    /// Where the next duplicate came from.
    async fn repeats(&self, delivery: Delivery) -> Origin {
        let count = || self.rig.seen.repeated.lock().unwrap().len();
        let before = count();
        self.says(delivery);
        let told = async || {
            let all = self.rig.seen.repeated.lock().unwrap();
            all.get(before).copied()
        };
        let told: Repeated = eventually("a duplicate is reported", told).await;
        told.origin
    }
}

#[tokio::test]
async fn a_redelivery_is_told_from_a_producers_retry_by_what_the_broker_counts() {
    let reading = Reading::of(delivery("queue", None, Some(1))).await;
    // The queue was just taken: what was open at its last reader comes again.
    let again = || delivery("queue", None, Some(2));
    assert_eq!(reading.repeats(again()).await, Origin::Rebalance);
    let sent_again = delivery("queue", None, Some(1));
    assert_eq!(reading.repeats(sent_again).await, Origin::ClientRetry);
    two_minutes_pass().await;
    assert_eq!(reading.repeats(again()).await, Origin::Redelivery);
    reading.say(Event::Gone(Gone {
        partitions: vec![Partition::new("queue")],
        flushed: None,
    }));
    assert_eq!(reading.repeats(again()).await, Origin::Rebalance);
    reading.running.shutdown().await;
}

#[tokio::test]
async fn where_the_broker_does_not_count_a_lower_offset_is_a_redelivery() {
    let reading = Reading::of(delivery("orders/0", Some(7), None)).await;
    two_minutes_pass().await;
    let sent_again = delivery("orders/0", Some(8), None);
    assert_eq!(reading.repeats(sent_again).await, Origin::ClientRetry);
    let same_place = delivery("orders/0", Some(7), None);
    assert_eq!(reading.repeats(same_place).await, Origin::Redelivery);
    let another_part = delivery("orders/1", Some(3), None);
    assert_eq!(reading.repeats(another_part).await, Origin::Rebalance);
    reading.running.shutdown().await;
}
