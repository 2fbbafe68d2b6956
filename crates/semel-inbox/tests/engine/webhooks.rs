//! Webhooks: what is taken, what is refused, and what the sender is told.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{Baseline, OnGap, OnTerminal, Order, State};
use semel_core::{Identity, Inbox, ManualClock, Timestamp};
use semel_inbox::{Ack, Consumer, Vendor};
use semel_inbox::{Done, Failure, Rule, Running, Signature, Webhook, handler_fn};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Semaphore;

use crate::support::{Rig, consumer, identity};

/// An engine with one webhook, and a client.
struct Hook {
    running: Option<Running>,
    addr: SocketAddr,
    gate: Arc<Semaphore>,
}

impl Hook {
    /// The handler fails for good if the payload says so, and waits for the gate if it says that.
    async fn start(rig: &Rig, policy: Consumer, webhook: Webhook) -> Self {
        let gate = Arc::new(Semaphore::new(0));
        let waits = gate.clone();
        let handler = handler_fn(move |ctx| {
            let waits = waits.clone();
            async move {
                let payload = String::from_utf8_lossy(ctx.message().payload()).into_owned();
                if payload.contains("bad") {
                    return Err(Failure::terminal("bad"));
                }
                if payload.contains("slow") {
                    waits.acquire().await?.forget();
                }
                Ok(Done::new())
            }
        });
        let engine = rig.engine().consumer(policy, handler).build().unwrap();
        let running = engine.start();
        let router = running.router(vec![webhook]).unwrap();
        let mut hook = Self::serve(running, router).await;
        hook.gate = gate;
        hook
    }

    async fn serve(running: Running, router: axum::Router) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            running: Some(running),
            addr,
            gate: Arc::new(Semaphore::new(0)),
        }
    }

    async fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Told {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let request = client.post(format!("http://{}{path}", self.addr));
        let request = headers.iter().fold(request, |request, (name, value)| {
            request.header(*name, *value)
        });
        let response = request.body(body.to_owned()).send().await.unwrap();
        let status = response.status().as_u16();
        let retry_after = response.headers().contains_key("retry-after");
        let state = response.headers().get("semel-state");
        let state = state.map_or(String::new(), |state| state.to_str().unwrap().to_owned());
        let body = response.bytes().await.unwrap();
        Told {
            status,
            retry_after,
            state,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        }
    }

    async fn stop(mut self) {
        self.running.take().unwrap().shutdown().await;
    }
}

#[derive(Debug)]
struct Told {
    status: u16,
    retry_after: bool,
    /// What `Semel-State` says.
    state: String,
    body: serde_json::Value,
}

impl Told {
    fn problem(&self) -> &str {
        let kind = self.body["type"].as_str().unwrap_or_default();
        kind.strip_prefix("urn:semel:problem:").unwrap_or_default()
    }
}

const BINARY: [(&str, &str); 4] = [
    ("ce-specversion", "1.0"),
    ("ce-id", "1"),
    ("ce-source", "/shop"),
    ("ce-type", "order.made"),
];

#[tokio::test]
async fn cloud_events_are_taken_in_every_mode_and_are_the_same_message() {
    let rig = Rig::new();
    let hook = Hook::start(
        &rig,
        consumer("mail"),
        Webhook::new("mail".parse().unwrap()),
    )
    .await;
    let first = hook.post("/inbox/mail", &BINARY, "{\"a\":1}").await;
    assert_eq!(first.status, 202);
    assert_eq!(first.body["id"], "/shop#1");
    assert_eq!(first.body["duplicate"], false);
    rig.until(&identity("mail", "/shop#1"), State::Completed)
        .await;
    let again = hook.post("/inbox/mail@1", &BINARY, "{ \"a\": 1 }").await;
    assert_eq!(
        (again.status, &again.body["duplicate"]),
        (200, &true.into())
    );
    assert_eq!(again.body["state"], "COMPLETED");
    let other = hook.post("/inbox/mail", &BINARY, "{\"a\":2}").await;
    assert_eq!((other.status, other.state.as_str()), (202, "PARKED"));
    assert_eq!(other.body["conflict"], true);
    assert_eq!(other.body["cause"], "conflict");
    let structured = r#"{"specversion":"1.0","id":"2","source":"/shop","type":"t","data":{"a":1}}"#;
    let kind = [("content-type", "application/cloudevents+json")];
    let told = hook.post("/inbox/mail", &kind, structured).await;
    assert_eq!((told.status, &told.body["id"]), (202, &"/shop#2".into()));
    let batch = r#"[{"id":"2","source":"/shop","type":"t","data":{"a":1}},{"id":"3","source":"/shop","type":"t"}]"#;
    let kind = [("content-type", "application/cloudevents-batch+json")];
    let told = hook.post("/inbox/mail", &kind, batch).await;
    assert_eq!(told.status, 202);
    assert_eq!(told.body["messages"][0]["duplicate"], true);
    assert_eq!(told.body["messages"][1]["id"], "/shop#3");
    // The conflict is kept where a person finds it.
    let counts = rig.store.counts().await.unwrap();
    assert_eq!(counts[0].parked, 1);
    hook.stop().await;
}

