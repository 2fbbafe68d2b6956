//! What senders hear: 2xx for whatever is durable, with the state in the answer, and a problem for what was not stored.

use std::time::Duration;

use semel_core::Inbox;
use semel_core::inbox::{Baseline, OnGap, OnTerminal, Order, State};
use semel_core::store::Actor;
use semel_inbox::{Ack, Rule, Webhook};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::hook::Hook;
use crate::support::{Rig, consumer, eventually, identity};

/// Places of messages with a key and a version.
fn versioned() -> Rule {
    let at = |path: &str| semel_inbox::source::Locator::body(path).unwrap();
    Rule {
        id: vec![at("$.id")],
        lane: Some(at("$.key")),
        sequence: Some(at("$.version")),
        ..Rule::default()
    }
}

#[tokio::test]
async fn after_the_effect_the_sender_learns_what_became_of_it() {
    let rig = Rig::new();
    let mut policy = consumer("mail");
    policy.ack = Ack::AfterEffect;
    let webhook = Webhook::new("mail".parse().unwrap()).rule(Rule::stripe());
    let patient = webhook.clone().wait(Duration::from_secs(180));
    let hook = Hook::start(&rig, policy.clone(), patient).await;
    let good = hook.post("/inbox/mail", &[], r#"{"id":"1"}"#).await;
    assert_eq!(
        (good.status, &good.body["state"]),
        (200, &"COMPLETED".into())
    );
    let bad = hook.post("/inbox/mail", &[], r#"{"id":"2","bad":1}"#).await;
    assert_eq!((bad.status, bad.state.as_str()), (202, "FAILED_TERMINAL"));
    assert_eq!(bad.body["state"], "FAILED_TERMINAL");
    assert_eq!(bad.body["cause"], "terminal");
    assert_eq!(
        (bad.retry_after, &bad.body["waiting"]),
        (false, &false.into())
    );
    hook.stop().await;
    let hook = Hook::start(&rig, policy, webhook.wait(Duration::from_millis(1))).await;
    let slow = r#"{"id":"3","slow":1}"#;
    let told = hook.post("/inbox/mail", &[], slow).await;
    assert_eq!((told.status, told.retry_after), (202, true));
    assert_eq!(told.body["waiting"], true);
    hook.gate.add_permits(1);
    rig.until(&identity("mail", "3"), State::Completed).await;
    let again = hook.post("/inbox/mail", &[], slow).await;
    assert_eq!(
        (again.status, &again.body["duplicate"]),
        (200, &true.into())
    );
    hook.stop().await;
}

#[tokio::test]
async fn a_version_before_its_predecessor_waits_and_is_not_called_failed() {
    let rig = Rig::new();
    let mut policy = consumer("mail");
    policy.ack = Ack::AfterEffect;
    policy.plan.order = Order::Sequence {
        baseline: Baseline::After(0),
        on_gap: OnGap::default(),
        on_terminal: OnTerminal::Park,
    };
    let webhook = Webhook::new("mail".parse().unwrap()).rule(versioned());
    let hook = Hook::start(&rig, policy, webhook.wait(Duration::from_secs(180))).await;
    let second = r#"{"id":"b","key":"k","version":2}"#;
    let told = hook.post("/inbox/mail", &[], second).await;
    assert_eq!((told.status, told.state.as_str()), (202, "PARKED"));
    assert_eq!(told.body["cause"], "gap");
    assert_eq!(
        (told.retry_after, &told.body["waiting"]),
        (true, &true.into())
    );
    let first = r#"{"id":"a","key":"k","version":1}"#;
    let told = hook.post("/inbox/mail", &[], first).await;
    assert_eq!((told.status, told.state.as_str()), (200, "COMPLETED"));
    rig.until(&identity("mail", "b"), State::Completed).await;
    let again = hook.post("/inbox/mail", &[], second).await;
    assert_eq!((again.status, again.state.as_str()), (200, "COMPLETED"));
    // Behind a head that failed, a version waits for that head; it has not failed itself.
    let bad = r#"{"id":"c","key":"k","version":3,"bad":1}"#;
    let told = hook.post("/inbox/mail", &[], bad).await;
    assert_eq!((told.status, told.state.as_str()), (202, "FAILED_TERMINAL"));
    let behind = r#"{"id":"d","key":"k","version":4}"#;
    let told = hook.post("/inbox/mail", &[], behind).await;
    assert_eq!((told.status, told.state.as_str()), (202, "PARKED"));
    assert_eq!(told.body["cause"], "behind-failed");
    assert_eq!(told.body["waiting"], true);
    hook.stop().await;
}

#[tokio::test]
async fn one_bad_event_does_not_refuse_its_batch() {
    let rig = Rig::new();
    let mut policy = consumer("mail");
    policy.plan.order = Order::Sequence {
        baseline: Baseline::FirstSeen,
        on_gap: OnGap::default(),
        on_terminal: OnTerminal::Park,
    };
    let webhook = Webhook::new("mail".parse().unwrap());
    let hook = Hook::start(&rig, policy, webhook).await;
    let batch = r#"[
        {"id":"1","source":"s","type":"t","partitionkey":"k","sequence":"1"},
        {"id":"2","source":"s","type":"t","partitionkey":"k","sequence":"two"},
        {"source":"s","type":"t"},
        {"id":"3","source":"s","type":"t","partitionkey":"l","sequence":"1"}]"#;
    let kind = [("content-type", "application/cloudevents-batch+json")];
    let told = hook.post("/inbox/mail", &kind, batch).await;
    assert_eq!((told.status, told.state.as_str()), (207, "RECEIVED"));
    let statuses = told.body["messages"].as_array().unwrap().iter();
    let statuses: Vec<_> = statuses
        .map(|one| one["status"].as_u64().unwrap())
        .collect();
    assert_eq!(statuses, [202, 400, 400, 202]);
    assert_eq!(
        told.body["messages"][1]["type"],
        "urn:semel:problem:message-invalid"
    );
    rig.until(&identity("mail", "s#1"), State::Completed).await;
    rig.until(&identity("mail", "s#3"), State::Completed).await;
    let all_bad = r#"[{"source":"s","type":"t"},{"id":"9","type":"t"}]"#;
    let told = hook.post("/inbox/mail", &kind, all_bad).await;
    assert_eq!((told.status, told.problem()), (400, "message-invalid"));
    hook.stop().await;
}

#[tokio::test]
async fn a_body_that_stops_arriving_is_answered_408_after_the_configured_time() {
    let rig = Rig::new();
    let webhook = Webhook::new("mail".parse().unwrap()).body_timeout(Duration::from_millis(50));
    let hook = Hook::start(&rig, consumer("mail"), webhook).await;
    let mut stream = tokio::net::TcpStream::connect(hook.addr).await.unwrap();
    let head = "POST /inbox/mail HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\nhalf";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") {
        assert_ne!(stream.read_buf(&mut answer).await.unwrap(), 0);
    }
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(
        answer.contains("urn:semel:problem:body-timeout"),
        "{answer}"
    );
    hook.stop().await;
}

#[tokio::test]
async fn a_full_backlog_asks_senders_to_come_back() {
    let rig = Rig::new();
    let webhook = Webhook::new("mail".parse().unwrap()).rule(Rule::stripe());
    let mut policy = consumer("mail");
    policy.backlog_max = Some(1);
    // What is paused stays in the backlog.
    let paused = |paused| {
        let (name, by) = ("mail".parse().unwrap(), Actor::new("ada").unwrap());
        rig.store.set_paused(name, paused, by, None)
    };
    paused(true).await.unwrap();
    let hook = Hook::start(&rig, policy, webhook).await;
    let told = hook.post("/inbox/mail", &[], r#"{"id":"1"}"#).await;
    assert_eq!(told.status, 202);
    let told = hook.post("/inbox/mail", &[], r#"{"id":"2"}"#).await;
    assert_eq!((told.status, told.problem()), (503, "backlog-full"));
    assert!(told.retry_after);
    assert_eq!(rig.store.counts().await.unwrap()[0].received, 1);
    paused(false).await.unwrap();
    eventually("there is room again", async || {
        let told = hook.post("/inbox/mail", &[], r#"{"id":"2"}"#).await;
        (told.status == 202).then_some(())
    })
    .await;
    hook.stop().await;
}
