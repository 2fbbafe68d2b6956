//! A consumer without a database: its processed ids are in a compacted topic.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_core::Retention;
use semel_inbox::intents::Draft;
use semel_inbox::policy::retry::Backoff;
use semel_inbox::source::Delivery;
use semel_inbox::{Consumer, Done, Failure, Handler, Retry, handler_fn};
use semel_kafka::ProcessedLog;
use semel_kafka::processed::RunningLog;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use crate::support::{Message, Topic, broker, id, until, until_within};

/// The broker keeps messages for less time than ids are remembered, as it must.
const KEPT: (&str, &str) = ("retention.ms", "60000");
const COMPACTED: (&str, &str) = ("cleanup.policy", "compact");
/// The variable that names the topics to the processes that the last test starts.
const MEMBER: &str = "SEMEL_KAFKA_PROCESSED";
const MESSAGES: usize = 3_000;
const KILLS: usize = 5;

/// The topics of one consumer.
struct World {
    source: Topic,
    log: Topic,
    dead: Topic,
    out: Topic,
}

impl World {
    async fn new(partitions: i32) -> Self {
        Self {
            source: Topic::with(partitions, &[KEPT]).await,
            log: Topic::with(partitions, &[COMPACTED]).await,
            dead: Topic::new(1).await,
            out: Topic::new(1).await,
        }
    }

    fn start(&self, keep: Duration, handler: impl Handler) -> RunningLog {
        let names = [&self.source, &self.log, &self.dead, &self.out].map(|topic| &*topic.name);
        start(names, keep, handler)
    }

    /// Publishes messages with these ids; equal ids have equal payloads and keys.
    fn publish<'a>(&self, ids: impl IntoIterator<Item = &'a str>) {
        let message = |id: &str| Message {
            key: Some(id.into()),
            headers: vec![("message-id".to_owned(), Some(id.to_owned().into()))],
            payload: Some(format!("\"{id}\"").into_bytes()),
            ..Message::default()
        };
        let messages: Vec<Message> = ids.into_iter().map(message).collect();
        self.source.publish(&messages);
    }

    /// Waits until everything that was published is committed.
    async fn committed(&self, count: usize) {
        let count = i64::try_from(count).unwrap();
        until("all is committed", || {
            let committed = self.source.committed();
            committed.into_iter().flatten().sum::<i64>() >= count
        })
        .await;
    }
}

fn start([source, log, dead, out]: [&str; 4], keep: Duration, handler: impl Handler) -> RunningLog {
    let mut consumer = Consumer::new("notifier".parse().unwrap());
    consumer.plan.retention = Retention::delete_after(keep).unwrap();
    let backoff = Backoff {
        first: Duration::from_millis(10),
        max: Duration::from_millis(20),
        ..Backoff::default()
    };
    consumer.retry = Retry::new(3, backoff).unwrap();
    let url = format!("kafka://{}/{source}?group={source}&session=6s", broker());
    let log = ProcessedLog::new(&url, log, dead, consumer).unwrap();
    log.target("out", out).start(Arc::new(handler)).unwrap()
}

const HOUR: Duration = Duration::from_secs(60 * 60);

/// How often each id ran.
type Effects = Arc<Mutex<BTreeMap<String, usize>>>;

fn counting(effects: &Effects) -> impl Handler + use<> {
    let effects = effects.clone();
    handler_fn(move |ctx| {
        let id = ctx.message().identity().key().as_str().to_owned();
        *effects.lock().unwrap().entry(id).or_default() += 1;
        async { Ok(Done::new()) }
    })
}

