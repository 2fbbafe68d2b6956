//! What the engine does with the events and answers of a source: partitions that are lost, answers that come later, leases that cannot be extended,
//! brokers that are refused.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_core::inbox::State;
use semel_core::store::Answer;
use semel_core::{Error, Kind};
use semel_inbox::source::{
    Batch, Delivery, DeliveryLimit, Event, Facts, Gone, Handle, OPEN_MAX, Partition, Raw, Retained,
    Settle, Settled, Source, SourceLease, SourceState, Want,
};
use semel_inbox::{Ack, Done, Failure, FileSource, Rule, handler_fn};
use tokio::sync::{Mutex as AsyncMutex, mpsc, oneshot};

use crate::support::{Rig, consumer, eventually, identity};

/// A source that says what a test lets it say, and remembers what it was asked.
pub(crate) struct Scripted {
    events: AsyncMutex<mpsc::UnboundedReceiver<Event>>,
    /// An event that a call with another want has taken.
    held: Mutex<Option<Event>>,
    wants: Mutex<Vec<Want>>,
    acks: Mutex<Vec<Vec<u64>>>,
    /// What the next acknowledgements are answered with; afterwards all are done.
    answers: Mutex<VecDeque<Settled>>,
    lease: Mutex<Option<SourceLease>>,
    extensions: AtomicU64,
    facts: Mutex<Facts>,
    /// Whether it does not say its facts.
    is_silent: AtomicBool,
}

pub(crate) fn scripted(
    lease: Option<SourceLease>,
) -> (Arc<Scripted>, mpsc::UnboundedSender<Event>) {
    let (send, events) = mpsc::unbounded_channel();
    let source = Scripted {
        events: AsyncMutex::new(events),
        held: Mutex::default(),
        wants: Mutex::default(),
        acks: Mutex::default(),
        answers: Mutex::default(),
        lease: Mutex::new(lease),
        extensions: AtomicU64::default(),
        facts: Mutex::default(),
        is_silent: AtomicBool::default(),
    };
    (Arc::new(source), send)
}

impl Scripted {
    fn acked(&self) -> Vec<u64> {
        self.acks.lock().unwrap().concat()
    }
}

impl Source for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn lease(&self) -> Option<SourceLease> {
        *self.lease.lock().unwrap()
    }

    fn open(&self, _: Vec<(Partition, String)>) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn next(&self, want: Want) -> Answer<'_, Event> {
        self.wants.lock().unwrap().push(want);
        Box::pin(async move {
            let mut events = self.events.lock().await;
            let held = self.held.lock().unwrap().take();
            let event = match held {
                Some(event) => Some(event),
                None => events.recv().await,
            };
            match event {
                Some(Event::Batch(batch)) if want.count == 0 => {
                    *self.held.lock().unwrap() = Some(Event::Batch(batch));
                    std::future::pending().await
                }
                Some(event) => Ok(event),
                None => std::future::pending().await,
            }
        })
    }

    fn settle(&self, items: Vec<(Handle, Settle)>) -> Answer<'_, Vec<Settled>> {
        let acks = items.iter().filter(|(_, how)| *how == Settle::Ack);
        let acks: Vec<u64> = acks.map(|(handle, _)| *handle.get().unwrap()).collect();
        if !acks.is_empty() {
            self.acks.lock().unwrap().push(acks);
        }
        let extensions = items.iter().filter(|(_, how)| *how == Settle::Extend);
        let extensions = extensions.count() as u64;
        self.extensions.fetch_add(extensions, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let settled = items.iter().map(|(_, how)| match how {
            Settle::Ack => answers.pop_front().unwrap_or(Settled::Done),
            _ => Settled::Done,
        });
        let settled = settled.collect();
        Box::pin(async { Ok(settled) })
    }

    fn facts(&self) -> Answer<'_, Facts> {
        let facts = self.facts.lock().unwrap().clone();
        let is_silent = self.is_silent.load(Ordering::SeqCst);
        Box::pin(async move {
            match is_silent {
                true => Err(Error::new(Kind::Unavailable, "no answer")),
                false => Ok(facts),
            }
        })
    }
}

