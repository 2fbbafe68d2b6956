//! What is delivered, and how much of it.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use semel_inbox::source::{Delivery, HeaderField, Settle, Want};
use tokio::time::timeout;

use super::reader::{MUCH, id, ids};
use super::{Ability, Published, Subject};

/// A message comes with its payload, its headers and its id.
pub async fn a_message_is_delivered_as_it_was_published(s: Subject) {
    let mut published = Published::new("m-1");
    published.headers.push(field("x-trace", "7"));
    published.payload = Some(Bytes::from_static("{\"n\": 1.10, \"é\": null}".as_bytes()));
    s.broker.publish(vec![published.clone()]).await;
    let mut reader = s.reader().await;
    let found = reader.take(1).await;
    let raw = &found[0].raw;
    assert_eq!(id(&found[0]), "m-1");
    assert_eq!(raw.payload, published.payload);
    assert!(
        raw.headers.contains(&field("x-trace", "7")),
        "{:?}",
        raw.headers
    );
    assert!(!raw.origin.topic.is_empty(), "it says where it came from");
    assert_ne!(raw.deliveries.unwrap_or(1), 0);
    reader.close().await;
}

/// Headers repeat in their order, and their values are any bytes.
pub async fn headers_repeat_and_are_bytes(s: Subject) {
    if !s.can(Ability::RepeatedHeaders) {
        return;
    }
    let mut published = Published::new("m-1");
    let repeated = vec![
        field("x-a", "1"),
        ("x-a".to_owned(), Some(Bytes::from_static(&[0xff, 0x00]))),
        field("x-a", ""),
    ];
    published.headers.extend(repeated.clone());
    s.broker.publish(vec![published]).await;
    let mut reader = s.reader().await;
    let found = reader.take(1).await;
    let own = found[0].raw.headers.iter();
    let own: Vec<HeaderField> = own.filter(|(name, _)| name == "x-a").cloned().collect();
    assert_eq!(own, repeated);
    reader.close().await;
}

/// A header without a value is kept as such.
pub async fn a_header_without_a_value_is_not_an_empty_one(s: Subject) {
    if !s.can(Ability::NullHeaders) {
        return;
    }
    let mut published = Published::new("m-1");
    published.headers = vec![("x-null".to_owned(), None), field("x-empty", "")];
    s.broker.publish(vec![published.clone()]).await;
    let mut reader = s.reader().await;
    let found = reader.take(1).await;
    for header in &published.headers {
        assert!(found[0].raw.headers.contains(header), "{header:?}");
    }
    reader.close().await;
}

/// A message without a payload is another one than a message with an empty payload.
pub async fn no_payload_is_not_an_empty_one(s: Subject) {
    if !s.can(Ability::NullPayloads) {
        return;
    }
    let mut null = Published::new("null");
    (null.key, null.payload) = (Some(Bytes::from_static(b"k")), None);
    let mut empty = Published::new("empty");
    (empty.key, empty.payload) = (null.key.clone(), Some(Bytes::new()));
    s.broker.publish(vec![null, empty]).await;
    let mut reader = s.reader().await;
    let found = reader.take(2).await;
    let payload = |wanted: &str| {
        let found = found.iter().find(|delivery| id(delivery) == wanted);
        found.expect("both come").raw.payload.clone()
    };
    assert_eq!(
        (payload("null"), payload("empty")),
        (None, Some(Bytes::new()))
    );
    reader.close().await;
}

/// A key of any bytes comes back.
pub async fn a_key_is_bytes(s: Subject) {
    if !s.can(Ability::BinaryKeys) {
        return;
    }
    let key = Some(Bytes::from_static(&[0, 0xff, b'k']));
    let mut published = Published::new("m-1");
    published.key = key.clone();
    s.broker.publish(vec![published]).await;
    let mut reader = s.reader().await;
    let found = reader.take(1).await;
    assert_eq!(found[0].raw.key, key);
    reader.close().await;
}

/// What was published under one key comes in the order in which it was published.
pub async fn messages_of_one_key_come_in_their_order(s: Subject) {
    if !s.can(Ability::Order) {
        return;
    }
    let keyed = |n: usize| {
        let mut message = Published::new(&format!("m-{n:03}"));
        message.key = Some(Bytes::from(format!("key-{}", n % 3)));
        message
    };
    s.broker.publish((0..60).map(keyed).collect()).await;
    let mut reader = s.reader().await;
    let mut found: Vec<(usize, usize)> = Vec::new();
    while found.len() < 60 {
        let more = reader.take(1).await;
        for delivery in &more {
            let number: usize = id(delivery)[2..].parse().expect("a number");
            found.push((number % 3, number));
        }
        reader.settle(&more, Settle::Ack).await;
    }
    for key in 0..3 {
        let own = found.iter().filter(|(of, _)| *of == key);
        assert!(
            own.is_sorted_by_key(|(_, number)| number),
            "key {key}: {found:?}"
        );
    }
    reader.close().await;
}