fn ran(effects: &Effects) -> usize {
    effects.lock().unwrap().values().sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_run_once_also_after_a_restart_and_ids_are_read_back_first() {
    let (world, effects) = (World::new(2).await, Effects::default());
    let running = world.start(HOUR, counting(&effects));
    world.publish(["a", "b", "a", "c", "a", "b"]);
    world.committed(6).await;
    assert_eq!(ran(&effects), 3);
    running.shutdown().await;

    world.publish(["a", "c", "d"]);
    let running = world.start(HOUR, counting(&effects));
    world.committed(9).await;
    running.shutdown().await;
    let expected = ["a", "b", "c", "d"].map(|id| (id.to_owned(), 1));
    assert_eq!(*effects.lock().unwrap(), BTreeMap::from(expected));
    let log = world.log.reader("").await;
    let texts = log.take(4).await;
    let texts = texts.iter().map(text);
    assert!(
        texts.clone().all(|text| text.contains(" done ")),
        "{:?}",
        texts.collect::<Vec<_>>()
    );
    log.close().await;
}

fn text(delivery: &Delivery) -> String {
    let payload = delivery.raw.payload.as_deref().unwrap_or_default();
    String::from_utf8_lossy(payload).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_for_good_is_a_dead_letter_once_and_what_passes_is_tried_again() {
    let world = World::new(1).await;
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let running = world.start(
        HOUR,
        handler_fn(move |ctx| {
            let id = ctx.message().identity().key().as_str().to_owned();
            let tries = match id.as_str() {
                "passing" => counted.fetch_add(1, Ordering::Relaxed),
                _ => 0,
            };
            async move {
                match id.as_str() {
                    "passing" if tries < 2 => Err(Failure::retryable("not yet")),
                    "never" => Err(Failure::retryable("busy")),
                    "bad" => Err(Failure::terminal("no such order")),
                    _ => Ok(Done::new()),
                }
            }
        }),
    );
    world.publish(["passing", "never", "bad", "good", "bad"]);
    let other = Message {
        key: Some(b"good".to_vec()),
        headers: vec![("message-id".to_owned(), Some("good".into()))],
        payload: Some(b"\"something else\"".to_vec()),
        ..Message::default()
    };
    let nameless = Message {
        payload: Some(b"\xff".to_vec()),
        ..Message::default()
    };
    world.source.publish(&[other, nameless]);
    world.committed(7).await;
    running.shutdown().await;
    assert_eq!(tries.load(Ordering::Relaxed), 3);
    let dead = world.dead.reader("").await;
    let letters = dead.take(4).await;
    let mut causes: Vec<String> = letters
        .iter()
        .map(|letter| header(letter, "semel-dead-letter-cause"))
        .collect();
    causes.sort_unstable();
    assert_eq!(
        causes,
        ["attempts-exhausted", "conflict", "terminal", "unreadable"]
    );
    let bad = letters
        .iter()
        .find(|letter| header(letter, "semel-dead-letter-cause") == "terminal");
    let bad = bad.unwrap();
    assert_eq!(id(bad), "bad", "its own headers are kept");
    assert_eq!(header(bad, "semel-dead-letter-error"), "no such order");
    assert_eq!(
        header(bad, "semel-dead-letter-origin"),
        format!("{}/0/2", world.source.name)
    );
    dead.close().await;
}

fn header(delivery: &Delivery, name: &str) -> String {
    let found = delivery.raw.headers.iter().find(|(known, _)| known == name);
    let value = found
        .and_then(|(_, value)| value.clone())
        .unwrap_or_default();
    String::from_utf8(value.to_vec()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_forgotten_after_their_retention() {
    let effects = Effects::default();
    let mut world = World::new(1).await;
    world.source = Topic::with(1, &[("retention.ms", "1000")]).await;
    let running = world.start(Duration::from_secs(1), counting(&effects));
    world.publish(["a"]);
    let log = world.log.reader("").await;
    let written = log.take(2).await;
    assert!(written[0].raw.payload.is_some());
    assert_eq!(written[1].raw.payload, None, "a tombstone");
    assert_eq!(written[0].raw.key, written[1].raw.key);
    world.publish(["a"]);
    until("it runs again", || ran(&effects) == 2).await;
    running.shutdown().await;
    log.close().await;
}

const MISSING: &str = "there-is-no-such-topic";

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_is_no_log_lets_nothing_run_nor_does_one_that_is_missing() {
    let effects = Effects::default();
    let mut all = Vec::new();
    // Something else in it, other partitions, one that forgets, and topics to write that are not there.
    let short = ("retention.ms", "60000");
    for (partitions, settings, has_content, missing) in [
        (1, COMPACTED, true, None),
        (2, COMPACTED, false, None),
        (1, short, false, None),
        (1, COMPACTED, false, Some(2)),
        (1, COMPACTED, false, Some(3)),
    ] {
        let mut world = World::new(1).await;
        world.log = Topic::with(partitions, &[settings]).await;
        let keyed = |n: usize| Message {
            key: Some(format!("k-{n}").into_bytes()),
            payload: Some(b"{}".to_vec()),
            ..Message::default()
        };
        let content: Vec<Message> = (0..usize::from(has_content)).map(keyed).collect();
        world.log.publish(&content);
        let mut names = [&world.source, &world.log, &world.dead, &world.out].map(|t| &*t.name);
        if let Some(at) = missing {
            names[at] = MISSING;
        }
        let running = start(names, HOUR, counting(&effects));
        world.publish(["a"]);
        all.push((world, running));
    }
    // One that is right and begins last says how long joining takes today.
    let (right, its) = (World::new(1).await, Effects::default());
    let running = right.start(HOUR, counting(&its));
    right.publish(["a"]);
    until("the right one runs", || ran(&its) == 1).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ran(&effects), 0);
    running.shutdown().await;
    for (world, running) in all {
        running.shutdown().await;
        assert_eq!(world.source.committed(), [None]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_published_is_a_dead_letter_that_fits_and_the_others_go_on() {
    let mut world = World::new(1).await;
    world.out = Topic::with(1, &[("max.message.bytes", "2000")]).await;
    world.dead = Topic::with(1, &[("max.message.bytes", "2000")]).await;
    let handler = handler_fn(|ctx| async move {
        let size = match ctx.message().identity().key().as_str() {
            "large" => 5_000,
            _ => 10,
        };
        ctx.send(Draft::new("out", "copy", vec![b'x'; size]))?;
        Ok(Done::new())
    });
    let running = world.start(HOUR, handler);
    world.publish(["a", "large", "b"]);
    // It has no id, and is too large for the dead letters as it is.
    let nameless = Message {
        payload: Some(vec![0xff; 10_000]),
        ..Message::default()
    };
    world.source.publish(&[nameless]);
    world.publish(["c"]);
    world.committed(5).await;
    running.shutdown().await;
    let (out, dead) = (world.out.reader("").await, world.dead.reader("").await);
    let sizes: Vec<usize> = out.take(3).await.iter().map(|d| text(d).len()).collect();
    assert_eq!(sizes, [10; 3]);
    let letters = dead.take(2).await;
    let mut causes: Vec<String> = letters
        .iter()
        .map(|letter| header(letter, "semel-dead-letter-cause"))
        .collect();
    causes.sort_unstable();
    assert_eq!(causes, ["unpublishable", "unreadable"]);
    let mut cut: Vec<String> = letters
        .iter()
        .map(|letter| header(letter, "semel-dead-letter-cut"))
        .collect();
    cut.sort_unstable();
    assert_eq!(cut, ["10000", "5000"]);
    out.close().await;
    dead.close().await;
}

/// One partition's log holds something else, so that it is never read to its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_whose_log_cannot_be_read_holds_up_no_other() {
    let (world, effects) = (World::new(2).await, Effects::default());
    let foreign = Message {
        partition: Some(0),
        key: Some(b"no digest".to_vec()),
        payload: Some(b"{}".to_vec()),
        ..Message::default()
    };
    world.log.publish(&[foreign]);
    let running = world.start(HOUR, counting(&effects));
    let to = |partition: i32, id: &str| Message {
        partition: Some(partition),
        headers: vec![("message-id".to_owned(), Some(id.to_owned().into()))],
        payload: Some(b"1".to_vec()),
        ..Message::default()
    };
    world.source.publish(&[to(0, "a")]);
    sleep(Duration::from_secs(2)).await;
    world.source.publish(&[to(1, "b")]);
    let is_committed = || world.source.committed() == [None, Some(1)];
    until_within(Duration::from_secs(20), "the other runs", is_committed).await;
    let ran: Vec<String> = effects.lock().unwrap().keys().cloned().collect();
    assert_eq!(ran, ["b"], "nothing runs whose log is not known");
    running.shutdown().await;
}

/// What the processes do: each message is published on, in one transaction with its offset and its id. Without the variable this is the whole
/// test's run, which starts no member here.
#[tokio::test(flavor = "multi_thread")]
async fn the_consumer_that_is_killed() {
    let Ok(names) = std::env::var(MEMBER) else {
        return;
    };
    let names: Vec<&str> = names.split(' ').collect();
    let handler = handler_fn(|ctx| async move {
        let draft = Draft::new("out", "copy", ctx.message().payload().clone());
        ctx.send(draft)?;
        sleep(Duration::from_millis(1)).await;
        Ok(Done::new())
    });
    let _running = start(names.try_into().unwrap(), HOUR, handler);
    std::future::pending().await
}

fn member(world: &World) -> Child {
    let names = [&world.source, &world.log, &world.dead, &world.out].map(|topic| &*topic.name);
    let mut member = Command::new(std::env::current_exe().unwrap());
    member.args(["--exact", "processed::the_consumer_that_is_killed"]);
    member.env(MEMBER, names.join(" ")).kill_on_drop(true);
    member.stdout(Stdio::null()).stderr(Stdio::null());
    member.spawn().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn from_topic_to_topic_each_id_is_published_once_however_often_processes_are_killed() {
    let world = Arc::new(World::new(4).await);
    let mut members = [member(&world), member(&world)];
    let publishing = {
        let world = world.clone();
        tokio::spawn(async move {
            for from in (0..MESSAGES).step_by(50) {
                // Every tenth message comes twice, the second time much later.
                let ids: Vec<String> = (from..from + 50)
                    .flat_map(|n| [Some(n), (n % 10 == 0 && n >= 500).then(|| n - 500)])
                    .flatten()
                    .map(|n| format!("m-{n:06}"))
                    .collect();
                world.publish(ids.iter().map(String::as_str));
                sleep(Duration::from_millis(150)).await;
            }
        })
    };
    for kill in 0..KILLS {
        sleep(Duration::from_millis(1_700)).await;
        members[kill % 2].kill().await.unwrap();
        members[kill % 2] = member(&world);
    }
    publishing.await.unwrap();
    let duplicates = (MESSAGES - 500) / 10;
    let wanted = i64::try_from(MESSAGES + duplicates).unwrap();
    let is_done = || world.source.committed().into_iter().flatten().sum::<i64>() == wanted;
    until_within(Duration::from_secs(150), "all is committed", is_done).await;
    let out = world.out.reader("").await;
    let mut found: Vec<String> = out.take(MESSAGES).await.iter().map(text).collect();
    let more = out
        .event(crate::support::MUCH, Duration::from_secs(2))
        .await;
    assert!(more.is_none(), "something was published twice: {more:?}");
    found.sort_unstable();
    let expected: Vec<String> = (0..MESSAGES).map(|n| format!("\"m-{n:06}\"")).collect();
    assert_eq!(found, expected);
    out.close().await;
}