fn delivery(tag: u64, partition: &str) -> Delivery {
    Delivery {
        raw: Raw {
            id: Some(format!("m-{tag}")),
            payload: Some("{}".into()),
            ..Raw::default()
        },
        handle: Handle::new(tag),
        partition: Partition::new(partition),
    }
}

fn batch(deliveries: impl IntoIterator<Item = Delivery>) -> Event {
    Event::Batch(Batch::of(deliveries.into_iter().collect()))
}

#[tokio::test]
async fn lost_partitions_free_their_room_and_are_never_acknowledged() {
    let (rig, (source, send)) = (Rig::new(), scripted(None));
    let handler = handler_fn(|_| async { std::future::pending().await });
    let mut policy = consumer("mail");
    policy.ack = Ack::AfterEffect;
    let engine = rig.engine().consumer(policy, handler);
    let engine = engine.source("mail".parse().unwrap(), source.clone(), Rule::default());
    let running = engine.build().unwrap().start();
    let full = OPEN_MAX as u64;
    send.send(batch((0..full).map(|tag| delivery(tag, "p-0"))))
        .unwrap();
    eventually("all are open", async || {
        (running.sources()[0].open == full).then_some(())
    })
    .await;
    eventually("nothing more is wanted", async || {
        let wants = source.wants.lock().unwrap();
        (wants.last() == Some(&Want::NOTHING)).then_some(())
    })
    .await;
    let (flushed, is_flushed) = oneshot::channel();
    let gone = Gone {
        partitions: vec![Partition::new("p-0")],
        flushed: Some(flushed),
    };
    send.send(Event::Gone(gone)).unwrap();
    is_flushed.await.unwrap();
    eventually("their room is free", async || {
        (running.sources()[0].open == 0).then_some(())
    })
    .await;
    eventually("more is wanted", async || {
        let wants = source.wants.lock().unwrap();
        wants
            .last()
            .is_some_and(|want| want.count > 0)
            .then_some(())
    })
    .await;
    assert_eq!(running.sources()[0].lost, full);
    assert_eq!(source.acked(), [0; 0]);
}

#[tokio::test]
async fn an_acknowledgement_that_must_wait_is_sent_again_and_the_others_are_not() {
    let (rig, (source, send)) = (Rig::new(), scripted(None));
    source
        .answers
        .lock()
        .unwrap()
        .extend([Settled::Done, Settled::Later, Settled::Gone]);
    let handler = handler_fn(|_| async { Ok(Done::new()) });
    let engine = rig.engine().consumer(consumer("mail"), handler);
    let engine = engine.source("mail".parse().unwrap(), source.clone(), Rule::default());
    let running = engine.build().unwrap().start();
    send.send(batch((1..=3).map(|tag| delivery(tag, "p-0"))))
        .unwrap();
    eventually("all are settled", async || {
        let view = &running.sources()[0];
        (view.delivered == 3 && view.open == 0).then_some(())
    })
    .await;
    let acks = source.acks.lock().unwrap().clone();
    assert_eq!(acks, [vec![1, 2, 3], vec![2]]);
    let view = &running.sources()[0];
    assert_eq!((view.acked, view.lost), (2, 1));
    running.shutdown().await;
}

#[tokio::test]
async fn a_lease_that_cannot_be_extended_ends_with_a_failure_that_is_durable() {
    let lease = SourceLease::fixed(Duration::from_secs(1_800));
    let (rig, (source, send)) = (Rig::new(), scripted(Some(lease)));
    let handler = handler_fn(|_| async {
        let hour = Duration::from_secs(3_600);
        Err(Failure::retryable_after(hour, "not now"))
    });
    let mut policy = consumer("mail");
    policy.ack = Ack::AfterEffect;
    let engine = rig.engine().consumer(policy, handler);
    let engine = engine.source("mail".parse().unwrap(), source.clone(), Rule::default());
    let running = engine.build().unwrap().start();
    send.send(batch([delivery(1, "channel 1")])).unwrap();
    rig.until(&identity("mail", "m-1"), State::FailedRetryable)
        .await;
    eventually("it is acknowledged", async || {
        (source.acked() == [1]).then_some(())
    })
    .await;
    running.shutdown().await;
}

