//! What is delivered, and what is acknowledged.

use std::time::Duration;

use semel_core::Kind;
use semel_inbox::Source;
use semel_inbox::source::{Event, Retained, Settle, Settled, Want};
use semel_redis_streams::RedisStreamsSource;
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{nothing_for, settle, take};

use crate::common::{Stream, coordinates, payloads};

#[tokio::test]
async fn entries_come_in_their_order_and_nothing_is_acked_by_itself() {
    let stream = Stream::new().await;
    stream.add(5).await;
    let source = stream.source("").await;
    let all = take(&source, 5).await;
    assert_eq!(payloads(&all), ["0", "1", "2", "3", "4"]);
    assert_eq!(stream.pending().await, 5);
    // Out of order, and some of them.
    let some = [all[3].clone(), all[1].clone()];
    assert_eq!(
        settle(&source, &some, Settle::Ack).await,
        [Settled::Done; 2]
    );
    assert_eq!(stream.pending().await, 3);
    assert_eq!(
        settle(&source, &some, Settle::Ack).await,
        [Settled::Gone; 2]
    );
    stream.delete().await;
}

#[tokio::test]
async fn fields_keep_their_order_repeats_and_bytes() {
    let mut stream = Stream::new().await;
    let mut add = redis::cmd("XADD");
    add.arg(&stream.name).arg("*");
    add.arg("a")
        .arg(&b"\xff\x00"[..])
        .arg("payload")
        .arg(&b"\x01"[..]);
    add.arg("a").arg("").arg("key").arg("k");
    let _: String = add.query_async(&mut stream.redis).await.unwrap();
    let source = stream.source("").await;
    let raw = take(&source, 1).await.remove(0).raw;
    let value = |at: usize| raw.headers[at].1.as_deref().unwrap();
    assert_eq!(
        (raw.headers.len(), value(0), value(1)),
        (2, &b"\xff\x00"[..], &b""[..])
    );
    assert_eq!(raw.payload.as_deref(), Some(&b"\x01"[..]));
    assert_eq!(raw.key.as_deref(), Some(&b"k"[..]));
    assert_eq!(
        (raw.deliveries, raw.published_at.is_some()),
        (Some(1), true)
    );
    stream.delete().await;
}

#[tokio::test]
async fn count_and_bytes_are_bounds_and_a_dropped_next_loses_nothing() {
    let stream = Stream::new().await;
    let source = stream.source("").await;
    for _ in 0..20 {
        let next = tokio::time::timeout(Duration::from_millis(5), source.next(MUCH)).await;
        assert!(next.is_err(), "{next:?}");
    }
    stream.add(10).await;
    let nothing =
        tokio::time::timeout(Duration::from_millis(300), source.next(Want::NOTHING)).await;
    assert!(nothing.is_err(), "{nothing:?}");
    let three = source.next(Want { count: 3, ..MUCH }).await.unwrap();
    assert!(matches!(three, Event::Batch(batch) if batch.deliveries.len() == 3));
    let one = source.next(Want { count: 5, bytes: 1 }).await.unwrap();
    assert!(matches!(one, Event::Batch(batch) if batch.deliveries.len() == 1));
    assert_eq!(
        payloads(&take(&source, 6).await),
        ["4", "5", "6", "7", "8", "9"]
    );
    stream.delete().await;
}

#[tokio::test]
async fn what_is_not_acked_comes_again_after_a_crash_and_what_is_acked_does_not() {
    let stream = Stream::new().await;
    stream.add(4).await;
    let source = stream.source("idle=500ms").await;
    let all = take(&source, 4).await;
    settle(&source, &all[..2], Settle::Ack).await;
    drop(source);
    let again = stream.source("idle=500ms").await;
    let rest = take(&again, 2).await;
    assert_eq!(payloads(&rest), ["2", "3"]);
    assert_eq!(coordinates(&rest), coordinates(&all[2..]));
    assert_eq!(rest[0].raw.deliveries, Some(2));
    settle(&again, &rest, Settle::Ack).await;
    nothing_for(&again, Duration::from_secs(1)).await;
    stream.delete().await;
}

