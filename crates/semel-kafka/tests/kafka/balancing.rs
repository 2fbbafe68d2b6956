//! Several members of one group.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_core::Kind;
use semel_inbox::Source;
use semel_inbox::source::{Event, Settle, Settled, Want};
use semel_kafka::KafkaSource;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::support::{MUCH, Topic, id, until};

#[tokio::test]
async fn late_answers_for_a_revoked_partition_are_gone() {
    let topic = Topic::new(2).await;
    topic.publish_ids(0..8);
    let one = topic.reader("").await;
    let found = one.take(8).await;
    let two = topic.reader("").await;
    let gone = one.gone().await;
    assert_eq!(gone.partitions.len(), 1, "the other partition stays");
    let (lost, kept): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|delivery| gone.partitions.contains(&delivery.partition));
    // Until the source is answered, what was delivered can still be acknowledged: the group waits for it.
    let early = one.settle(&lost[..1], Settle::Ack).await;
    assert_eq!(early, [Settled::Done]);
    gone.flushed.expect("the group waits").send(()).unwrap();
    let again = two.take(3).await;
    assert_eq!(
        again.iter().map(id).collect::<Vec<_>>(),
        lost[1..].iter().map(id).collect::<Vec<_>>()
    );
    for how in [Settle::Ack, Settle::Extend, Settle::Back(Duration::ZERO)] {
        let late = one.settle(&lost[1..2], how).await;
        assert_eq!(late, [Settled::Gone], "{how:?}");
    }
    assert_eq!(one.settle(&kept, Settle::Ack).await, [Settled::Done; 4]);
    two.settle(&again, Settle::Ack).await;
    one.close().await;
    two.close().await;
    assert_eq!(topic.committed(), [Some(4), Some(4)]);
}

