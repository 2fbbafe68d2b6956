//! An engine behind the seal: one tenant whose key cannot be used stops neither what is received nor what is finished for the others.

use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_core::inbox::{Inbox, Message, Query, State};
use semel_core::store::Answer;
use semel_core::{Identity, Kind, LeaseTerm, Tenant};
use semel_inbox::source::{Batch, Delivery, Event, Handle, Partition, Raw, Settle, Settled, Want};
use semel_inbox::{
    Consumer, Done, Engine, FileSource, Rule, Running, Settings, Source, handler_fn,
};
use semel_seal::{Keyring, SealedInbox};
use semel_sqlite::SqliteStore;
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};

use crate::support::{damage, keks, keyring, of, open, outcome, settle};

/// How long something that must become true may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(180);

/// A broker's queue: what is sent is delivered, and what is acknowledged is remembered.
struct Queue {
    events: AsyncMutex<mpsc::UnboundedReceiver<Event>>,
    acked: Mutex<Vec<u64>>,
}

fn queue() -> (Arc<Queue>, mpsc::UnboundedSender<Event>) {
    let (send, events) = mpsc::unbounded_channel();
    let queue = Queue {
        events: AsyncMutex::new(events),
        acked: Mutex::default(),
    };
    (Arc::new(queue), send)
}

impl Source for Queue {
    fn name(&self) -> &str {
        "queue"
    }

    fn open(&self, _: Vec<(Partition, String)>) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn next(&self, want: Want) -> Answer<'_, Event> {
        Box::pin(async move {
            let mut events = self.events.lock().await;
            if want.count > 0
                && let Some(event) = events.recv().await
            {
                return Ok(event);
            }
            std::future::pending().await
        })
    }

    fn settle(&self, items: Vec<(Handle, Settle)>) -> Answer<'_, Vec<Settled>> {
        let acks = items.iter().filter(|(_, how)| *how == Settle::Ack);
        let acks = acks.map(|(handle, _)| *handle.get::<u64>().unwrap());
        self.acked.lock().unwrap().extend(acks);
        Box::pin(async move { Ok(vec![Settled::Done; items.len()]) })
    }
}

/// Deliveries by number, each of this tenant.
fn batch(deliveries: &[(u64, &str)]) -> Event {
    let delivery = |(tag, tenant): &(u64, &str)| Delivery {
        raw: Raw {
            id: Some(format!("m-{tag}")),
            tenant: Some((*tenant).to_owned()),
            payload: Some("{}".into()),
            ..Raw::default()
        },
        handle: Handle::new(*tag),
        partition: Partition::new("p-0"),
    };
    Event::Batch(Batch::of(deliveries.iter().map(delivery).collect()))
}

fn mail(tenant: &str, id: &str) -> Identity {
    Identity::parse(tenant, "mail@1", id).unwrap()
}

fn consumer() -> Consumer {
    let mut consumer = Consumer::new("mail@1".parse().unwrap());
    consumer.lease = LeaseTerm::new(2 * PATIENCE).unwrap();
    consumer.deadline = 2 * PATIENCE;
    consumer
}

fn builder(store: &Arc<SqliteStore>, ring: &Keyring) -> semel_inbox::Builder {
    let settings = Settings {
        poll: Duration::from_millis(20),
        drain: Duration::from_secs(1),
        ..Settings::default()
    };
    let inbox = SealedInbox::new(store.clone(), ring.clone());
    Engine::builder(Arc::new(inbox)).settings(settings)
}

fn start(store: &Arc<SqliteStore>, ring: &Keyring, source: Arc<dyn Source>) -> Running {
    let handler = handler_fn(|_| async { Ok(Done::new()) });
    let engine = builder(store, ring).consumer(consumer(), handler);
    let engine = engine.source("mail@1".parse().unwrap(), source, Rule::default());
    engine.build().unwrap().start()
}

async fn eventually(what: &str, mut look: impl AsyncFnMut() -> bool) {
    let found = async {
        while !look().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, found).await;
    found.unwrap_or_else(|_| panic!("this did not happen: {what}"));
}

async fn completed(store: &SqliteStore, message: &Identity) {
    let look = async || {
        let states = store.states(vec![message.clone()]).await.unwrap();
        states == [Some(State::Completed)]
    };
    eventually(&format!("{message} is completed"), look).await;
}

/// A store in which ann's key is wrapped by `a`, and the keys of a process that has only `b`.
async fn locked(dir: &std::path::Path) -> (Arc<SqliteStore>, Keyring) {
    let store = open(dir);
    let first = crate::support::sealed(&store, &["a"]);
    settle(&first, &of("ann", "k"), outcome("sealed")).await;
    let ring = keyring(&store, &["b"]);
    (store, ring)
}