#[tokio::test]
async fn a_lease_has_a_longest_total_before_which_the_inbox_goes_on_alone() {
    let lease = SourceLease::extendable(Duration::from_secs(60));
    let lease = lease.at_most(Duration::from_millis(400));
    let (rig, (source, send)) = (Rig::new(), scripted(Some(lease)));
    let handler = handler_fn(|_| async { std::future::pending().await });
    let mut policy = consumer("mail");
    policy.ack = Ack::AfterEffect;
    let engine = rig.engine().consumer(policy, handler);
    let engine = engine.source("mail".parse().unwrap(), source.clone(), Rule::default());
    let _running = engine.build().unwrap().start();
    send.send(batch([delivery(1, "p-0")])).unwrap();
    eventually("it is acknowledged", async || {
        (source.acked() == [1]).then_some(())
    })
    .await;
    rig.until(&identity("mail", "m-1"), State::InProgress).await;
}

#[tokio::test]
async fn a_broker_whose_messages_would_be_lost_or_run_twice_is_not_read() {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    let longer = |facts: &mut Facts| facts.retained = Some(Retained::For(YEAR));
    let drops = |facts: &mut Facts| {
        facts.delivery_limit = Some(DeliveryLimit {
            count: 3,
            dead_letters: None,
        });
    };
    for (change, ack, said) in [
        (longer as fn(&mut Facts), Ack::AfterReceive, "retention"),
        (drops as fn(&mut Facts), Ack::AfterEffect, "3 deliveries"),
    ] {
        let (rig, (source, send)) = (Rig::new(), scripted(None));
        change(&mut source.facts.lock().unwrap());
        let mut policy = consumer("mail");
        policy.ack = ack;
        let handler = handler_fn(|_| async { Ok(Done::new()) });
        let engine = rig.engine().consumer(policy, handler);
        let engine = engine.source("mail".parse().unwrap(), source.clone(), Rule::default());
        let running = engine.build().unwrap().start();
        send.send(batch([delivery(1, "p-0")])).unwrap();
        let refused = eventually("it is refused", async || {
            match &running.sources()[0].state {
                SourceState::Refused(why) => Some(why.clone()),
                _ => None,
            }
        });
        let refused = refused.await;
        assert!(refused.contains(said), "{refused}");
        let is_nothing = |want: &Want| *want == Want::NOTHING;
        let wants = source.wants.lock().unwrap().clone();
        assert!(wants.iter().all(is_nothing), "it is not read");
        running.shutdown().await;
    }
}

#[tokio::test]
async fn a_broker_that_becomes_unsafe_is_not_read_until_it_is_safe_again() {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    let (rig, (source, send)) = (Rig::new(), scripted(None));
    let handler = handler_fn(|_| async { Ok(Done::new()) });
    let engine = rig.engine().consumer(consumer("mail"), handler);
    let engine = engine.source("mail".parse().unwrap(), source.clone(), Rule::default());
    let running = engine.build().unwrap().start();
    let becomes = async |wanted: &str| {
        let is_so = async || (running.sources()[0].state.name() == wanted).then_some(());
        eventually(wanted, is_so).await;
    };
    send.send(batch([delivery(1, "p-0")])).unwrap();
    rig.until(&identity("mail", "m-1"), State::Completed).await;
    source.facts.lock().unwrap().retained = Some(Retained::For(YEAR));
    becomes("refused").await;
    eventually("nothing is wanted", async || {
        let wants = source.wants.lock().unwrap();
        (wants.last() == Some(&Want::NOTHING)).then_some(())
    })
    .await;
    send.send(batch([delivery(2, "p-0")])).unwrap();
    source.facts.lock().unwrap().retained = Some(Retained::UntilAcked);
    rig.until(&identity("mail", "m-2"), State::Completed).await;
    becomes("reading").await;
    running.shutdown().await;
}

#[tokio::test]
async fn a_source_that_does_not_say_whether_it_is_safe_is_not_read_until_it_does() {
    let (rig, (source, send)) = (Rig::new(), scripted(None));
    source.is_silent.store(true, Ordering::SeqCst);
    let handler = handler_fn(|_| async { Ok(Done::new()) });
    let engine = rig.engine().consumer(consumer("mail"), handler);
    let engine = engine.source("mail".parse().unwrap(), source.clone(), Rule::default());
    let running = engine.build().unwrap().start();
    send.send(batch([delivery(1, "p-0")])).unwrap();
    eventually("it is away", async || {
        (running.sources()[0].state.name() == "away").then_some(())
    })
    .await;
    assert!(source.wants.lock().unwrap().is_empty(), "it is not read");
    source.is_silent.store(false, Ordering::SeqCst);
    rig.until(&identity("mail", "m-1"), State::Completed).await;
    running.shutdown().await;
}

