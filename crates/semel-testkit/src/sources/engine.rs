//! The source under an engine: from the broker to the effect.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_core::Scope;
use semel_core::inbox::{Arrivals, Cause, Query};
use semel_inbox::{Ack, Consumer, Done, Engine, Rule, Running, handler_fn};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};

use super::away::AwayInbox;
use super::reader::PATIENCE;
use super::{Published, Subject};

/// How often each message took effect.
type Effects = Arc<Mutex<BTreeMap<String, u32>>>;

fn consumer() -> Scope {
    "suite".parse().expect("a plain name is a scope")
}

/// A handler that counts effects, after it got a permit if there is a gate.
fn start(
    s: &Subject,
    inbox: Arc<dyn semel_core::Inbox>,
    ack: Ack,
    gate: Option<Arc<Semaphore>>,
) -> (Running, Effects) {
    let effects: Effects = Arc::default();
    let seen = effects.clone();
    let handler = handler_fn(move |ctx| {
        let (seen, gate) = (seen.clone(), gate.clone());
        async move {
            if let Some(gate) = gate {
                gate.acquire().await?.forget();
            }
            let id = ctx.message().identity().key().as_str().to_owned();
            *seen
                .lock()
                .expect("no test panics here")
                .entry(id)
                .or_default() += 1;
            Ok(Done::new())
        }
    });
    let engine = Engine::builder(inbox).consumer(policy(ack), handler);
    let engine = engine.source(consumer(), s.broker.source(), Rule::broker());
    let running = engine.build().expect("an engine with one consumer").start();
    (running, effects)
}

fn policy(ack: Ack) -> Consumer {
    let mut policy = Consumer::new(consumer());
    policy.ack = ack;
    // Longer than any broker of the suite keeps anything.
    policy.plan.retention =
        semel_core::Retention::delete_after(Duration::from_secs(60 * 24 * 60 * 60))
            .expect("sixty days are a retention");
    policy
}

async fn until(what: &str, is_so: impl Fn() -> bool + Send) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "this did not happen: {what}");
        sleep(Duration::from_millis(50)).await;
    }
}

fn effects_of(effects: &Effects) -> BTreeMap<String, u32> {
    effects.lock().expect("no test panics here").clone()
}

/// The same message, published often, takes effect once.
pub async fn duplicates_take_effect_once(s: Subject) {
    let inbox = s.broker.inbox();
    let (running, effects) = start(&s, inbox, Ack::AfterReceive, None);
    for _ in 0..3 {
        s.publish_many(50).await;
    }
    s.publish(&["last"]).await;
    until("all come", || effects_of(&effects).len() == 51).await;
    // Duplicates, too, have been delivered and are dealt with. A broker may have lost a delivery and made it again.
    until("all is delivered", || {
        let view = &running.sources()[0];
        view.delivered >= 151 && view.acked + view.lost == view.delivered
    })
    .await;
    running.shutdown().await;
    let effects = effects_of(&effects);
    assert!(effects.values().all(|count| *count == 1), "{effects:?}");
}

/// What has no id is parked with its bytes, and acknowledged.
pub async fn what_cannot_be_read_is_a_dead_letter_and_acknowledged(s: Subject) {
    let inbox = s.broker.inbox();
    let mut broken = Published::new("x");
    broken.headers = vec![(
        "content-type".to_owned(),
        Some("application/cloudevents+json".into()),
    )];
    // Without the header that holds its id, it is an event that is not even JSON.
    broken.id = String::new();
    broken.payload = Some("{no event".into());
    let (running, effects) = start(&s, inbox.clone(), Ack::AfterReceive, None);
    s.broker.publish(vec![broken, Published::new("good")]).await;
    until("the good one comes", || effects_of(&effects).len() == 1).await;
    let end = Instant::now() + PATIENCE;
    loop {
        let query = Query {
            consumer: Some(consumer()),
            cause: Some(Cause::Unreadable),
            ..Query::default()
        };
        let page = inbox.list_messages(query).await.expect("a list");
        if let [parked] = &page.entries[..] {
            is_kept(&*inbox, parked.identity.clone()).await;
            break;
        }
        assert!(Instant::now() < end, "the other one is not parked");
        sleep(Duration::from_millis(50)).await;
    }
    until("both are acknowledged", || running.sources()[0].acked >= 2).await;
    running.shutdown().await;
    let mut reader = s.reader().await;
    assert_eq!(
        reader
            .next_within(super::reader::MUCH, s.broker.term() * 2)
            .await
            .len(),
        0
    );
    reader.close().await;
}