/// No more come at once than are wanted.
pub async fn a_batch_is_bounded_by_count(s: Subject) {
    let published = s.publish_many(40).await;
    let mut reader = s.reader().await;
    let mut all = Vec::new();
    while all.len() < published.len() {
        let want = Want { count: 7, ..MUCH };
        let found = reader.next_within(want, Duration::from_secs(20)).await;
        assert!(
            (1..=7).contains(&found.len()),
            "1 to 7 expected, found {}",
            found.len()
        );
        reader.settle(&found, Settle::Ack).await;
        all.extend(ids(&found));
    }
    all.sort_unstable();
    assert_eq!(all, published);
    reader.close().await;
}

/// No more bytes come at once than are wanted, unless a single message has more.
pub async fn a_batch_is_bounded_by_bytes(s: Subject) {
    let large = |n: usize| {
        let mut message = Published::new(&format!("m-{n}"));
        message.payload = Some(Bytes::from(vec![b'x'; 10_000]));
        message
    };
    s.broker.publish((0..12).map(large).collect()).await;
    let mut reader = s.reader().await;
    let mut seen = HashSet::new();
    while seen.len() < 12 {
        let want = Want {
            count: 100,
            bytes: if seen.is_empty() { 1 } else { 25_000 },
        };
        let found = reader.next_within(want, Duration::from_secs(20)).await;
        let most = if seen.is_empty() { 1 } else { 2 };
        assert!((1..=most).contains(&found.len()), "{} at once", found.len());
        reader.settle(&found, Settle::Ack).await;
        seen.extend(ids(&found));
    }
    reader.close().await;
}

/// A want of nothing brings no delivery, and what waits comes when it is wanted.
pub async fn who_wants_nothing_gets_nothing(s: Subject) {
    s.publish(&["a", "b"]).await;
    let mut reader = s.reader().await;
    let found = reader
        .next_within(Want::NOTHING, Duration::from_secs(2))
        .await;
    assert!(found.is_empty());
    let found = reader.take(2).await;
    assert_eq!(ids(&found), ["a", "b"]);
    reader.close().await;
}

/// A call that is dropped in the middle takes nothing with it.
pub async fn a_cancelled_next_loses_nothing(s: Subject) {
    let mut reader = s.reader().await;
    let mut published = Vec::new();
    let mut all: Vec<Delivery> = Vec::new();
    for turn in 0_u64..30 {
        let id = format!("m-{turn:02}");
        s.publish(&[&id]).await;
        published.push(id);
        let time = Duration::from_micros(turn * turn * 50);
        if let Ok(Ok(semel_inbox::source::Event::Batch(batch))) =
            timeout(time, reader.source.next(MUCH)).await
        {
            // At once, because a slow machine may outlive the broker's patience otherwise.
            reader.settle(&batch.deliveries, Settle::Ack).await;
            all.extend(batch.deliveries);
        }
    }
    while all.len() < published.len() {
        let found = reader.take(1).await;
        reader.settle(&found, Settle::Ack).await;
        all.extend(found);
    }
    assert_eq!(ids(&all), published, "each comes once");
    let again = all.iter().filter(|d| d.raw.deliveries.unwrap_or(1) > 1);
    assert_eq!(
        again.count(),
        0,
        "the broker had to deliver what a call had lost"
    );
    reader.close().await;
}

/// No two messages share coordinates, not even those of a topic that was deleted and made anew.
pub async fn coordinates_are_unique_and_a_topic_made_anew_has_others(s: Subject) {
    if !s.can(Ability::Coordinates) {
        return;
    }
    let mut seen = HashSet::new();
    for turn in 0..2 {
        let published = s.publish_many(5).await;
        let mut reader = s.reader().await;
        let found = reader.take(5).await;
        assert_eq!(ids(&found), published);
        for delivery in &found {
            let coordinates = delivery.raw.coordinates.clone();
            let coordinates = coordinates.expect("the broker has coordinates");
            assert!(seen.insert(coordinates.clone()), "{coordinates} twice");
        }
        reader.settle(&found, Settle::Ack).await;
        reader.close().await;
        if turn == 0 {
            s.broker.recreate().await;
        }
    }
}

fn field(name: &str, value: &str) -> HeaderField {
    (name.to_owned(), Some(Bytes::from(value.to_owned())))
}