#[tokio::test]
async fn extensions_follow_the_lease_that_the_broker_has_now() {
    let (rig, (source, send)) = (Rig::new(), scripted(None));
    let set = |seconds| {
        let lease = SourceLease::extendable(Duration::from_secs(seconds));
        *source.lease.lock().unwrap() = Some(lease);
    };
    set(3_600);
    let handler = handler_fn(|_| async { std::future::pending().await });
    let mut policy = consumer("mail");
    policy.ack = Ack::AfterEffect;
    let engine = rig.engine().consumer(policy, handler);
    let engine = engine.source("mail".parse().unwrap(), source.clone(), Rule::default());
    let _running = engine.build().unwrap().start();
    send.send(batch([delivery(1, "p-0")])).unwrap();
    rig.until(&identity("mail", "m-1"), State::InProgress).await;
    assert_eq!(source.extensions.load(Ordering::SeqCst), 0);
    set(1);
    eventually("it is extended", async || {
        (source.extensions.load(Ordering::SeqCst) > 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn deliveries_with_more_messages_than_one_call_takes_are_stored_whole() {
    let (rig, (source, send)) = (Rig::new(), scripted(None));
    let handler = handler_fn(|_| async { Ok(Done::new()) });
    let engine = rig.engine().consumer(consumer("mail"), handler);
    let engine = engine.source("mail".parse().unwrap(), source.clone(), Rule::broker());
    let running = engine.build().unwrap().start();
    let event = |n: usize| format!(r#"{{"id":"{n}","source":"s","type":"t"}}"#);
    let events = |part: usize| {
        let events: Vec<String> = (0..500).map(|n| event(part * 500 + n)).collect();
        let mut delivery = delivery(part as u64, "p-0");
        delivery.raw.id = None;
        delivery.raw.headers = vec![(
            "content-type".into(),
            Some("application/cloudevents-batch+json".into()),
        )];
        delivery.raw.payload = Some(format!("[{}]", events.join(",")).into());
        delivery
    };
    send.send(batch((0..3).map(events))).unwrap();
    eventually("each delivery is acknowledged once", async || {
        (source.acked() == [0, 1, 2]).then_some(())
    })
    .await;
    let done = async || (rig.seen.finished.lock().unwrap().len() == 1_500).then_some(());
    eventually("all events are handled", done).await;
    running.shutdown().await;
}

#[tokio::test]
async fn the_newest_reader_of_a_file_is_the_only_one() {
    let rig = Rig::new();
    let path = rig.dir.path().join("orders.jsonl");
    let append = |text: &str| {
        use std::io::Write as _;
        let mut options = std::fs::OpenOptions::new();
        let file = options.create(true).append(true).open(&path);
        file.unwrap().write_all(text.as_bytes()).unwrap();
    };
    let start = || {
        let handler = handler_fn(|_| async { Ok(Done::new()) });
        let engine = rig.engine().consumer(consumer("mail"), handler);
        let source = Arc::new(FileSource::new(&path).follow());
        let engine = engine.source("mail".parse().unwrap(), source, Rule::default());
        engine.build().unwrap().start()
    };
    append("{\"id\":\"a\"}\n");
    let first = start();
    rig.until(&identity("mail", "a"), State::Completed).await;
    let second = start();
    eventually("the second reads", async || {
        (second.sources()[0].state == SourceState::Reading).then_some(())
    })
    .await;
    append("{\"id\":\"b\"}\n");
    rig.until(&identity("mail", "b"), State::Completed).await;
    eventually("the first has stopped", async || {
        (first.sources()[0].state == SourceState::Ended).then_some(())
    })
    .await;
    assert_eq!(second.sources()[0].state, SourceState::Reading);
    first.shutdown().await;
    second.shutdown().await;
}
