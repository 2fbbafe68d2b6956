//! Intents: stored with the effect, sent once as far as the provider can tell, and never blindly.

use std::time::Duration;

use semel_core::Inbox;
use semel_core::inbox::{Action, Cause, Detail, Message, Operation, Plan, Selection, State};
use semel_core::store::Actor;
use semel_inbox::Retry;
use semel_inbox::intents::{Draft, KeyPlace, OnUnknown, Target, Vendor};
use semel_inbox::policy::retry::Backoff;
use semel_inbox::{Builder, Done, Failure, Handler, HttpHandler, handler_fn};

use crate::providers::Provider;
use crate::support::server::{Reply, Server, status, with};
use crate::support::{Rig, consumer, identity, message, quick};

fn charging() -> impl Handler {
    handler_fn(|ctx| async move {
        let draft = Draft::new("pay", "charge", "{\"amount\": 19.90}");
        ctx.send(draft.header("content-type", "application/json"))?;
        Ok(Done::new())
    })
}

/// The charge of order `o-1`.
fn charge() -> semel_core::Identity {
    identity("intent:pay", "orders@1:o-1:charge")
}

fn pay(url: &str) -> Target {
    let target = Target::new("pay", url).unwrap();
    target.retry(quick(4)).timeout(Duration::from_secs(180))
}

/// Runs order `o-1` and waits for the end of its charge.
async fn charged(rig: &Rig, builder: Builder, end: State) -> Detail {
    let engine = builder.consumer(consumer("orders"), charging());
    let running = engine.build().unwrap().start();
    rig.receive(message("orders", "o-1", "{}")).await;
    rig.until(&identity("orders", "o-1"), State::Completed)
        .await;
    let detail = rig.until(&charge(), end).await;
    running.shutdown().await;
    detail
}

#[tokio::test]
async fn an_intent_is_sent_with_a_key_that_follows_from_its_message_and_its_result_is_kept() {
    let (rig, provider) = (Rig::new(), Provider::start(|_| None).await);
    let target = pay(&provider.server.url("/charges"));
    let target = target.header("authorization", "Bearer s3cret").unwrap();
    let detail = charged(&rig, rig.engine().target(target), State::Completed).await;
    let requests = provider.server.requests();
    assert_eq!(requests.len(), 1);
    let request = &requests[0];
    assert_eq!(
        request.header("idempotency-key"),
        Some("orders@1:o-1:charge")
    );
    assert_eq!(request.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("semel-causation"), None);
    assert_eq!(request.body, "{\"amount\": 19.90}");
    let outcome = detail.settled.unwrap().outcome;
    assert_eq!(outcome.body.kept().unwrap(), "{\"charge\":1}");
    assert_eq!(detail.message.unwrap().origin().topic, "orders@1");
}

#[tokio::test]
async fn lost_answers_and_broken_connections_charge_once() {
    let faults: crate::providers::Fault = |count| match count {
        1 => Some(Reply::Silence),
        2 => Some(status(500)),
        3 => Some(Reply::Never),
        _ => None,
    };
    let (rig, provider) = (Rig::new(), Provider::start(faults).await);
    let target = pay(&provider.server.url("/charges")).timeout(Duration::from_secs(2));
    let detail = charged(&rig, rig.engine().target(target), State::Completed).await;
    assert_eq!(provider.server.requests().len(), 4);
    assert_eq!(provider.charges(), 1);
    let causes: Vec<_> = detail.attempts.iter().map(|a| a.cause).collect();
    assert_eq!(causes, [Some(Cause::Unknown); 3]);
}

#[tokio::test]
async fn without_a_key_an_unknown_outcome_is_held() {
    let (rig, provider) = (Rig::new(), Provider::start(|_| Some(Reply::Silence)).await);
    let target = pay(&provider.server.url("/charges")).vendor(Vendor::SendGrid);
    let detail = charged(&rig, rig.engine().target(target), State::Parked).await;
    assert_eq!(detail.entry.cause, Some(Cause::Unknown));
    let requests = provider.server.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].header("idempotency-key"), None);
}

