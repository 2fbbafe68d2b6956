//! Outlets: what becomes of an intent by what its broker says, and the order of a key.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use semel_core::inbox::{Cause, Detail, State};
use semel_core::trace::{Kind, Sampling};
use semel_core::{TraceContext, Tracer};
use semel_inbox::intents::{Draft, OnUnknown, Outgoing, Outlet, Sending, Sent, Target};
use semel_inbox::{Builder, Done, handler_fn};

use crate::support::{Rig, consumer, identity, message, quick};
use crate::traces::Kept;

/// A broker that says what it is told to, and then takes everything.
#[derive(Default)]
struct Scripted {
    answers: Mutex<VecDeque<Sent>>,
    sent: Mutex<Vec<Outgoing>>,
}

impl Scripted {
    fn new(answers: &[Sent]) -> Arc<Self> {
        Arc::new(Self {
            answers: Mutex::new(answers.to_vec().into()),
            sent: Mutex::default(),
        })
    }

    fn ids(&self) -> Vec<String> {
        let sent = self.sent.lock().unwrap();
        sent.iter().map(|one| one.id.clone()).collect()
    }
}

impl Outlet for Scripted {
    fn name(&self) -> &str {
        "scripted"
    }

    fn send(&self, messages: Vec<Outgoing>) -> Sending<'_> {
        let mut answers = self.answers.lock().unwrap();
        let said = messages.iter().map(|_| answers.pop_front());
        let said = said.map(|said| said.unwrap_or_else(|| Sent::Done("topic/0/7".to_owned())));
        let said = said.collect();
        self.sent.lock().unwrap().extend(messages);
        Box::pin(std::future::ready(said))
    }
}

fn target(outlet: &Arc<Scripted>, on_unknown: Option<OnUnknown>) -> Target {
    let target = Target::outlet("pay", outlet.clone()).unwrap();
    let target = target.retry(quick(3));
    match on_unknown {
        Some(on_unknown) => target.on_unknown(on_unknown),
        None => target,
    }
}

fn charge(order: &str) -> semel_core::Identity {
    identity("intent:pay", &format!("orders@1:{order}:charge"))
}

/// Runs orders one after another, each with an intent of the same key; how their intents ended.
async fn charged(rig: &Rig, target: Target, orders: &[(&str, State)]) -> Vec<Detail> {
    charged_by(rig, rig.engine(), target, orders).await
}

/// The same by an engine that a test has set up.
async fn charged_by(
    rig: &Rig,
    engine: Builder,
    target: Target,
    orders: &[(&str, State)],
) -> Vec<Detail> {
    let handler = handler_fn(|ctx| async move {
        ctx.send(Draft::new("pay", "charge", "19.90").key("card-1"))?;
        Ok(Done::new())
    });
    let engine = engine.target(target);
    let engine = engine.consumer(consumer("orders"), handler);
    let running = engine.build().unwrap().start();
    for (order, _) in orders {
        rig.receive(message("orders", order, "{}")).await;
        rig.until(&identity("orders", order), State::Completed)
            .await;
    }
    let mut ended = Vec::new();
    for (order, end) in orders {
        ended.push(rig.until(&charge(order), *end).await);
    }
    running.shutdown().await;
    ended
}

#[tokio::test]
async fn what_the_broker_says_decides_what_becomes_of_an_intent() {
    let why = || "because".to_owned();
    let (away, refused, unknown) = (
        Sent::NotSent(why()),
        Sent::Refused(why()),
        Sent::Unknown(why()),
    );
    // More than three attempts would be none left.
    let often_away = vec![away; 5];
    let table = [
        (vec![], None, State::Completed, 1, None),
        (often_away, None, State::Completed, 6, None),
        (vec![refused], None, State::FailedTerminal, 1, None),
        (vec![unknown.clone()], None, State::Completed, 2, None),
        (
            vec![unknown],
            Some(OnUnknown::Hold),
            State::Parked,
            1,
            Some(Cause::Unknown),
        ),
    ];
    for (answers, on_unknown, end, published, cause) in table {
        let (rig, outlet) = (Rig::new(), Scripted::new(&answers));
        let ended = charged(&rig, target(&outlet, on_unknown), &[("o-1", end)]).await;
        let ids = outlet.ids();
        assert_eq!(ids.len(), published, "{answers:?}");
        assert!(
            ids.iter().all(|id| id == "orders@1:o-1:charge"),
            "the same id each time: {ids:?}"
        );
        if cause.is_some() {
            assert_eq!(ended[0].entry.cause, cause, "{answers:?}");
        }
        if end == State::Completed {
            let outcome = &ended[0].settled.as_ref().unwrap().outcome;
            assert_eq!(outcome.body.kept().unwrap(), "topic/0/7");
        }
    }
}

#[tokio::test]
async fn an_intent_carries_its_key_and_payload_to_the_broker() {
    let (rig, outlet) = (Rig::new(), Scripted::new(&[]));
    charged(&rig, target(&outlet, None), &[("o-1", State::Completed)]).await;
    let sent = outlet.sent.lock().unwrap();
    assert_eq!(sent[0].key.as_deref(), Some(&b"card-1"[..]));
    assert_eq!(sent[0].payload.as_deref(), Some(&b"19.90"[..]));
    assert!(
        sent[0]
            .headers
            .iter()
            .all(|(name, _)| !name.starts_with("semel-")),
        "{:?}",
        sent[0].headers
    );
}

#[tokio::test]
async fn what_is_published_carries_the_span_that_sent_it() {
    let why = || "because".to_owned();
    let (rig, outlet) = (Rig::new(), Scripted::new(&[Sent::Unknown(why())]));
    let kept = Arc::<Kept>::default();
    let tracer = Tracer::new(kept.clone(), Sampling::default());
    let engine = rig.engine().traced(tracer);
    let orders = [("o-1", State::Completed)];
    charged_by(&rig, engine, target(&outlet, None), &orders).await;

    let spans = kept.all();
    let named = |name: &str| {
        let named = spans.iter().filter(|span| span.name == name);
        named.cloned().collect::<Vec<_>>()
    };
    let (sends, attempts) = (named("send"), named("process intent:pay@1"));
    let order = &named("process orders@1")[0];
    assert_eq!((sends.len(), attempts.len()), (2, 2), "{spans:?}");
    let sent = outlet.sent.lock().unwrap();
    for (at, send) in sends.iter().enumerate() {
        assert_eq!(send.kind, Kind::Producer);
        assert_eq!(send.parent.as_ref(), Some(attempts[at].context.span()));
        // The attempt before it was linked to the one that wanted the message sent.
        assert_eq!(attempts[at].links, std::slice::from_ref(&order.context));
        let mut said = sent[at].headers.iter();
        let said = said.find(|(name, _)| name == "traceparent");
        let said = said.and_then(|(_, value)| TraceContext::parse(value.as_deref()?));
        assert_eq!(said.as_ref(), Some(&send.context));
    }
    assert!(sends[0].error.is_some() && sends[1].error.is_none());
}

#[tokio::test]
async fn intents_of_one_key_are_published_in_their_order_whatever_fails_between() {
    let why = || "because".to_owned();
    let answers = [Sent::Unknown(why()), Sent::NotSent(why())];
    let (rig, outlet) = (Rig::new(), Scripted::new(&answers));
    let orders = ["o-1", "o-2", "o-3"].map(|order| (order, State::Completed));
    charged(&rig, target(&outlet, None), &orders).await;
    let expected =
        ["o-1", "o-1", "o-1", "o-2", "o-3"].map(|order| format!("orders@1:{order}:charge"));
    assert_eq!(outlet.ids(), expected);
}
