//! Entries that are deleted or trimmed before they are acknowledged.

use std::time::Duration;

use futures_util::future::join;
use semel_inbox::Source;
use semel_inbox::source::{Settle, Settled};
use semel_testkit::sources::taking::{settle, take};
use tokio::time::{Instant, sleep};

use crate::common::{Stream, payloads};

#[tokio::test]
async fn what_is_trimmed_while_it_waits_in_the_buffer_is_delivered_and_acknowledged() {
    let stream = Stream::new().await;
    stream.add(20).await;
    let source = stream.source("idle=6s").await;
    let mut all = take(&source, 1).await;
    settle(&source, &all, Settle::Ack).await;
    stream.ask("XTRIM", &[&stream.name, "MAXLEN", "0"]).await;
    // One at a time over several heartbeats of the buffer, so that it is wanted and never empty.
    let until = Instant::now() + Duration::from_secs(7);
    while Instant::now() < until {
        sleep(Duration::from_millis(400)).await;
        let one = take(&source, 1).await;
        assert_eq!(settle(&source, &one, Settle::Ack).await, [Settled::Done]);
        all.extend(one);
    }
    all.extend(take(&source, 20 - all.len()).await);
    let expected: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    assert_eq!(payloads(&all), expected);
    let last = &all[19..];
    for _ in 0..2 {
        let extended = settle(&source, last, Settle::Extend).await;
        assert_eq!(extended, [Settled::Done]);
    }
    assert_eq!(settle(&source, last, Settle::Ack).await, [Settled::Done]);
    assert_eq!(settle(&source, last, Settle::Ack).await, [Settled::Gone]);
    let warnings = source.facts().await.unwrap().warnings;
    assert!(
        !warnings.concat().contains("before they were acknowledged"),
        "{warnings:?}"
    );
    stream.delete().await;
}

#[tokio::test]
async fn what_is_trimmed_is_acknowledged_while_it_is_extended() {
    let stream = Stream::new().await;
    stream.add(50).await;
    let source = stream.source("idle=1h").await;
    let all = take(&source, 50).await;
    stream.ask("XTRIM", &[&stream.name, "MAXLEN", "0"]).await;
    for one in all.chunks(1) {
        // Sent after the extension, and looked at before it when both answers are there.
        let acknowledge = async {
            tokio::task::yield_now().await;
            settle(&source, one, Settle::Ack).await
        };
        let extend = settle(&source, one, Settle::Extend);
        let (acknowledged, _) = join(acknowledge, extend).await;
        assert_eq!(acknowledged, [Settled::Done]);
    }
    stream.delete().await;
}

#[tokio::test]
async fn what_is_trimmed_stays_with_its_reader_while_others_look_for_what_is_due() {
    let stream = Stream::new().await;
    stream.add(6).await;
    let source = stream.source("idle=1h").await;
    let all = take(&source, 6).await;
    stream.ask("XTRIM", &[&stream.name, "MAXLEN", "1"]).await;
    let back = settle(&source, &all[5..], Settle::Back(Duration::ZERO)).await;
    assert_eq!(back, [Settled::Done]);
    // A pass over all that is pending finds it, and passes the trimmed ones on its way.
    let again = take(&source, 1).await;
    assert_eq!(payloads(&again), ["5"]);
    assert_eq!(again[0].raw.deliveries, Some(2));
    let acked = settle(&source, &all[..5], Settle::Ack).await;
    assert_eq!(acked, [Settled::Done; 5]);
    assert_eq!(settle(&source, &again, Settle::Ack).await, [Settled::Done]);
    let warnings = source.facts().await.unwrap().warnings;
    assert!(
        !warnings.concat().contains("before they were acknowledged"),
        "{warnings:?}"
    );
    stream.delete().await;
}

#[tokio::test]
async fn what_is_trimmed_and_given_back_is_counted_as_lost() {
    let stream = Stream::new().await;
    stream.add(5).await;
    let source = stream.source("idle=1h").await;
    let all = take(&source, 5).await;
    stream.ask("XTRIM", &[&stream.name, "MAXLEN", "0"]).await;
    let held = settle(&source, &all[..2], Settle::Extend).await;
    assert_eq!(held, [Settled::Done; 2], "their payloads are in memory");
    let back = [all[0].clone(), all[2].clone()];
    let back = settle(&source, &back, Settle::Back(Duration::ZERO)).await;
    assert_eq!(back, [Settled::Gone; 2]);
    let acked = settle(&source, &all[3..4], Settle::Ack).await;
    assert_eq!(acked, [Settled::Done]);
    // Of the others one is known to be deleted, and one is found to be.
    source.close().await.unwrap();
    let warnings = source.facts().await.unwrap().warnings;
    assert!(warnings[0].starts_with("4 entries"), "{warnings:?}");
    assert_eq!(stream.pending().await, 0);
    stream.delete().await;
}
