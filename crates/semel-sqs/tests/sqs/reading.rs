//! What is delivered, deleted, extended and given back.

use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName;
use semel_core::Kind;
use semel_inbox::Source;
use semel_inbox::source::{Event, Settle, Settled, Want};
use semel_sqs::SqsSource;
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{nothing_for, settle, take};
use tokio::time::sleep;

use crate::common::{Queue, numbers};

#[tokio::test]
async fn what_is_deleted_does_not_come_again_and_the_rest_does_after_a_crash() {
    let queue = Queue::new().await;
    queue.add(25).await;
    let source = queue.source("visibility=3s").await;
    let all = take(&source, 25).await;
    assert_eq!(numbers(&all), (0..25).collect::<Vec<_>>());
    // Out of order, and not all.
    let some: Vec<_> = all.iter().rev().take(21).cloned().collect();
    assert_eq!(
        settle(&source, &some, Settle::Ack).await,
        [Settled::Done; 21]
    );
    drop(source);
    let again = queue.source("visibility=30s").await;
    let rest = take(&again, 4).await;
    assert_eq!(numbers(&rest), numbers(&all[..4]));
    let mut before: Vec<_> = all[..4].iter().map(|d| d.raw.coordinates.clone()).collect();
    let mut after: Vec<_> = rest.iter().map(|d| d.raw.coordinates.clone()).collect();
    before.sort();
    after.sort();
    assert_eq!(before, after);
    assert!(
        rest.iter()
            .all(|d| d.raw.deliveries.is_some_and(|count| count >= 2))
    );
    settle(&again, &rest, Settle::Ack).await;
    nothing_for(&again, Duration::from_secs(2)).await;
    queue.delete().await;
}

#[tokio::test]
async fn a_message_of_a_standard_queue_has_no_id_but_its_producers() {
    let queue = Queue::new().await;
    queue.add(1).await;
    let source = queue.source("").await;
    let raw = take(&source, 1).await.remove(0).raw;
    assert_eq!(raw.id, None);
    assert_eq!(raw.headers, [("message-id".to_owned(), Some("m-0".into()))]);
    assert!(
        raw.coordinates
            .is_some_and(|place| place.starts_with("arn:aws:sqs:"))
    );
    assert_eq!(
        (raw.deliveries, raw.published_at.is_some()),
        (Some(1), true)
    );
    queue.delete().await;
}

#[tokio::test]
async fn count_and_bytes_are_bounds_and_a_dropped_next_loses_nothing() {
    let queue = Queue::new().await;
    let source = queue.source("").await;
    for _ in 0..20 {
        let next = tokio::time::timeout(Duration::from_millis(5), source.next(MUCH)).await;
        assert!(next.is_err(), "{next:?}");
    }
    queue.add(10).await;
    let nothing =
        tokio::time::timeout(Duration::from_millis(1500), source.next(Want::NOTHING)).await;
    assert!(nothing.is_err(), "{nothing:?}");
    let one = source.next(Want { count: 5, bytes: 1 }).await.unwrap();
    let Event::Batch(one) = one else {
        panic!("{one:?}")
    };
    assert_eq!(one.deliveries.len(), 1);
    let mut all = one.deliveries;
    all.extend(take(&source, 3).await);
    all.extend(take(&source, 6).await);
    assert_eq!(numbers(&all), (0..10).collect::<Vec<_>>());
    queue.delete().await;
}

#[tokio::test]
async fn an_extended_delivery_stays_and_an_expired_one_comes_again() {
    let queue = Queue::new().await;
    queue.add(2).await;
    let source = queue.source("visibility=4s").await;
    let all = take(&source, 2).await;
    for _ in 0..6 {
        sleep(Duration::from_secs(1)).await;
        assert_eq!(
            settle(&source, &all[..1], Settle::Extend).await,
            [Settled::Done]
        );
    }
    let again = take(&source, 1).await;
    assert_eq!(numbers(&again), numbers(&all[1..]));
    assert_eq!(settle(&source, &again, Settle::Ack).await, [Settled::Done]);
    assert_eq!(
        settle(&source, &all[..1], Settle::Ack).await,
        [Settled::Done]
    );
    nothing_for(&source, Duration::from_secs(3)).await;
    queue.delete().await;
}