#[tokio::test]
async fn what_is_no_message_is_refused_and_not_stored() {
    let rig = Rig::new();
    let mut policy = consumer("mail");
    policy.sequence_required = true;
    let webhook = Webhook::new("mail".parse().unwrap()).body_bytes_max(1_000);
    let hook = Hook::start(&rig, policy, webhook.rule(Rule::stripe())).await;
    let large = format!("{{\"id\":\"{}\"}}", "x".repeat(1_000));
    for (path, body, status, problem) in [
        ("/inbox/nobody", "{}", 404, "consumer-unknown"),
        ("/inbox/mail@2", "{}", 404, "consumer-unknown"),
        ("/inbox/mail", "{}", 400, "message-id-missing"),
        ("/inbox/mail", "not json", 400, "message-id-missing"),
        ("/inbox/mail", "{\"id\":{}}", 400, "message-invalid"),
        (
            "/inbox/mail",
            "{\"id\":\"1\"}",
            400,
            "message-sequence-missing",
        ),
        ("/inbox/mail", &large, 413, "body-too-large"),
    ] {
        let told = hook.post(path, &[], body).await;
        assert_eq!((told.status, told.problem()), (status, problem), "{body}");
    }
    assert!(rig.store.counts().await.unwrap().is_empty());
    hook.stop().await;
}

