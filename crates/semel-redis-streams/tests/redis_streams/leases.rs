//! Leases: extended, ended, given back.

use std::time::Duration;

use semel_inbox::Source;
use semel_inbox::source::{Event, Settle, Settled};
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{nothing_for, settle, take};
use tokio::time::{Instant, sleep, timeout};

use crate::common::{Stream, payloads};

#[tokio::test]
async fn an_extended_delivery_stays_and_an_expired_one_is_gone() {
    let stream = Stream::new().await;
    stream.add(2).await;
    // The first one has so long a term that only the second one takes over.
    let first = stream.source("idle=1h").await;
    let second = stream.source("idle=2s").await;
    let all = take(&first, 2).await;
    for _ in 0..9 {
        sleep(Duration::from_millis(300)).await;
        assert_eq!(
            settle(&first, &all[..1], Settle::Extend).await,
            [Settled::Done]
        );
    }
    let taken = take(&second, 1).await;
    assert_eq!(payloads(&taken), ["1"]);
    assert_eq!(
        settle(&first, &all[1..], Settle::Extend).await,
        [Settled::Gone]
    );
    assert_eq!(
        settle(&first, &all[1..], Settle::Ack).await,
        [Settled::Gone]
    );
    assert_eq!(settle(&second, &taken, Settle::Ack).await, [Settled::Done]);
    // One entry of a settle that fails touches only itself.
    assert_eq!(
        settle(&first, &all, Settle::Ack).await,
        [Settled::Done, Settled::Gone]
    );
    assert_eq!(stream.pending().await, 0);
    stream.delete().await;
}

#[tokio::test]
async fn what_is_given_back_comes_after_the_delay_and_its_handle_is_gone() {
    let stream = Stream::new().await;
    stream.add(2).await;
    let source = stream.source("idle=1h").await;
    let all = take(&source, 2).await;
    let delay = Duration::from_secs(3);
    let began = Instant::now();
    assert_eq!(
        settle(&source, &all[..1], Settle::Back(Duration::ZERO)).await,
        [Settled::Done]
    );
    assert_eq!(
        settle(&source, &all[1..], Settle::Back(delay)).await,
        [Settled::Done]
    );
    let again = take(&source, 1).await;
    assert_eq!(
        (payloads(&again), again[0].raw.deliveries),
        (vec!["0".to_owned()], Some(2))
    );
    assert!(began.elapsed() < delay, "it came before the other");
    assert_eq!(settle(&source, &all, Settle::Ack).await, [Settled::Gone; 2]);
    assert_eq!(payloads(&take(&source, 1).await), ["1"]);
    assert!(began.elapsed() >= delay);
    stream.delete().await;
}

#[tokio::test]
async fn what_waits_in_the_buffer_is_kept_while_it_is_asked_for_and_given_back_otherwise() {
    let stream = Stream::new().await;
    stream.add(20).await;
    let first = stream.source("idle=1s").await;
    let mut all = take(&first, 1).await;
    assert_eq!(settle(&first, &all, Settle::Ack).await, [Settled::Done]);
    // The first one asks for nothing any more, so the second one gets what waits there.
    let second = stream.source("idle=1s").await;
    all.extend(take(&second, 19).await);
    let mut found = payloads(&all);
    found.sort_by_key(|payload| payload.parse::<u32>().unwrap());
    let expected: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    assert_eq!(found, expected);
    stream.delete().await;
}

#[tokio::test]
async fn two_readers_share_and_each_entry_is_taken_once() {
    let stream = Stream::new().await;
    let (first, second) = (stream.source("").await, stream.source("").await);
    stream.add(200).await;
    let mut all = Vec::new();
    let until = Instant::now() + Duration::from_secs(30);
    while all.len() < 200 {
        assert!(Instant::now() < until, "{} of 200 came", all.len());
        for source in [&first, &second] {
            let next = timeout(Duration::from_millis(50), source.next(MUCH)).await;
            if let Ok(Ok(Event::Batch(batch))) = next {
                settle(source, &batch.deliveries, Settle::Ack).await;
                all.extend(payloads(&batch.deliveries));
            }
        }
    }
    all.sort_by_key(|payload| payload.parse::<u32>().unwrap());
    all.dedup();
    assert_eq!(all.len(), 200);
    assert_eq!(stream.pending().await, 0);
    nothing_for(&first, Duration::from_millis(100)).await;
    stream.delete().await;
}