#[tokio::test]
async fn what_is_given_back_comes_at_once_or_after_the_delay() {
    let queue = Queue::new().await;
    queue.add(2).await;
    let source = queue.source("visibility=1h").await;
    let all = take(&source, 2).await;
    settle(&source, &all[..1], Settle::Back(Duration::ZERO)).await;
    settle(
        &source,
        &all[1..],
        Settle::Back(Duration::from_millis(2500)),
    )
    .await;
    assert_eq!(numbers(&take(&source, 1).await), numbers(&all[..1]));
    nothing_for(&source, Duration::from_millis(500)).await;
    assert_eq!(numbers(&take(&source, 1).await), numbers(&all[1..]));
    queue.delete().await;
}

#[tokio::test]
async fn close_gives_back_what_was_not_taken() {
    let queue = Queue::new().await;
    queue.add(30).await;
    let source = queue.source("visibility=1h").await;
    let some = take(&source, 1).await;
    settle(&source, &some, Settle::Ack).await;
    sleep(Duration::from_secs(2)).await;
    source.close().await.unwrap();
    let again = queue.source("").await;
    let mut all = numbers(&take(&again, 29).await);
    all.extend(numbers(&some));
    all.sort_unstable();
    assert_eq!(all, (0..30).collect::<Vec<_>>());
    queue.delete().await;
}

#[tokio::test]
async fn what_waits_in_the_buffer_is_kept_while_it_is_asked_for_and_given_back_otherwise() {
    let queue = Queue::new().await;
    queue.add(10).await;
    let source = queue.source("visibility=2s").await;
    let mut all = take(&source, 1).await;
    settle(&source, &all, Settle::Ack).await;
    // The first one asks for nothing any more, so the second one gets what waits there.
    let second = queue.source("visibility=1h").await;
    all.extend(take(&second, 9).await);
    assert_eq!(numbers(&all), (0..10).collect::<Vec<_>>());
    queue.delete().await;
}

#[tokio::test]
async fn redrive_policy_and_lag_are_known() {
    let dead = Queue::new().await;
    let policy = format!(
        r#"{{"deadLetterTargetArn":"arn:aws:sqs:elasticmq:000000000000:{}","maxReceiveCount":"5"}}"#,
        dead.name
    );
    let attributes = [(QueueAttributeName::RedrivePolicy, policy.as_str())];
    let queue = Queue::with("", &attributes).await;
    queue.add(3).await;
    let source = queue.source("").await;
    let facts = source.facts().await.unwrap();
    assert_eq!((facts.lag, facts.held), (Some(3), Some(0)));
    let open = take(&source, 3).await;
    let now = source.facts().await.unwrap();
    assert_eq!((now.lag, now.held), (Some(0), Some(3)));
    settle(&source, &open, Settle::Ack).await;
    let now = source.facts().await.unwrap();
    assert_eq!((now.lag, now.held), (Some(0), Some(0)));
    let limit = facts.delivery_limit.unwrap();
    assert_eq!(
        (limit.count, limit.dead_letters),
        (5, Some(dead.name.clone()))
    );
    queue.delete().await;
    dead.delete().await;
}

#[tokio::test]
async fn a_queue_that_is_not_there_is_refused_and_a_server_that_is_away_passes() {
    let queue = Queue::new().await;
    queue.delete().await;
    let source = SqsSource::from_url(&queue.url(""), "billing").unwrap();
    let error = source.open(Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid, "{error}");
    let away = queue.url_at("http://127.0.0.1:1", "");
    let source = SqsSource::from_url(&away, "billing").unwrap();
    let error = source.open(Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable, "{error}");
}
