//! FIFO queues: ids, groups and order.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_core::inbox::{OnTerminal, Order};
use semel_core::{Retention, Scope};
use semel_inbox::intents::Outlet;
use semel_inbox::source::{Delivery, Event, Settle, Settled};
use semel_inbox::{Ack, Consumer, Done, Engine, Failure, Rule, Source, handler_fn};
use semel_sqs::SqsSource;
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{nothing_for, settle, take};
use tokio::time::{Instant, sleep};

use crate::common::{Queue, message};
use crate::conformance::inbox;
use crate::service::Service;

#[tokio::test]
async fn a_fifo_queue_says_group_and_id_and_keeps_order_within_a_group() {
    let queue = Queue::fifo().await;
    let messages = (0..20).map(|number| message(number, Some(["a", "b"][number % 2]), Vec::new()));
    let sent = queue.outlet().send(messages.collect()).await;
    assert_eq!(sent.len(), 20);
    // The same again is swallowed by the queue.
    queue
        .outlet()
        .send(vec![message(0, Some("a"), Vec::new())])
        .await;
    let source = queue.source("").await;
    let mut seen = Vec::new();
    while seen.len() < 20 {
        let Ok(Event::Batch(batch)) = source.next(MUCH).await else {
            panic!("a batch");
        };
        for delivery in &batch.deliveries {
            let raw = &delivery.raw;
            assert!(raw.headers.iter().any(|(name, _)| name == "SequenceNumber"));
            assert_eq!(raw.sequence, None);
            seen.push((raw.lane.clone().unwrap(), raw.id.clone().unwrap()));
        }
        settle(&source, &batch.deliveries, Settle::Ack).await;
    }
    for (group, first) in [("a", 0), ("b", 1)] {
        let found: Vec<_> = seen
            .iter()
            .filter(|(lane, _)| lane == group)
            .map(|(_, id)| id.clone())
            .collect();
        let expected: Vec<_> = (first..20)
            .step_by(2)
            .map(|number| format!("m-{number}"))
            .collect();
        assert_eq!(found, expected);
    }
    nothing_for(&source, Duration::from_secs(2)).await;
    queue.delete().await;
}

/// The ids of two messages of a queue of this scope that have the same deduplication id in two groups.
async fn ids_of(scope: &str, dedup: &str) -> Vec<String> {
    let attributes = format!(r#"{{"Attributes":{{"DeduplicationScope":"{scope}"}}}}"#);
    let one = |group: &str| {
        format!(
            r#"{{"MessageId":"m-{group}","ReceiptHandle":"r-{group}","Body":"x",
            "Attributes":{{"MessageGroupId":"{group}","MessageDeduplicationId":"{dedup}"}}}}"#
        )
    };
    let messages = format!(r#"{{"Messages":[{},{}]}}"#, one("a"), one("b"));
    let answers = [
        ("GetQueueAttributes", attributes.as_str()),
        ("ReceiveMessage", messages.as_str()),
    ];
    let service = Service::new(&answers).await;
    let source = SqsSource::from_url(&service.url("q.fifo", "pollers=1"), "billing").unwrap();
    source.open(Vec::new()).await.unwrap();
    let found = take(&source, 2).await;
    found
        .into_iter()
        .map(|found| found.raw.id.unwrap())
        .collect()
}

#[tokio::test]
async fn where_groups_deduplicate_by_themselves_the_group_is_part_of_the_id() {
    assert_eq!(ids_of("queue", "o-1").await, ["o-1", "o-1"]);
    assert_eq!(ids_of("messageGroup", "o-1").await, ["a o-1", "b o-1"]);
}

fn groups_payloads(all: &[Delivery], group: &str) -> Vec<String> {
    let of_group = all.iter().filter(|d| d.raw.lane.as_deref() == Some(group));
    let payload =
        |d: &Delivery| String::from_utf8(d.raw.payload.clone().unwrap().to_vec()).unwrap();
    of_group.map(payload).collect()
}

#[tokio::test]
async fn what_is_given_back_comes_again_before_the_later_ones_of_its_group() {
    let queue = Queue::fifo().await;
    let messages = (0..6).map(|number| message(number, Some("a"), Vec::new()));
    queue.outlet().send(messages.collect()).await;
    let source = queue.source("visibility=1h").await;
    let first = take(&source, 1).await;
    assert_eq!(groups_payloads(&first, "a"), ["0"]);
    let back = Settle::Back(Duration::from_secs(2));
    assert_eq!(settle(&source, &first, back).await, [Settled::Done]);
    let mut seen = Vec::new();
    while seen.len() < 6 {
        let found = take(&source, 1).await;
        seen.extend(groups_payloads(&found, "a"));
        // What was open behind the one that was given back may come once more, after it.
        settle(&source, &found, Settle::Ack).await;
    }
    let expected: Vec<String> = (0..6).map(|number| number.to_string()).collect();
    assert_eq!(seen, expected);
    queue.delete().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_holds_up_its_group_and_no_other_when_deliveries_wait_for_the_effect() {
    let queue = Queue::fifo().await;
    let messages = (0..20).map(|number| message(number, Some(["a", "b"][number % 2]), Vec::new()));
    queue.outlet().send(messages.collect()).await;
    let done: Arc<Mutex<Vec<String>>> = Arc::default();
    let (seen, failed) = (done.clone(), Arc::new(Mutex::new(false)));
    let handler = handler_fn(move |ctx| {
        let (seen, failed) = (seen.clone(), failed.clone());
        async move {
            let id = ctx.message().identity().key().as_str().to_owned();
            if id == "m-4" && !std::mem::replace(&mut *failed.lock().unwrap(), true) {
                return Err(Failure::retryable("not this time"));
            }
            seen.lock().unwrap().push(id);
            Ok(Done::new())
        }
    });
    let scope: Scope = "billing".parse().unwrap();
    let mut policy = Consumer::new(scope.clone());
    policy.ack = Ack::AfterEffect;
    policy.plan.order = Order::Arrival {
        on_terminal: OnTerminal::default(),
    };
    policy.plan.retention = Retention::delete_after(Duration::from_secs(60 * 86_400)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let url = queue.url("wait=1s&visibility=5s");
    let source = Arc::new(SqsSource::from_url(&url, "billing").unwrap());
    let engine = Engine::builder(inbox(&dir.path().join("semel.db"))).consumer(policy, handler);
    let engine = engine.source(scope, source, Rule::broker());
    let running = engine.build().unwrap().start();
    let until = Instant::now() + Duration::from_secs(60);
    while done.lock().unwrap().len() < 20 || running.sources()[0].open > 0 {
        assert!(Instant::now() < until, "{:?}", done.lock().unwrap());
        sleep(Duration::from_millis(50)).await;
    }
    running.shutdown().await;
    let done = done.lock().unwrap().clone();
    for first in 0..2 {
        let number = |id: &String| id.trim_start_matches("m-").parse::<usize>().unwrap();
        let found: Vec<usize> = done.iter().map(number).filter(|n| n % 2 == first).collect();
        assert_eq!(found, (first..20).step_by(2).collect::<Vec<_>>());
    }
    let source = queue.source("").await;
    nothing_for(&source, Duration::from_secs(1)).await;
    queue.delete().await;
}