#[tokio::test]
async fn a_rebalance_does_not_wait_for_ever_for_a_member_that_does_not_answer() {
    let topic = Topic::new(2).await;
    topic.publish_ids(0..8);
    let one = topic.reader("").await;
    let found = one.take(8).await;
    let two = topic.reader("").await;
    let began = Instant::now();
    // Nothing asks the first member; a third of its session is 2 s.
    assert_eq!(two.take(4).await.len(), 4);
    assert!(
        began.elapsed() >= Duration::from_millis(1_500),
        "{:?}",
        began.elapsed()
    );
    let late = one.settle(&found, Settle::Ack).await;
    assert_eq!(
        late.iter()
            .filter(|settled| **settled == Settled::Gone)
            .count(),
        4
    );
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_static_member_that_comes_back_gets_its_partitions_without_a_rebalance() {
    let topic = Topic::new(2).await;
    topic.publish_ids(0..4);
    // Long enough that a machine that is busy with other things does not take it for gone.
    let options = |name: &str| format!("&session=30s&instance={name}");
    let one = topic.reader(&options("one")).await;
    // It has both partitions before the other joins; together they would share them from the beginning.
    one.take(4).await;
    let two = topic.reader(&options("two")).await;
    let is_shared = |gone: Option<Event>| matches!(gone, Some(Event::Gone(_)));
    assert!(is_shared(
        one.event(Want::NOTHING, Duration::from_secs(60)).await
    ));
    let before = two.take(2).await;
    two.close().await;
    let two = topic.reader(&options("two")).await;
    let again = two.take(2).await;
    assert_eq!(before[0].partition, again[0].partition);
    let quiet = one.event(Want::NOTHING, Duration::from_secs(1)).await;
    assert!(quiet.is_none(), "the other member has not noticed");
    one.close().await;
    two.close().await;
}

#[tokio::test]
async fn a_second_member_of_the_same_instance_fences_the_first_which_says_so() {
    let topic = Topic::new(1).await;
    let one = topic.reader("&instance=same").await;
    topic.publish_ids(0..1);
    let before = one.take(1).await;
    let two = topic.reader("&instance=same").await;
    let end = Instant::now() + Duration::from_secs(30);
    let error = loop {
        assert!(Instant::now() < end, "the first member goes on");
        let next = timeout(Duration::from_secs(1), one.source.next(Want::NOTHING));
        if let Ok(Err(error)) = next.await {
            break error;
        }
    };
    assert_eq!(error.kind(), Kind::Invalid, "{error}");
    assert!(error.to_string().contains("instance"), "{error}");
    assert_eq!(one.settle(&before, Settle::Ack).await, [Settled::Gone]);
    drop(one);
    let again = two.take(1).await;
    two.settle(&again, Settle::Ack).await;
    two.close().await;
}

/// What members saw.
#[derive(Default)]
struct Sight {
    /// How often each message was delivered.
    counts: BTreeMap<String, u32>,
    /// How many acknowledgements came too late.
    late: usize,
    /// Whether partitions were lost without a word, as on a machine that stands still.
    has_lost: bool,
}

type Seen = Arc<Mutex<Sight>>;

/// Reads as the pump does: one event after the other, deliveries stored before they are acknowledged.
struct Member {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Member {
    fn start(topic: &Topic, seen: &Seen) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let (source, seen): (Arc<KafkaSource>, _) = (Arc::new(topic.source("")), seen.clone());
        let task = tokio::spawn(async move {
            source.open(Vec::new()).await.unwrap();
            loop {
                let event = tokio::select! {
                    _ = stopped.changed() => break,
                    event = source.next(MUCH) => event,
                };
                match event {
                    Ok(Event::Batch(batch)) => {
                        sleep(Duration::from_millis(20)).await;
                        for delivery in &batch.deliveries {
                            let mut seen = seen.lock().unwrap();
                            *seen.counts.entry(id(delivery)).or_default() += 1;
                        }
                        // Out of order, as effects end.
                        let items = batch.deliveries.iter().rev();
                        let items = items.map(|d| (d.handle.clone(), Settle::Ack)).collect();
                        let settled = source.settle(items).await.unwrap();
                        let late = settled.iter().filter(|one| **one == Settled::Gone);
                        seen.lock().unwrap().late += late.count();
                    }
                    Ok(Event::Gone(gone)) => match gone.flushed {
                        Some(flushed) => drop(flushed.send(())),
                        None => seen.lock().unwrap().has_lost = true,
                    },
                    Err(error) if error.is_retryable() => {
                        sleep(Duration::from_millis(100)).await;
                    }
                    other => panic!("{other:?}"),
                }
            }
            source.close().await.unwrap();
        });
        Self { stop, task }
    }

    async fn leave(self) {
        self.stop.send(true).unwrap();
        self.task.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn members_join_and_leave_while_messages_flow_and_each_is_taken_once() {
    let topic = Topic::new(4).await;
    let seen = Seen::default();
    let mut published = 0;
    let first = Member::start(&topic, &seen);
    for turn in 0..4 {
        let other = Member::start(&topic, &seen);
        for _ in 0..20 {
            topic.publish_ids(published..published + 100);
            published += 100;
            sleep(Duration::from_millis(100)).await;
        }
        assert!(!seen.lock().unwrap().counts.is_empty(), "turn {turn}");
        other.leave().await;
    }
    until("all come", || {
        seen.lock().unwrap().counts.len() == published
    })
    .await;
    first.leave().await;
    let each = i64::try_from(published / 4).unwrap();
    assert_eq!(topic.committed(), [Some(each); 4], "nothing is left");
    let seen = seen.lock().unwrap();
    let twice = seen.counts.values().filter(|count| **count > 1).count();
    assert!(
        twice <= seen.late || seen.has_lost,
        "members that end well hand over what they have finished: {twice} came twice, {} were late",
        seen.late
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn members_that_crash_lose_nothing() {
    let topic = Topic::new(4).await;
    let seen = Seen::default();
    let mut published = 0;
    let first = Member::start(&topic, &seen);
    for _ in 0..4 {
        let other = Member::start(&topic, &seen);
        for _ in 0..10 {
            topic.publish_ids(published..published + 100);
            published += 100;
            sleep(Duration::from_millis(100)).await;
        }
        // In the middle of whatever it does.
        other.task.abort();
    }
    until("all come", || {
        seen.lock().unwrap().counts.len() == published
    })
    .await;
    first.leave().await;
    let each = i64::try_from(published / 4).unwrap();
    assert_eq!(topic.committed(), [Some(each); 4]);
}