#[tokio::test]
async fn a_named_reader_has_its_own_entries_again_at_once() {
    let stream = Stream::new().await;
    stream.add(3).await;
    let options = "name=worker-1&idle=1h";
    let source = stream.source(options).await;
    let first = take(&source, 3).await;
    drop(source);
    let again = stream.source(options).await;
    assert_eq!(payloads(&take(&again, 3).await), ["0", "1", "2"]);
    // The deliveries of before are not this one's, although the name is the same.
    assert_eq!(
        settle(&again, &first, Settle::Ack).await,
        [Settled::Gone; 3]
    );
    assert_eq!(stream.pending().await, 3);
    stream.delete().await;
}

#[tokio::test]
async fn close_gives_back_what_was_not_answered_and_forgets_the_reader() {
    let stream = Stream::new().await;
    stream.add(10).await;
    let source = stream.source("idle=1h").await;
    let some = take(&source, 4).await;
    settle(&source, &some[..2], Settle::Ack).await;
    source.close().await.unwrap();
    let again = stream.source("idle=1h").await;
    assert_eq!(payloads(&take(&again, 8).await).len(), 8);
    let consumers = stream
        .ask("XINFO", &["CONSUMERS", &stream.name, "billing"])
        .await;
    let redis::Value::Array(consumers) = consumers else {
        panic!("{consumers:?}")
    };
    assert_eq!(
        consumers.len(),
        2,
        "the returned entries' and the second reader's"
    );
    stream.delete().await;
}

#[tokio::test]
async fn close_leaves_no_read_behind_that_takes_what_comes_later() {
    let stream = Stream::new().await;
    let source = stream.source("idle=1h").await;
    nothing_for(&source, Duration::from_millis(100)).await;
    source.close().await.unwrap();
    stream.add(1).await;
    let again = stream.source("idle=1h").await;
    let next = tokio::time::timeout(Duration::from_secs(10), take(&again, 1)).await;
    assert_eq!(payloads(&next.unwrap()), ["0"]);
    stream.delete().await;
}

#[tokio::test]
async fn a_stream_that_is_not_there_is_refused_unless_it_may_be_made() {
    let stream = Stream::new().await;
    let source = RedisStreamsSource::from_url(&stream.url(""), "billing").unwrap();
    let error = source.open(Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.to_string().contains("create=true"), "{error}");
    stream.ask("SET", &[&stream.name, "x"]).await;
    let error = source.open(Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid, "{error}");
    stream.delete().await;
}

#[tokio::test]
async fn a_new_group_begins_where_the_url_says() {
    let stream = Stream::new().await;
    stream.add(2).await;
    let source = stream.source("from=$").await;
    nothing_for(&source, Duration::from_millis(300)).await;
    stream.add(1).await;
    assert_eq!(payloads(&take(&source, 1).await), ["0"]);
    stream.delete().await;
}

#[tokio::test]
async fn lag_and_trimming_are_known() {
    let stream = Stream::new().await;
    let source = stream.source("idle=300ms").await;
    stream.add(5).await;
    let all = take(&source, 5).await;
    let facts = source.facts().await.unwrap();
    assert_eq!(
        (facts.lag, facts.retained, facts.warnings),
        (Some(0), Some(Retained::Forever), vec![])
    );
    assert_eq!(facts.held, Some(5));
    settle(&source, &all[..3], Settle::Ack).await;
    // Two are trimmed while they are pending: they never come again.
    stream.ask("XTRIM", &[&stream.name, "MAXLEN", "0"]).await;
    nothing_for(&source, Duration::from_secs(1)).await;
    let facts = source.facts().await.unwrap();
    assert_eq!((facts.retained, facts.held), (None, Some(0)));
    assert!(
        facts.warnings[0].starts_with("2 entries were deleted"),
        "{:?}",
        facts.warnings
    );
    assert_eq!(stream.pending().await, 0);
    stream.delete().await;
}

#[tokio::test]
async fn a_stream_that_its_reader_makes_may_be_missing() {
    let stream = Stream::new().await;
    for (options, is_answered) in [("&create=true", true), ("", false)] {
        let url = stream.url(options);
        let source = RedisStreamsSource::from_url(&url, "billing").unwrap();
        let facts = source.facts().await;
        let found = facts.map(|facts| facts.warnings.concat());
        assert_eq!(found.is_ok(), is_answered, "{found:?}");
        assert!(found.map_or(true, |said| said.contains("does not exist yet")));
    }
}
