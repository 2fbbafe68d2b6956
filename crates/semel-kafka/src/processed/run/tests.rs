//! The task with a source that is fed by hand; nothing is connected.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use semel_core::SystemClock;
use semel_inbox::source::{Event, Raw};
use semel_inbox::{Consumer, Done, Handler, NoObserver, handler_fn};
use tokio::sync::Semaphore;

use super::*;

const MUCH: Want = Want {
    count: 500,
    bytes: BYTES,
};

/// Partition 0 of topic `t` is ours, and its log is empty.
fn run(handler: impl Handler) -> Run {
    let options = Options::parse("kafka://127.0.0.1:1/t", "c").unwrap();
    let consumer = Consumer::new("c".parse().unwrap());
    let clock = Arc::new(SystemClock::new());
    let solo = Solo::new(
        consumer,
        Arc::new(handler),
        &[],
        clock,
        Arc::new(NoObserver),
    );
    let parts = Parts {
        source: Arc::new(KafkaSource::new(options.clone())),
        options,
        topics: Topics {
            log: "log".into(),
            dead: "dead".into(),
            targets: BTreeMap::new(),
        },
        rule: Rule::broker(),
        solo: Arc::new(solo.unwrap()),
        drain: Duration::ZERO,
        stopping: watch::channel(false).1,
    };
    let mut run = Run::new(parts);
    own(&mut run);
    run
}

/// Partition 0 is ours, once more.
fn own(run: &mut Run) {
    run.parts.source.assign_by_hand(0);
    let (leaving, _) = watch::channel(false);
    let ids = Ids::default();
    run.owned.insert(0, Owned { ids, leaving });
}

async fn deliver(run: &mut Run, offset: i64, raw: Raw) {
    run.parts.source.feed_by_hand(0, offset, raw);
    let event = run.parts.source.next(MUCH).await.unwrap();
    run.event(event);
}

async fn end_one(run: &mut Run) {
    let (job, ended) = run.runs.join_next().await.unwrap().unwrap();
    run.ended(&job, ended);
}

fn raw(headers: &[(&str, &str)], payload: &str) -> Raw {
    let header = |(name, value): &(&str, &str)| {
        (
            (*name).to_owned(),
            Some(Bytes::copy_from_slice(value.as_bytes())),
        )
    };
    let mut raw = Raw {
        headers: headers.iter().map(header).collect(),
        payload: Some(payload.to_owned().into()),
        ..Raw::default()
    };
    raw.origin.partition = Some(0);
    raw
}

#[tokio::test]
async fn a_flush_that_is_late_leaves_the_deliveries_of_the_next_assignment_alone() {
    let gate = Arc::new(Semaphore::new(0));
    let waits = gate.clone();
    let mut run = run(handler_fn(move |_| {
        let waits = waits.clone();
        async move {
            waits.acquire().await.unwrap().forget();
            Ok(Done::new())
        }
    }));
    deliver(&mut run, 0, raw(&[("message-id", "a")], "1")).await;
    run.start();
    let (flushed, mut is_flushed) = oneshot::channel();
    run.lose(Gone {
        partitions: vec![Partition::new("t/0")],
        flushed: Some(flushed),
    });
    assert!(is_flushed.try_recv().is_err(), "its handler runs");

    own(&mut run);
    assert!(matches!(
        run.parts.source.next(MUCH).await,
        Ok(Event::Gone(_))
    ));
    deliver(&mut run, 0, raw(&[("message-id", "a")], "1")).await;
    deliver(&mut run, 1, raw(&[("message-id", "b")], "2")).await;
    run.start();
    gate.add_permits(1);
    end_one(&mut run).await;
    assert!(is_flushed.try_recv().is_ok());
    assert_eq!(run.board.len(), 2, "the new deliveries are open");
    run.start();
    gate.add_permits(2);
    end_one(&mut run).await;
    end_one(&mut run).await;
    assert_eq!(run.board.len(), 0, "each was acknowledged");
    assert_eq!(run.owned[&0].ids.len(), 2, "and is remembered");
}

#[tokio::test]
async fn a_batch_that_has_the_same_id_twice_is_acknowledged() {
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    let mut run = run(handler_fn(move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
        async { Ok(Done::new()) }
    }));
    let event = |id: &str, data: u8| {
        format!(r#"{{"specversion":"1.0","id":"{id}","source":"s","type":"t","data":{data}}}"#)
    };
    let batch = [event("a", 1), event("b", 1), event("a", 1), event("a", 2)].join(",");
    let kind = ("content-type", "application/cloudevents-batch+json");
    deliver(&mut run, 0, raw(&[kind], &format!("[{batch}]"))).await;
    run.start();
    end_one(&mut run).await;
    end_one(&mut run).await;
    run.start();
    assert_eq!(runs.load(Ordering::Relaxed), 2);
    assert_eq!(run.board.len(), 0, "nothing of it waits for itself");
    let published = run.parts.source.published_by_hand();
    assert_eq!(
        published,
        ["dead", "log", "log"],
        "the fourth is a conflict"
    );
}

#[tokio::test]
async fn nothing_begins_of_a_partition_that_was_lost_before_it_is_heard_of() {
    let mut run = run(handler_fn(|_| async { Ok(Done::new()) }));
    deliver(&mut run, 0, raw(&[("message-id", "a")], "1")).await;
    run.parts.source.assign_by_hand(0);
    run.start();
    assert_eq!(run.runs.len(), 0);
    assert!(run.lanes.is_idle());
}

#[tokio::test]
async fn a_broker_that_keeps_messages_for_longer_than_ids_are_remembered_stops_it() {
    let mut run = run(handler_fn(|_| async { Ok(Done::new()) }));
    assert!(run.want().count > 0);
    run.checked(Err(Error::invalid("seven days")));
    assert_eq!(run.want().count, 0);
    run.checked(Err(Error::new(semel_core::Kind::Unavailable, "away")));
    assert_eq!(run.want().count, 0, "no answer is no leave");
    run.checked(Ok(Vec::new()));
    assert!(run.want().count > 0);
}

/// A log that nothing can read yet.
#[tokio::test]
async fn deliveries_are_parked_until_their_log_is_read_and_dropped_with_their_partition() {
    let mut run = run(handler_fn(|_| async { Ok(Done::new()) }));
    run.owned.clear();
    deliver(&mut run, 0, raw(&[("message-id", "a")], "1")).await;
    deliver(&mut run, 1, raw(&[("message-id", "b")], "2")).await;
    assert_eq!((run.loads.len(), run.board.len()), (2, 0));
    let (flushed, is_flushed) = oneshot::channel();
    run.event(Event::Gone(Gone {
        partitions: vec![Partition::new("t/0")],
        flushed: Some(flushed),
    }));
    assert!(is_flushed.await.is_ok(), "nothing runs");
    assert_eq!(run.loads.len(), 0);
}
