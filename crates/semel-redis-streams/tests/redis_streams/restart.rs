//! A server of its own that is killed and started again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use semel_inbox::Source;
use semel_inbox::intents::{Outlet, Sent};
use semel_inbox::source::{Settle, Settled};
use semel_redis_streams::RedisStreamsOutlet;
use semel_testkit::server::Server;
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{outgoing, settle, take};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use crate::common::{Stream, payloads};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_and_started_again_is_read_and_written_on() {
    // What it has answered is on the disk.
    let server = spawn_blocking(|| Server::start("redis", &["appendfsync=always"]));
    let server = server.await.unwrap();
    let mut stream = Stream::at(&server.url()).await;
    stream.add(20).await;
    let source = stream.source("idle=1s&timeout=2s").await;
    let outlet = RedisStreamsOutlet::from_url(&stream.url("timeout=2s")).unwrap();
    let before = take(&source, 20).await;
    let done = settle(&source, &before[..12], Settle::Ack).await;
    assert_eq!(done, [Settled::Done; 12]);
    assert!(matches!(
        outlet.send(vec![outgoing("a")]).await[0],
        Sent::Done(_)
    ));

    let server = spawn_blocking(move || {
        server.kill();
        server
    });
    let server = server.await.unwrap();
    // What it had fetched by then is not acknowledged.
    let error = loop {
        let next = timeout(Duration::from_secs(20), source.next(MUCH)).await;
        if let Err(error) = next.unwrap() {
            break error;
        }
    };
    assert!(error.is_retryable(), "{error}");
    let sent = outlet.send(vec![outgoing("b")]).await;
    assert!(
        matches!(sent[0], Sent::NotSent(_) | Sent::Unknown(_)),
        "{sent:?}"
    );
    let server = spawn_blocking(move || {
        server.restart();
        server
    });
    let server = server.await.unwrap();

    stream.again(&server.url()).await;
    stream.add_all(20..25).await;
    let until = Instant::now() + Duration::from_secs(30);
    while !matches!(outlet.send(vec![outgoing("b")]).await[0], Sent::Done(_)) {
        assert!(Instant::now() < until, "the outlet does not come back");
        sleep(Duration::from_millis(100)).await;
    }
    let mut expected: BTreeSet<String> = payloads(&before[12..]).into_iter().collect();
    expected.extend((20..25).map(|number| number.to_string()));
    expected.extend(["a", "b"].map(str::to_owned));
    let (mut seen, until) = (BTreeSet::new(), Instant::now() + Duration::from_secs(30));
    while !seen.is_superset(&expected) {
        assert!(Instant::now() < until, "{seen:?} of {expected:?}");
        let found = take(&source, 1).await;
        settle(&source, &found, Settle::Ack).await;
        seen.extend(payloads(&found));
    }
    assert_eq!(seen, expected, "what was acknowledged does not come again");
    assert_eq!(stream.pending().await, 0);
    drop((source, outlet, stream));
    spawn_blocking(move || drop(server)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stands_still_is_read_on_when_it_goes_on() {
    let server = spawn_blocking(|| Server::start("redis", &[]));
    let server = Arc::new(server.await.unwrap());
    let stream = Stream::at(&server.url()).await;
    stream.add(20).await;
    let source = stream.source("idle=2s&timeout=1s").await;
    let before = take(&source, 20).await;
    let done = settle(&source, &before[..12], Settle::Ack).await;
    assert_eq!(done, [Settled::Done; 12]);
    let paused = server.clone();
    spawn_blocking(move || paused.pause()).await.unwrap();
    let items = vec![(before[12].handle.clone(), Settle::Ack)];
    let error = source.settle(items).await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
    let next = timeout(Duration::from_secs(20), source.next(MUCH)).await;
    let error = next.unwrap().unwrap_err();
    assert!(error.is_retryable(), "{error}");
    let paused = server.clone();
    spawn_blocking(move || paused.resume()).await.unwrap();

    stream.add_all(20..25).await;
    // Of the one that was acknowledged without an answer either is right.
    let mut expected: BTreeSet<String> = payloads(&before[13..]).into_iter().collect();
    expected.extend((20..25).map(|number| number.to_string()));
    let (mut seen, until) = (BTreeSet::new(), Instant::now() + Duration::from_secs(30));
    while !seen.is_superset(&expected) {
        assert!(Instant::now() < until, "{seen:?} of {expected:?}");
        let found = take(&source, 1).await;
        settle(&source, &found, Settle::Ack).await;
        seen.extend(payloads(&found));
    }
    let acked: BTreeSet<String> = payloads(&before[..12]).into_iter().collect();
    assert!(seen.is_disjoint(&acked), "{seen:?}");
    drop((source, stream));
    spawn_blocking(move || drop(server)).await.unwrap();
}
