//! Webhooks: what is taken and what is refused.

use std::sync::Arc;

use semel_core::inbox::State;
use semel_core::{Identity, Inbox, ManualClock, Timestamp};
use semel_inbox::{Done, Rule, Signature, Vendor, Webhook, handler_fn};

use crate::support::hook::Hook;
use crate::support::{Rig, consumer, identity};

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
        ("/inbox/%ff", "{}", 404, "consumer-unknown"),
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
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let got = client.get(format!("http://{}/inbox/mail", hook.addr));
    let got = got.send().await.unwrap();
    assert_eq!(
        (got.status().as_u16(), &got.headers()["allow"]),
        (405, &"POST".parse().unwrap())
    );
    let got = got.text().await.unwrap();
    assert!(
        got.contains("urn:semel:problem:method-not-allowed"),
        "{got}"
    );
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

#[tokio::test]
async fn a_message_that_has_no_room_in_memory_is_refused_and_nothing_is_stored() {
    let (rig, memory) = (Rig::new(), semel_http::Memory::new(1_000));
    let webhook = Webhook::new("mail".parse().unwrap()).memory(memory.clone());
    let hook = Hook::start(&rig, consumer("mail"), webhook).await;
    let others = memory.hold(999);
    let refused = hook.post("/inbox/mail", &BINARY, "{\"a\":1}").await;
    assert_eq!((refused.status, refused.retry_after), (503, true));
    assert_eq!(refused.body["budget"], "buffered_bytes");
    assert!(rig.store.counts().await.unwrap().is_empty());
    drop(others);
    let taken = hook.post("/inbox/mail", &BINARY, "{\"a\":1}").await;
    assert_eq!(taken.status, 202);
    hook.stop().await;
    assert_eq!(memory.held(), 0);
}