/// What could not be read is there as it came.
async fn is_kept(inbox: &dyn semel_core::Inbox, identity: semel_core::Identity) {
    let detail = inbox.message(identity).await.expect("the inbox answers");
    let message = detail.and_then(|detail| detail.message);
    let message = message.expect("a parked message has its payload");
    assert_eq!(&message.payload()[..], b"{no event");
    let mut names = message.headers().iter().map(|(name, _)| name);
    assert!(
        names.any(|name| name.eq_ignore_ascii_case("content-type")),
        "its headers are kept"
    );
}

/// A store that is away stops acknowledgements, and when it is back everything goes on by itself.
pub async fn nothing_is_acknowledged_while_the_store_is_away(s: Subject) {
    let away = Arc::new(AwayInbox::new(s.broker.inbox()));
    let (running, effects) = start(&s, away.clone(), Ack::AfterReceive, None);
    s.publish(&["before"]).await;
    until("it works", || effects_of(&effects).len() == 1).await;
    away.set_away(true);
    let published = s.publish_many(20).await;
    until("something was delivered", || {
        running.sources()[0].delivered > 1
    })
    .await;
    sleep(s.broker.term()).await;
    assert_eq!(running.sources()[0].acked, 1, "nothing is acknowledged");
    away.set_away(false);
    until("all come", || effects_of(&effects).len() == 21).await;
    running.shutdown().await;
    let effects = effects_of(&effects);
    assert!(
        published.iter().all(|id| effects.get(id) == Some(&1)),
        "{effects:?}"
    );
}

/// With acknowledgements after the effect, an engine that dies before the effect leaves the message to the next one, and the effect
/// happens once.
pub async fn after_a_crash_before_the_effect_the_effect_happens_once(s: Subject) {
    let inbox = s.broker.inbox();
    let gate = Arc::new(Semaphore::new(0));
    let (running, before) = start(&s, inbox.clone(), Ack::AfterEffect, Some(gate));
    s.publish(&["a", "b"]).await;
    until("both are delivered", || running.sources()[0].delivered >= 2).await;
    assert_eq!(running.sources()[0].acked, 0);
    // As a crash would: all tasks end where they are.
    drop(running);
    let (running, after) = start(&s, inbox, Ack::AfterEffect, None);
    until("both take effect", || effects_of(&after).len() == 2).await;
    until("both are acknowledged", || {
        let view = &running.sources()[0];
        view.open == 0 && view.acked >= 2
    })
    .await;
    running.shutdown().await;
    assert!(effects_of(&before).is_empty());
    assert!(effects_of(&after).values().all(|count| *count == 1));
    let mut reader = s.reader().await;
    assert_eq!(
        reader
            .next_within(super::reader::MUCH, s.broker.term() * 2)
            .await
            .len(),
        0
    );
    reader.close().await;
}

/// A process that dies when a message is durable and not yet acknowledged: the broker delivers it again, and it is known.
pub async fn a_crash_between_the_durable_step_and_the_acknowledgement_repeats_nothing(s: Subject) {
    let (inbox, policy) = (s.broker.inbox(), policy(Ack::AfterReceive));
    let mut reader = s.reader().await;
    s.publish(&["a", "b"]).await;
    let found = reader.take(2).await;
    let messages = found.iter();
    let messages = messages.flat_map(|one| Rule::broker().messages(&policy, &one.raw));
    let arrivals = Arrivals {
        plan: policy.plan.clone(),
        messages: messages.collect(),
        positions: Vec::new(),
    };
    inbox.receive(arrivals).await.expect("both are stored");
    reader.crash();
    let (running, effects) = start(&s, inbox, Ack::AfterReceive, None);
    until("both take effect", || effects_of(&effects).len() == 2).await;
    until("both come again and are acknowledged", || {
        running.sources()[0].acked >= 2
    })
    .await;
    running.shutdown().await;
    let effects = effects_of(&effects);
    assert!(effects.values().all(|count| *count == 1), "{effects:?}");
}
