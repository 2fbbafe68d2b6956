//! What operators do beside changes of messages: pausing consumers, new keys, consumers that the configuration does not name.

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{Cause, Disposition};
use semel_inbox::{CircuitState, Observer};
use serde_json::json;

use crate::inbox::{failed, filled, message};
use crate::metrics::{assert_has, metrics_with};
use crate::server::Server;

#[tokio::test]
async fn a_paused_consumer_receives_and_runs_nothing_until_it_is_resumed() {
    let server = filled().await;
    let paused = server
        .act("pause", json!({ "consumer": "mailer", "reason": "INC-7" }))
        .await
        .json();
    let expected = json!({ "consumer": "mailer@1", "paused": true, "changed": true });
    assert_eq!(paused, expected);
    let again = server.act("pause", json!({ "consumer": "mailer" })).await;
    assert_eq!(again.json()["changed"], false);

    server.arrive("while-paused").await;
    assert!(server.claim_batch("mailer@1").await.paused);
    let counts = server.get("/api/v1/inbox/counts").await.json();
    let pause = &counts["consumers"][0]["paused"];
    assert_eq!(
        (&pause["by"], &pause["reason"]),
        (&json!("no-token:ada"), &json!("INC-7"))
    );
    let stats = server.get("/api/v1/stats").await.json();
    assert_eq!(stats["paused_consumers"], json!(["mailer@1"]));
    metrics_with(&server, &["semel_inbox_paused{consumer=\"mailer@1\"} 1"]).await;

    let resumed = server.act("resume", json!({ "consumer": "mailer" })).await;
    assert_eq!(resumed.json()["paused"], false);
    assert_eq!(server.claim_batch("mailer@1").await.jobs.len(), 1);
    let audit = server.get("/api/v1/inbox/audit").await.json();
    let lines = audit["audit"].as_array().unwrap();
    let actions: Vec<_> = lines.iter().map(|line| &line["action"]).collect();
    assert_eq!(actions, ["resume", "pause"]);
}

#[tokio::test]
async fn a_consumer_that_does_not_exist_is_not_paused() {
    let server = filled().await;
    let refused = server.act("pause", json!({ "consumer": "mialer" })).await;
    assert_eq!(refused.problem(), "not-found");
    let known = server.act("pause", json!({ "consumer": "indexer" })).await;
    assert_eq!(known.status, 200, "{known:?}");
}

#[tokio::test]
async fn a_new_key_needs_a_reason_and_is_in_the_audit() {
    let server = filled().await;
    let retry = json!({ "consumer": "mailer", "ids": ["parked"], "new_key": true });
    let refused = server.act("retry", retry.clone()).await;
    assert_eq!(refused.problem(), "invalid-input");
    assert_eq!(refused.json()["field"], "reason");
    let mut reasoned = retry.clone();
    reasoned["reason"] = json!("INC-7: the provider lost it");
    assert_eq!(
        server.act("park", reasoned.clone()).await.json()["field"],
        "new_key"
    );
    let done = server.act("retry", reasoned).await.json();
    assert_eq!(done["action"], "retry-with-new-key");
    let audit = server.get("/api/v1/inbox/audit").await.json();
    assert_eq!(audit["audit"][0]["action"], "retry-with-new-key");
}

#[tokio::test]
async fn what_a_handler_answered_is_shown_only_if_asked_for() {
    let server = Server::start().await;
    let answer = bytes::Bytes::from_static(b"{\"iban\":\"secret\"}");
    let error = ErrorText::new("the handler answered 500").with_answer(&answer);
    let cause = Cause::AttemptsExhausted;
    server
        .deal("evt-1", Disposition::Park { cause, error })
        .await;
    let path = "/api/v1/inbox/one?consumer=mailer&id=evt-1";
    let hidden = server.get(path).await;
    assert!(!hidden.body.contains("iban"), "{}", hidden.body);
    assert_eq!(hidden.json()["attempts"][0]["answer"]["bytes"], 17);
    let shown = server.get(&format!("{path}&answers=true")).await.json();
    let text = &shown["attempts"][0]["answer"]["text"];
    assert_eq!(text, "{\"iban\":\"secret\"}");
}

#[tokio::test]
async fn messages_of_a_consumer_that_is_not_configured_are_an_alert() {
    let server = filled().await;
    let unserved = "semel_alert{consumer=\"mailer@1\",alert=\"unserved\"} 1";
    metrics_with(&server, &[unserved]).await;
    let counts = server.get("/api/v1/inbox/counts").await.json();
    assert_eq!(counts["consumers"][0]["served"], false);
}

#[tokio::test]
async fn without_its_policy_messages_with_keys_are_skipped_and_not_run() {
    let server = filled().await;
    let job = server.ordered("ordered").await;
    server.finish(job, failed(Cause::Handler)).await;
    for verb in ["retry", "unpark"] {
        let refused = server
            .act(verb, json!({ "consumer": "sender", "ids": ["ordered"] }))
            .await;
        assert_eq!(refused.problem(), "decision-refused", "{verb}");
    }
    let retried = server
        .act("retry", json!({ "consumer": "mailer", "ids": ["parked"] }))
        .await;
    assert_eq!(retried.json()["changed"], 1);
    let skipped = server
        .act("skip", json!({ "consumer": "sender", "ids": ["ordered"] }))
        .await;
    assert_eq!(skipped.json()["changed"], 1);
}

impl Server {
    /// Receives and claims a message with a lane of a consumer that is not configured.
    async fn ordered(&self, id: &str) -> semel_core::inbox::Job {
        let message = message("sender@1", id).with_lane("order-1".parse().unwrap());
        self.receive(vec![message]).await;
        self.claimed("sender@1").await
    }
}

#[tokio::test]
async fn the_circuit_of_a_consumer_is_in_the_counts_and_in_the_metrics() {
    let server = filled().await;
    let counts = server.get("/api/v1/inbox/counts").await.json();
    assert!(counts["consumers"][0]["circuit"].is_null());
    let consumer = "mailer@1".parse().unwrap();
    for (state, name, number) in [
        (CircuitState::Open, "open", 2),
        (CircuitState::HalfOpen, "half-open", 1),
        (CircuitState::Closed, "closed", 0),
    ] {
        server.metrics.circuit(&consumer, state);
        let counts = server.get("/api/v1/inbox/counts").await.json();
        assert_eq!(counts["consumers"][0]["circuit"], name);
        let text = server.get("/metrics").await.body;
        let series = format!("semel_inbox_circuit{{consumer=\"mailer@1\"}} {number}");
        assert_has(&text, &[&series]);
    }
}