#[tokio::test]
async fn only_the_senders_signature_opens_the_door() {
    let rig = Rig::new();
    let signature = Signature::github(["old", "It's a Secret to Everybody"]).unwrap();
    let webhook = Webhook::new("mail".parse().unwrap()).signature(signature);
    let rule = Rule {
        id: vec![semel_inbox::source::Locator::header("X-GitHub-Delivery").unwrap()],
        ..Rule::default()
    };
    let hook = Hook::start(&rig, consumer("mail"), webhook.rule(rule)).await;
    let right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let signed = |signature| {
        [
            ("x-github-delivery", "g-1"),
            ("x-hub-signature-256", signature),
        ]
    };
    let wrong = right.replace('7', "8");
    let told = hook
        .post("/inbox/mail", &signed(&wrong), "Hello, World!")
        .await;
    assert_eq!((told.status, told.problem()), (401, "signature-invalid"));
    let told = hook
        .post("/inbox/mail", &signed(right)[..1], "Hello, World!")
        .await;
    assert_eq!(told.status, 401);
    let told = hook
        .post("/inbox/mail", &signed(right), "Hello, World?")
        .await;
    assert_eq!(told.status, 401);
    assert!(rig.store.counts().await.unwrap().is_empty());
    let told = hook
        .post("/inbox/mail", &signed(right), "Hello, World!")
        .await;
    assert_eq!(told.status, 202);
    rig.until(&identity("mail", "g-1"), State::Completed).await;
    hook.stop().await;
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
async fn credentials_are_not_kept_and_other_headers_are() {
    let rig = Rig::new();
    let webhook = Webhook::new("mail".parse().unwrap()).rule(Rule::stripe());
    let hook = Hook::start(&rig, consumer("mail"), webhook).await;
    let headers = [
        ("authorization", "Bearer s3cret"),
        ("cookie", "s3cret"),
        ("semel-fence", "9"),
        ("x-trace", "t"),
    ];
    hook.post("/inbox/mail", &headers, r#"{"id":"1"}"#).await;
    let detail = rig.until(&identity("mail", "1"), State::Completed).await;
    let message = detail.message.unwrap();
    let names: Vec<_> = message.headers().iter().map(|(name, _)| name).collect();
    assert!(names.contains(&"x-trace"), "{names:?}");
    for name in ["authorization", "cookie", "semel-fence", "host"] {
        assert!(!names.contains(&name), "{names:?}");
    }
    hook.stop().await;
}

#[tokio::test]
async fn stripes_second_delivery_differs_and_is_a_duplicate_all_the_same() {
    let rig = Rig::new();
    let webhook = Webhook::new("mail".parse().unwrap()).rule(Rule::stripe());
    let hook = Hook::start(&rig, consumer("mail"), webhook).await;
    for (pending, status) in [(2, 202), (1, 200)] {
        let body = format!(r#"{{"id":"evt_1","type":"t","pending_webhooks":{pending}}}"#);
        let told = hook.post("/inbox/mail", &[], &body).await;
        assert_eq!(told.status, status);
    }
    hook.stop().await;
}

#[tokio::test]
async fn an_idempotency_key_may_be_the_id_and_does_not_stay_with_the_message() {
    let rig = Rig::new();
    let rule = Rule {
        id: vec![semel_inbox::source::Locator::header("Idempotency-Key").unwrap()],
        ..Rule::cloud_events()
    };
    let webhook = Webhook::new("mail".parse().unwrap()).rule(rule);
    let hook = Hook::start(&rig, consumer("mail"), webhook).await;
    for (key, status) in [("\"k-1\"", 202), ("k-1", 200)] {
        let told = hook
            .post("/inbox/mail", &[("idempotency-key", key)], "hello")
            .await;
        assert_eq!((told.status, &told.body["id"]), (status, &"k-1".into()));
    }
    let detail = rig.until(&identity("mail", "k-1"), State::Completed).await;
    let message = detail.message.unwrap();
    assert!(
        message
            .headers()
            .iter()
            .all(|(name, _)| name != "idempotency-key")
    );
    hook.stop().await;
}

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
async fn signed_times_are_judged_by_wall_time_and_not_by_the_stores() {
    // The store's clock stands still, far from the wall's.
    let (rig, steady) = Rig::with_clock();
    let wall = Timestamp::from_millis(1_800_000_000_000);
    let stripe = Signature::stripe(["whsec"]).unwrap();
    let webhook = Webhook::new("mail".parse().unwrap())
        .rule(Rule::stripe())
        .clock(Arc::new(ManualClock::at(wall)))
        .signature(stripe);
    let handler = handler_fn(|_| async { Ok(Done::new()) });
    let engine = rig
        .engine()
        .clock(steady)
        .consumer(consumer("mail"), handler);
    let running = engine.build().unwrap().start();
    let router = running.router(vec![webhook]).unwrap();
    let hook = Hook::serve(running, router).await;
    // HMAC-SHA256 of `TIME.{"id":"1"}` with the secret `whsec`.
    for (signed, status) in [
        (
            "t=1800000000,v1=819bdebb84b36e2174eebf7d5f7ef268ee0570c9b6ad1559bd999a61638526ff",
            202,
        ),
        (
            "t=1700000000,v1=60734808e731b08d45bee887cade715d87211348f1bcb975b46c8d2e7fa5dbcd",
            401,
        ),
    ] {
        let headers = [("stripe-signature", signed)];
        let told = hook.post("/inbox/mail", &headers, r#"{"id":"1"}"#).await;
        assert_eq!(told.status, status, "{signed}");
    }
    hook.stop().await;
}

#[tokio::test]
async fn a_full_backlog_asks_senders_to_come_back() {
    let rig = Rig::new();
    let webhook = Webhook::new("mail".parse().unwrap()).rule(Rule::stripe());
    let hook = Hook::start(&rig, consumer("mail"), webhook).await;
    let name = "mail".parse().unwrap();
    let receiver = hook.running.as_ref().unwrap().receiver(&name).unwrap();
    receiver.set_full(true);
    let told = hook.post("/inbox/mail", &[], r#"{"id":"1"}"#).await;
    assert_eq!((told.status, told.problem()), (503, "backlog-full"));
    assert!(told.retry_after);
    assert!(rig.store.counts().await.unwrap().is_empty());
    receiver.set_full(false);
    let told = hook.post("/inbox/mail", &[], r#"{"id":"1"}"#).await;
    assert_eq!(told.status, 202);
    drop(receiver);
    hook.stop().await;
}

#[tokio::test]
async fn a_vendors_preset_finds_id_type_and_tenant_and_checks_the_signature() {
    let rig = Rig::new();
    // The notification and its signature are those of Adyen's documentation.
    let key = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056";
    let body = r#"{"live":"false","notificationItems":[{"NotificationRequestItem":{
        "additionalData":{"hmacSignature":"coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0="},
        "amount":{"value":1130,"currency":"EUR"},"pspReference":"7914073381342284",
        "eventCode":"AUTHORISATION","merchantAccountCode":"TestMerchant",
        "merchantReference":"TestPayment-1407325143704","success":"true"}}]}"#;
    let webhook = Webhook::new("mail".parse().unwrap())
        .rule(Rule::vendor(Vendor::Adyen).unwrap())
        .signature(Signature::vendor(Vendor::Adyen, [key]).unwrap());
    let hook = Hook::start(&rig, consumer("mail"), webhook).await;
    let told = hook.post("/inbox/mail", &[], body).await;
    assert_eq!(told.body["id"], "AUTHORISATION:7914073381342284");
    let id = "AUTHORISATION:7914073381342284";
    let identity = Identity::parse("TestMerchant", "mail", id).unwrap();
    let detail = rig.until(&identity, State::Completed).await;
    assert_eq!(detail.entry.kind.as_deref(), Some("AUTHORISATION"));
    let forged = body.replace("1130", "1");
    let told = hook.post("/inbox/mail", &[], &forged).await;
    assert_eq!((told.status, told.problem()), (401, "signature-invalid"));
    hook.stop().await;
}