#[tokio::test]
async fn reconciling_finds_what_happened_and_sends_what_did_not() {
    let (rig, provider) = (Rig::new(), Provider::start(|_| Some(Reply::Silence)).await);
    let url = provider.server.url("/charges/{key}").parse().unwrap();
    let target = pay(&provider.server.url("/charges")).on_unknown(OnUnknown::Reconcile(url));
    let detail = charged(&rig, rig.engine().target(target), State::Completed).await;
    let outcome = detail.settled.unwrap().outcome;
    assert_eq!(outcome.body.kept().unwrap(), "{\"found\":1}");
    assert_eq!(provider.charges(), 1);

    // Nothing happened the first time: the provider says so, and it is sent again.
    let server = Server::scripted(vec![
        status(502),
        status(404),
        status(404),
        with(200, &[], "sent"),
    ]);
    let (rig, server) = (Rig::new(), server.await);
    let url = server.url("/charges/{key}").parse().unwrap();
    let target = pay(&server.url("/charges")).on_unknown(OnUnknown::Reconcile(url));
    charged(&rig, rig.engine().target(target), State::Completed).await;
    let lines: Vec<_> = server.requests().into_iter().map(|r| r.line).collect();
    let verbs: Vec<_> = lines.iter().map(|line| &line[..4]).collect();
    assert_eq!(verbs, ["POST", "GET ", "GET ", "POST"]);
    assert!(lines[1].contains("/charges/orders%401%3Ao-1%3Acharge"));
}

#[tokio::test]
async fn the_providers_answer_decides() {
    for (reply, end, requests) in [
        (status(429), State::Parked, 4),
        (status(503), State::Parked, 4),
        (status(409), State::Parked, 4),
        (status(402), State::FailedTerminal, 1),
        (status(404), State::FailedTerminal, 1),
    ] {
        let name = format!("{reply:?}");
        let (rig, server) = (Rig::new(), Server::scripted(vec![reply]).await);
        let target = pay(&server.url("/"));
        charged(&rig, rig.engine().target(target), end).await;
        assert_eq!(server.requests().len(), requests, "{name}");
    }
}

#[tokio::test]
async fn keys_go_where_the_vendor_wants_them() {
    let field = |path| KeyPlace::body(path).unwrap();
    for (target, place) in [
        (pay("http://x/").vendor(Vendor::PayPal), "paypal-request-id"),
        (pay("http://x/").vendor(Vendor::Square), "body"),
        (pay("http://x/").key(field("$.meta.key")), "body"),
        (pay("http://x/").key(KeyPlace::Query("key".into())), "query"),
    ] {
        let (rig, server) = (Rig::new(), Server::scripted(vec![status(200)]).await);
        // The same target at an address that answers.
        let target = target.at(&server.url("/charges?a=1")).unwrap();
        charged(&rig, rig.engine().target(target), State::Completed).await;
        let request = server.requests().remove(0);
        let key = "orders@1:o-1:charge";
        match place {
            "body" => {
                assert!(request.body.contains(key), "{}", request.body);
                assert!(request.body.contains("19.90"), "{}", request.body);
            }
            "query" => assert!(request.line.contains("?a=1&key=orders%401%3Ao-1%3Acharge")),
            header => assert_eq!(request.header(header), Some(key)),
        }
    }
}

#[tokio::test]
async fn what_the_provider_would_no_longer_recognise_is_parked_unsent() {
    let (rig, clock) = Rig::with_clock();
    let server = Server::scripted(vec![status(503)]).await;
    let hour = Duration::from_secs(3_600);
    let backoff = Backoff {
        first: hour,
        max: hour,
        ..Backoff::default()
    };
    let target = pay(&server.url("/")).retry(Retry::new(4, backoff).unwrap());
    let target = target.key_lifetime(Some(4 * hour));
    let engine = rig.engine().target(target);
    let engine = engine.consumer(consumer("orders"), charging());
    let running = engine.build().unwrap().start();
    rig.receive(message("orders", "o-1", "{}")).await;
    rig.until(&charge(), State::FailedRetryable).await;
    clock.advance(5 * hour);
    let detail = rig.until(&charge(), State::Parked).await;
    running.shutdown().await;
    assert_eq!(detail.entry.cause, Some(Cause::KeyExpired));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn what_was_never_sent_does_not_age_and_an_operators_new_key_sends_what_expired() {
    let (rig, clock) = Rig::with_clock();
    let server = Server::scripted(vec![status(503), status(200)]).await;
    let hour = Duration::from_secs(3_600);
    let backoff = Backoff {
        first: hour,
        max: hour,
        ..Backoff::default()
    };
    let target = pay(&server.url("/")).retry(Retry::new(4, backoff).unwrap());
    let target = target.key_lifetime(Some(4 * hour));
    let plan = Plan::new(charge().scope().clone());
    // It was stored, and lay there for longer than the provider remembers keys.
    let old = Message::new(charge(), "{}").unwrap();
    rig.receive(old).await;
    clock.advance(5 * hour);
    let engine = rig.engine().target(target);
    let engine = engine.consumer(consumer("orders"), charging());
    let running = engine.build().unwrap().start();
    rig.until(&charge(), State::FailedRetryable).await;
    clock.advance(5 * hour);
    let expired = rig.until(&charge(), State::Parked).await;
    assert_eq!(expired.entry.cause, Some(Cause::KeyExpired));
    let retry = Operation {
        plan,
        select: Selection {
            ids: vec![charge().key().clone()],
            ..Selection::default()
        },
        action: Action::Retry { new_key: true },
        by: Actor::new("ada").unwrap(),
        reason: None,
        verb: "inbox retry",
        dry_run: false,
        edit: None,
    };
    assert_eq!(rig.store.operate(retry).await.unwrap().changed, 1);
    rig.until(&charge(), State::Completed).await;
    running.shutdown().await;
    let keys: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.header("idempotency-key").unwrap().to_owned())
        .collect();
    assert_eq!(keys, ["orders@1:o-1:charge", "orders@1:o-1:charge:key-1"]);
}

