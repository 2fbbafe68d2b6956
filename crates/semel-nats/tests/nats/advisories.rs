//! A stream of advisories is a dead letter queue.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::{AckKind, stream};
use futures_util::StreamExt;
use semel_inbox::Source;
use semel_inbox::source::{Settle, Settled};
use semel_nats::NatsSource;
use semel_testkit::sources::taking::{ids, settle, take};
use tokio::time::{Instant, sleep};

use crate::world::World;

/// Delivers all messages of a stream as often as its consumer may, which is once; `count` advisories are there then.
async fn give_up(world: &World, advisories: &World, count: u64) {
    let stream = world.context.get_stream(&world.stream).await.unwrap();
    let config = pull::Config {
        durable_name: Some("weary".to_owned()),
        ack_policy: AckPolicy::Explicit,
        max_deliver: 1,
        ..pull::Config::default()
    };
    let weary: PullConsumer = stream.create_consumer(config).await.unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let fetch = weary.fetch().max_messages(10);
        let mut found = fetch
            .expires(Duration::from_secs(1))
            .messages()
            .await
            .unwrap();
        while let Some(message) = found.next().await {
            message.unwrap().ack_with(AckKind::Nak(None)).await.unwrap();
        }
        let caught = advisories.context.get_stream(&advisories.stream).await;
        if caught.unwrap().cached_info().state.messages == count {
            return;
        }
        assert!(Instant::now() < until, "the server gives nothing up");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn an_advisory_stands_for_its_message_and_for_itself_if_that_is_gone() {
    let world = World::new().await;
    let subject = "$JS.EVENT.ADVISORY.CONSUMER.MAX_DELIVERIES";
    let subjects = vec![format!("{subject}.{}.>", world.stream)];
    let advisories = World::with(|config: &mut stream::Config| config.subjects = subjects).await;
    world.publish(&["a", "b", "c"]).await;
    give_up(&world, &advisories, 3).await;
    let stream = world.context.get_stream(&world.stream).await.unwrap();
    stream.delete_message(2).await.unwrap();

    let source = advisories.open("advisories=true").await;
    let found = take(&source, 3).await;
    let direct = take(&world.open("").await, 2).await;
    let mut given: Vec<_> = found
        .iter()
        .filter(|d| d.raw.unreadable.is_none())
        .collect();
    assert_eq!(given.len(), 2);
    given.sort_by_key(|delivery| delivery.raw.origin.offset);
    for (given, direct) in given.iter().zip(&direct) {
        let (given, direct) = (&given.raw, &direct.raw);
        assert_eq!((&given.id, &given.headers), (&direct.id, &direct.headers));
        assert_eq!(given.payload, direct.payload);
        assert_eq!(given.coordinates, direct.coordinates);
        assert_eq!(given.published_at, direct.published_at);
    }
    assert_eq!(ids(&direct), ["a", "c"]);
    let gone = found.iter().find(|d| d.raw.unreadable.is_some()).unwrap();
    let why = gone.raw.unreadable.as_deref().unwrap();
    assert!(why.contains("no message 2 any more"), "{why}");
    let payload = String::from_utf8_lossy(gone.raw.payload.as_ref().unwrap());
    assert!(payload.contains("\"stream_seq\":2"), "{payload}");
    let settled = settle(&source, &found, Settle::Ack).await;
    assert_eq!(settled, [Settled::Done; 3]);
    assert_eq!(source.facts().await.unwrap().lag, Some(0));
    world.end().await;
    advisories.end().await;
}

#[tokio::test]
async fn what_is_no_advisory_is_unreadable_and_a_stream_that_is_gone_has_no_messages() {
    let world = World::new().await;
    world.publish(&["a"]).await;
    let text = format!(r#"{{"stream":"{}-gone","stream_seq":1}}"#, world.stream);
    let sent = world.context.publish(world.subject("b"), text.into()).await;
    sent.unwrap().await.unwrap();
    let source = NatsSource::from_url(&world.url("advisories=true"), "reader").unwrap();
    source.open(Vec::new()).await.unwrap();
    let found = take(&source, 2).await;
    let why = |at: usize| found[at].raw.unreadable.clone().unwrap();
    assert!(why(0).contains("no advisory"), "{}", why(0));
    assert!(why(1).contains("does not exist"), "{}", why(1));
    assert_eq!(found[0].raw.payload.as_deref(), Some(&b"a"[..]));
    world.end().await;
}