#[tokio::test]
async fn deliveries_of_a_tenant_whose_key_is_missing_stay_open_and_those_of_others_go_on() {
    let dir = tempfile::tempdir().unwrap();
    let (store, ring) = locked(dir.path()).await;
    damage(&store, "cy").await;
    let (source, send) = queue();
    let running = start(&store, &ring, source.clone());
    let acked = || source.acked.lock().unwrap().clone();
    send.send(batch(&[(1, "ann"), (2, "bob"), (3, "ann"), (4, "cy")]))
        .unwrap();
    eventually("bob's is acknowledged", async || acked() == [2]).await;
    completed(&store, &mail("bob", "m-2")).await;
    send.send(batch(&[(5, "bob"), (6, "ann")])).unwrap();
    completed(&store, &mail("bob", "m-5")).await;
    eventually("bob's is acknowledged", async || acked() == [2, 5]).await;
    eventually("operators see what waits", async || {
        let view = &running.sources()[0];
        let warned = view.facts.warnings.iter().any(|text| text.contains("ann"));
        view.open == 4 && view.state.is_well() && warned
    })
    .await;

    // With the key they are stored, in the order in which they came; the damaged one waits on.
    ring.set(keks(&["b", "a"])).unwrap();
    for id in ["m-1", "m-3", "m-6"] {
        completed(&store, &mail("ann", id)).await;
    }
    eventually("ann's are acknowledged", async || {
        acked() == [2, 5, 1, 3, 6]
    })
    .await;
    let query = Query {
        tenant: Some(Tenant::new("ann").unwrap()),
        ..Query::default()
    };
    let listed = store.list_messages(query).await.unwrap().entries;
    let ids = listed
        .iter()
        .rev()
        .map(|entry| entry.identity.key().as_str());
    assert_eq!(ids.collect::<Vec<_>>(), ["m-1", "m-3", "m-6"]);
    assert_eq!(running.sources()[0].open, 1);
    running.shutdown().await;
}

#[tokio::test]
async fn a_position_waits_for_a_tenant_whose_key_is_missing_and_the_messages_of_others_do_not() {
    let dir = tempfile::tempdir().unwrap();
    let (store, ring) = locked(dir.path()).await;
    let path = dir.path().join("mail.jsonl");
    let mut file = std::fs::File::create(&path).unwrap();
    for (id, tenant) in [("m-1", "ann"), ("m-2", "bob"), ("m-3", "ann")] {
        writeln!(
            file,
            r#"{{"id":"{id}","tenant":"{tenant}","payload":{{}}}}"#
        )
        .unwrap();
    }
    let read = || Arc::new(FileSource::new(&path));
    let running = start(&store, &ring, read());
    completed(&store, &mail("bob", "m-2")).await;
    running.shutdown().await;

    // The next process reads from where the store says, and skips nothing.
    ring.set(keks(&["b", "a"])).unwrap();
    let mut running = start(&store, &ring, read());
    running.sources_ended().await;
    for id in ["m-1", "m-3"] {
        completed(&store, &mail("ann", id)).await;
    }
    running.shutdown().await;
}

#[tokio::test]
async fn a_sender_whose_key_is_missing_is_refused_and_those_beside_it_are_not() {
    let dir = tempfile::tempdir().unwrap();
    let (store, ring) = locked(dir.path()).await;
    damage(&store, "cy").await;
    let running = start(&store, &ring, queue().0);
    let receiver = running.receiver(&"mail@1".parse().unwrap()).unwrap();
    let send = |tenant: &str| {
        let message = Message::new(mail(tenant, "m"), "hi").unwrap();
        let receiver = receiver.clone();
        async move { receiver.receive(message).await }
    };
    // All of them wait in the queue before the task behind it first runs.
    let (ann, bob, cy, dan) = tokio::join!(send("ann"), send("bob"), send("cy"), send("dan"));
    assert_eq!(ann.unwrap_err().kind(), Kind::Unavailable);
    assert_eq!(cy.unwrap_err().kind(), Kind::Damaged);
    bob.unwrap();
    dan.unwrap();
    completed(&store, &mail("bob", "m")).await;
    completed(&store, &mail("dan", "m")).await;
    running.shutdown().await;
}

#[tokio::test]
async fn a_key_that_is_damaged_while_a_handler_runs_keeps_no_other_effect_off_the_record() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ring = keyring(&store, &["a"]);
    let (damaged, runs) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let handler = {
        let (store, ring) = (store.clone(), ring.clone());
        let (damaged, runs) = (damaged.clone(), runs.clone());
        handler_fn(move |ctx: semel_inbox::Ctx| {
            let (store, ring) = (store.clone(), ring.clone());
            let (damaged, runs) = (damaged.clone(), runs.clone());
            async move {
                match ctx.message().identity().tenant().as_str() {
                    "ann" => {
                        damage(&store, "ann").await;
                        // As if this process had forgotten what it knew.
                        ring.set(keks(&["a"])).unwrap();
                        damaged.notify_one();
                    }
                    _ => damaged.notified().await,
                }
                runs.fetch_add(1, Ordering::SeqCst);
                Ok(Done::new())
            }
        })
    };
    let engine = builder(&store, &ring).consumer(consumer(), handler);
    let running = engine.build().unwrap().start();
    let receiver = running.receiver(&"mail@1".parse().unwrap()).unwrap();
    for tenant in ["ann", "bob"] {
        let message = Message::new(mail(tenant, "m"), "hi").unwrap();
        receiver.receive(message).await.unwrap();
    }
    completed(&store, &mail("bob", "m")).await;
    // Its effect has happened, and nothing is lost of it while its end waits.
    let states = store.states(vec![mail("ann", "m")]).await.unwrap();
    assert_eq!(states, [Some(State::InProgress)]);
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}