#[tokio::test]
async fn retries_beyond_the_keys_lifetime_are_refused_before_anything_starts() {
    let rig = Rig::new();
    let hour = Duration::from_secs(3_600);
    let target = pay("http://127.0.0.1:1/").key_lifetime(Some(Duration::from_millis(100)));
    let refused = rig.engine().target(target).build().map(drop).unwrap_err();
    assert!(refused.to_string().contains("remembers a key"), "{refused}");
    let target = pay("http://127.0.0.1:1/").key_lifetime(Some(hour));
    assert!(rig.engine().target(target).build().is_ok());
}

#[tokio::test]
async fn a_failed_attempt_stores_no_intent_and_the_next_one_the_same() {
    let (rig, provider) = (Rig::new(), Provider::start(|_| None).await);
    let handler = handler_fn(|ctx| async move {
        ctx.intent("pay", "charge", "{}")?;
        match ctx.attempt() {
            3 => Ok(Done::new()),
            _ => Err(Failure::retryable("not yet")),
        }
    });
    let engine = rig.engine().target(pay(&provider.server.url("/charges")));
    let engine = engine.consumer(consumer("orders"), handler);
    let running = engine.build().unwrap().start();
    rig.receive(message("orders", "o-1", "{}")).await;
    rig.until(&charge(), State::Completed).await;
    running.shutdown().await;
    assert_eq!(provider.server.requests().len(), 1);
}

#[tokio::test]
async fn what_the_policy_forbids_fails_for_good_even_if_the_handler_goes_on() {
    let rig = Rig::new();
    let handler = handler_fn(|ctx| async move {
        let own = Draft::new("pay", "charge", "{}").id("my-own");
        let _ = match ctx.message().payload().as_ref() {
            b"own" => ctx.send(own),
            b"keyless" => ctx.intent("mail", "receipt", "{}"),
            _ => ctx.intent("nobody", "charge", "{}"),
        };
        Ok(Done::new())
    });
    let mut policy = consumer("orders");
    policy.provider_keys_required = true;
    let mail = Target::new("mail", "http://127.0.0.1:1/").unwrap();
    let engine = rig.engine().consumer(policy, handler);
    let engine = engine
        .target(pay("http://127.0.0.1:1/"))
        .target(mail.vendor(Vendor::SendGrid));
    let running = engine.build().unwrap().start();
    for (payload, expected) in [
        ("own", "brings its own"),
        ("keyless", "takes none"),
        ("nobody", "no target named"),
    ] {
        rig.receive(message("orders", payload, payload)).await;
        let id = identity("orders", payload);
        let detail = rig.until(&id, State::FailedTerminal).await;
        let error = detail.entry.error.unwrap();
        assert!(error.contains(expected), "{error}");
    }
    running.shutdown().await;
    let counts = rig.store.counts().await.unwrap();
    assert!(counts.iter().all(|c| c.consumer.name() == "orders"));
}

#[tokio::test]
async fn a_handler_in_any_language_answers_with_intents() {
    let (rig, provider) = (Rig::new(), Provider::start(|_| None).await);
    let document = r#"{"result": {"ok": true}, "intents": [
        {"name": "charge", "target": "pay", "body": {"amount": 19.90}, "headers": {"x-shop": "7"}}]}"#;
    let kind = [("content-type", "application/vnd.semel.intents+json")];
    let handler = Server::scripted(vec![with(200, &kind, document)]).await;
    let engine = rig.engine().target(pay(&provider.server.url("/charges")));
    let delivery = HttpHandler::new(&handler.url("/")).unwrap();
    let engine = engine.consumer(consumer("orders"), delivery);
    let running = engine.build().unwrap().start();
    rig.receive(message("orders", "o-1", "{}")).await;
    let order = rig
        .until(&identity("orders", "o-1"), State::Completed)
        .await;
    rig.until(&charge(), State::Completed).await;
    running.shutdown().await;
    let outcome = order.settled.unwrap().outcome;
    assert_eq!(outcome.body.kept().unwrap(), "{\"ok\": true}");
    let request = provider.server.requests().remove(0);
    assert_eq!(request.body, "{\"amount\": 19.90}");
    assert_eq!(request.header("x-shop"), Some("7"));
}
