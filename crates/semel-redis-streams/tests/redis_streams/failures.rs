//! Lost groups, cut connections.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use semel_inbox::Source;
use semel_inbox::intents::{Outgoing, Outlet, Sent};
use semel_inbox::source::{Event, Settle, Settled, Want};
use semel_redis_streams::{RedisStreamsOutlet, RedisStreamsSource};
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{settle, take};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::common::{Stream, coordinates, payloads};

#[tokio::test]
async fn a_recreated_stream_has_other_coordinates_and_the_old_deliveries_are_gone() {
    let stream = Stream::new().await;
    let add = async |payload: &str| {
        stream
            .ask("XADD", &[&stream.name, "7-1", "payload", payload])
            .await;
    };
    add("old").await;
    let source = stream.source("idle=1s").await;
    let old = take(&source, 1).await;
    stream.delete().await;
    add("new").await;
    let gone = timeout(Duration::from_secs(5), source.next(Want::NOTHING))
        .await
        .unwrap();
    assert!(matches!(gone, Ok(Event::Gone(gone)) if gone.partitions == [old[0].partition.clone()]));
    let new = take(&source, 1).await;
    assert_eq!(payloads(&new), ["new"]);
    assert_ne!(coordinates(&new), coordinates(&old));
    assert_eq!(settle(&source, &old, Settle::Ack).await, [Settled::Gone]);
    assert_eq!(
        stream.pending().await,
        1,
        "the old acknowledgement did not reach the new entry of the same id"
    );
    assert_eq!(settle(&source, &new, Settle::Ack).await, [Settled::Done]);
    stream.delete().await;
}

#[tokio::test]
async fn what_a_waiting_read_gets_of_a_stream_that_was_made_anew_has_other_coordinates() {
    let stream = Stream::new().await;
    stream
        .ask("XADD", &[&stream.name, "7-1", "payload", "old"])
        .await;
    let source = stream.source("idle=1s").await;
    let old = take(&source, 1).await;
    assert_eq!(settle(&source, &old, Settle::Ack).await, [Settled::Done]);
    // In one step, as another process would between two reads: the read that waits at the server is served from the new group.
    let anew = "redis.call('DEL', KEYS[1])
        redis.call('XADD', KEYS[1], '7-1', 'payload', 'new')
        redis.call('XGROUP', 'CREATE', KEYS[1], 'billing', '0')
        redis.call('XGROUP', 'CREATECONSUMER', KEYS[1], 'billing', 'semel-returned-new')";
    let ((), new) = tokio::join!(
        async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            stream.ask("EVAL", &[anew, "1", &stream.name]).await;
        },
        take(&source, 1)
    );
    assert_eq!(payloads(&new), ["new"]);
    assert_ne!(coordinates(&new), coordinates(&old));
    assert_eq!(settle(&source, &new, Settle::Ack).await, [Settled::Done]);
    stream.delete().await;
}

/// A way to the server that can be cut.
struct Cut {
    address: String,
    /// How many connections were asked for.
    asked: Arc<AtomicUsize>,
    cut: Arc<Notify>,
    is_closed: Arc<AtomicBool>,
}

impl Cut {
    async fn new(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (cut, is_closed) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let asked = Arc::new(AtomicUsize::new(0));
        let way = Self {
            address,
            asked: asked.clone(),
            cut: cut.clone(),
            is_closed: is_closed.clone(),
        };
        let server = server.to_owned();
        tokio::spawn(async move {
            while let Ok((mut inner, _)) = listener.accept().await {
                asked.fetch_add(1, Ordering::SeqCst);
                if is_closed.load(Ordering::SeqCst) {
                    continue;
                }
                let (server, cut) = (server.clone(), cut.clone());
                tokio::spawn(async move {
                    let mut outer = TcpStream::connect(server).await.unwrap();
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut inner, &mut outer) => {}
                        () = cut.notified() => {}
                    }
                });
            }
        });
        way
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        self.cut.notify_waiters();
    }

    fn open(&self) {
        self.is_closed.store(false, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn a_cut_connection_is_survived() {
    let stream = Stream::new().await;
    let way = Cut::new(stream.server()).await;
    let url = stream.url_at(&way.address, "create=true&idle=1s");
    let source = RedisStreamsSource::from_url(&url, "billing").unwrap();
    source.open(Vec::new()).await.unwrap();
    stream.add(2).await;
    let before = take(&source, 2).await;
    way.close();
    let error = timeout(Duration::from_secs(5), source.next(MUCH))
        .await
        .unwrap();
    assert!(error.is_err_and(|error| error.is_retryable()));
    let items = vec![(before[0].handle.clone(), Settle::Ack)];
    assert!(
        source
            .settle(items)
            .await
            .is_err_and(|error| error.is_retryable())
    );
    stream.add(3).await;
    way.open();
    let after = take(&source, 3).await;
    assert_eq!(settle(&source, &before[..1], Settle::Ack).await.len(), 1);
    settle(&source, &after, Settle::Ack).await;
    stream.delete().await;
}

#[tokio::test]
async fn a_server_that_is_away_is_asked_with_pauses() {
    let stream = Stream::new().await;
    let way = Cut::new(stream.server()).await;
    let url = stream.url_at(&way.address, "create=true&idle=1h");
    let source = RedisStreamsSource::from_url(&url, "billing").unwrap();
    source.open(Vec::new()).await.unwrap();
    stream.add(1).await;
    let all = take(&source, 1).await;
    let delay = Settle::Back(Duration::from_millis(200));
    assert_eq!(settle(&source, &all, delay).await, [Settled::Done]);
    way.close();
    let before = way.asked.load(Ordering::SeqCst);
    // What was given back is due all the time, and cannot be had.
    let until = tokio::time::Instant::now() + Duration::from_secs(2);
    while let Ok(next) = tokio::time::timeout_at(until, source.next(MUCH)).await {
        assert!(next.is_err_and(|error| error.is_retryable()));
    }
    let asked = way.asked.load(Ordering::SeqCst) - before;
    assert!(asked < 40, "{asked} connections in two seconds");
    way.open();
    assert_eq!(payloads(&take(&source, 1).await), ["0"]);
    stream.delete().await;
}

#[tokio::test]
async fn an_outlet_knows_what_was_not_sent_and_connects_again() {
    let stream = Stream::new().await;
    let way = Cut::new(stream.server()).await;
    let outlet = RedisStreamsOutlet::from_url(&stream.url_at(&way.address, "timeout=1s")).unwrap();
    let message = || Outgoing {
        id: "i-1".to_owned(),
        key: None,
        kind: None,
        headers: Vec::new(),
        payload: None,
    };
    assert!(matches!(
        outlet.send(vec![message()]).await[..],
        [Sent::Done(_)]
    ));
    way.close();
    // The connection was used a moment ago, so whether the message went out cannot be known.
    assert!(matches!(
        outlet.send(vec![message()]).await[..],
        [Sent::Unknown(_)]
    ));
    assert!(matches!(
        outlet.send(vec![message()]).await[..],
        [Sent::NotSent(_)]
    ));
    way.open();
    assert!(matches!(
        outlet.send(vec![message()]).await[..],
        [Sent::Done(_)]
    ));
    stream.delete().await;
}
