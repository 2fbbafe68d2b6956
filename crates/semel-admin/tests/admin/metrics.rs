//! What is counted, and what never becomes a label.

use std::sync::Arc;
use std::time::Duration;

use semel_admin::metrics::SCOPES_MAX;
use semel_admin::{Config, Metrics};
use semel_core::store::Verb;
use semel_core::{Identity, Scope, Store, StoreExt};
use semel_http::event::{Answered, Event, What};
use semel_http::{RequestObserver, Type};
use semel_testkit::faulty::{Fault, Faulty};
use semel_testkit::gate::Gate;
use serde_json::json;

use crate::server::{Server, about};

/// Fails unless every line is there.
pub(crate) fn assert_has(text: &str, lines: &[&str]) {
    for line in lines {
        let found = text.lines().any(|found| found == *line);
        assert!(found, "{line}\nis not in\n{text}");
    }
}

#[tokio::test]
async fn traffic_shows_in_the_series() {
    let server = Server::start().await;
    let first = server.fence("secret-key").await;
    server.claim("secret-key").await;
    let reused = about("secret-key", json!({ "request": 1 }));
    server.post("/api/v1/claims", reused).await;
    server.wait(31);
    server.claim("secret-key").await;
    let takeover = about("secret-key", json!({ "takeover": "allowed" }));
    let second = server.post("/api/v1/claims", takeover).await.json()["fence"].clone();
    for fence in [json!(first), second] {
        let settle = about(
            "secret-key",
            json!({ "fence": fence, "verdict": "succeeded" }),
        );
        server.post("/api/v1/claims/settle", settle).await;
    }
    server.claim("secret-key").await;
    metrics_with(&server, &["semel_late_outcomes 1"]).await;
    let metrics = server.get("/metrics").await;
    let text = &metrics.body;
    assert_eq!(
        metrics.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    assert_has(
        text,
        &[
            "semel_build_info{version=\"0.1.0\"} 1",
            "semel_store_answers_total{verb=\"claim\",answer=\"granted\"} 1",
            "semel_store_answers_total{verb=\"claim\",answer=\"took-over\"} 1",
            "semel_store_answers_total{verb=\"claim\",answer=\"running\"} 1",
            "semel_store_answers_total{verb=\"claim\",answer=\"settled\"} 1",
            "semel_store_answers_total{verb=\"claim\",answer=\"unknown\"} 1",
            "semel_store_answers_total{verb=\"claim\",answer=\"mismatch\"} 1",
            "semel_store_answers_total{verb=\"settle\",answer=\"succeeded\"} 1",
            "semel_store_answers_total{verb=\"settle\",answer=\"late\"} 1",
            "semel_store_answers_total{verb=\"settle\",answer=\"failed\"} 0",
            "semel_store_seconds_count{verb=\"claim\"} 6",
            "semel_store_items_bucket{le=\"1.0\",verb=\"claim\"} 6",
            // One of them is the probe of readiness.
            "semel_store_batch_size_bucket{le=\"1.0\"} 8",
            "semel_store_commit_seconds_count 8",
            "semel_leases_ended_total 1",
            "semel_records{state=\"settled\"} 1",
            "semel_records{state=\"running\"} 0",
            "semel_late_outcomes 1",
            "semel_store_up 1",
            "# EOF",
        ],
    );
    assert!(text.contains("semel_store_bytes ") && !text.contains("semel_store_bytes 0"));
    assert!(
        !text.contains("secret-key") && !text.contains("acme"),
        "{text}"
    );
}

#[test]
fn a_clock_that_is_doubted_shows_until_it_is_believed() {
    let metrics = Metrics::new();
    let doubt = semel_core::clock::Doubt {
        by: Duration::from_secs(86_400),
        since: semel_core::Timestamp::from_millis(0),
    };
    for (doubt, expected) in [(Some(doubt), 86_400), (None, 0)] {
        semel_core::store::StoreObserver::clock_doubted(&metrics, doubt);
        let line = format!("semel_store_clock_jump_seconds {expected}");
        assert_has(&metrics.text(), &[&line]);
    }
}

/// The metrics as soon as they say all of this: counts may be a second old.
pub(crate) async fn metrics_with(server: &Server, expected: &[&str]) -> String {
    let asking = async {
        loop {
            let text = server.get("/metrics").await.body;
            let mut expected = expected.iter();
            if expected.all(|line| text.lines().any(|found| found == *line)) {
                return text;
            }
        }
    };
    match tokio::time::timeout(Duration::from_secs(60), asking).await {
        Ok(text) => text,
        Err(_) => {
            let text = server.get("/metrics").await.body;
            assert_has(&text, expected);
            text
        }
    }
}

#[tokio::test]
async fn a_store_that_does_not_answer_is_not_up() {
    let (server, faulty) = Server::faulty_and_probed(Duration::from_millis(20)).await;
    metrics_with(&server, &["semel_store_up 1"]).await;
    faulty.set_all(Fault::Away);
    server.claim("k").await;
    let failed = "semel_store_errors_total{verb=\"claim\",kind=\"unavailable\"} 1";
    metrics_with(&server, &["semel_store_up 0", failed]).await;
    faulty.heal_all();
    metrics_with(&server, &["semel_store_up 1"]).await;
}

#[tokio::test]
async fn a_store_that_counts_slowly_is_up_and_its_counts_come_late() {
    let gate = Gate::closed();
    let held = gate.clone();
    let around = |store| {
        let store = Faulty::new(store);
        store.set(Verb::Stats, Fault::Gated(held));
        store as Arc<dyn Store>
    };
    let server = Server::start_with(Config::default(), around).await;
    server.fence("k").await;
    let text = server.get("/metrics").await.body;
    let (none, one) = (
        "semel_records{state=\"running\"} 0",
        "semel_records{state=\"running\"} 1",
    );
    assert_has(&text, &["semel_store_up 1", none]);
    gate.open();
    let text = metrics_with(&server, &[one]).await;
    assert_has(&text, &["semel_store_up 1"]);
}

fn saw(metrics: &Metrics, scope: &str, what: What, status: u16) {
    let scope: Scope = scope.parse().unwrap();
    let identity = Identity::parse("acme", &scope.to_string(), "secret-key").unwrap();
    metrics.saw(&Event {
        scope: &scope,
        identity: Some(&identity),
        what,
        status,
        took: Duration::from_millis(3),
    });
}

#[test]
fn doors_report_requests_by_scope_and_by_what_became_of_them() {
    let metrics = Metrics::new();
    saw(&metrics, "payments@1", What::Replayed, 201);
    saw(&metrics, "payments@1", What::Replayed, 200);
    saw(&metrics, "payments@1", What::Refused(Type::InProgress), 409);
    saw(&metrics, "payments@1", What::Refused(Type::KeyReused), 422);
    saw(&metrics, "orders@2", What::Passed, 0);
    let text = metrics.text();
    assert_has(
        &text,
        &[
            "semel_requests_total{scope=\"payments@1\",outcome=\"replayed\",status=\"2xx\"} 2",
            "semel_requests_total{scope=\"payments@1\",outcome=\"in-progress\",status=\"4xx\"} 1",
            "semel_requests_total{scope=\"payments@1\",outcome=\"key-reused\",status=\"4xx\"} 1",
            "semel_requests_total{scope=\"orders@2\",outcome=\"passed\",status=\"none\"} 1",
            "semel_request_seconds_count{scope=\"payments@1\"} 4",
            "semel_request_seconds_bucket{le=\"0.005\",scope=\"payments@1\"} 4",
            "semel_request_seconds_bucket{le=\"0.0025\",scope=\"payments@1\"} 0",
        ],
    );
    assert!(
        !text.contains("secret-key") && !text.contains("acme"),
        "{text}"
    );
}

#[test]
fn keyed_requests_that_no_route_guards_are_counted_by_method() {
    let metrics = Metrics::new();
    for method in ["PUT", "PUT", "DELETE", "MADE-UP", "put"] {
        metrics.saw_unguarded(&method.parse().unwrap());
    }
    assert_has(
        &metrics.text(),
        &[
            "semel_unguarded_keyed_requests_total{method=\"PUT\"} 2",
            "semel_unguarded_keyed_requests_total{method=\"DELETE\"} 1",
            "semel_unguarded_keyed_requests_total{method=\"other\"} 2",
        ],
    );
}

#[test]
fn scopes_beyond_the_limit_share_a_label() {
    let metrics = Metrics::new();
    for number in 0..SCOPES_MAX + 10 {
        saw(&metrics, &format!("scope-{number}"), What::Replayed, 200);
    }
    saw(&metrics, "scope-0", What::Replayed, 200);
    let text = metrics.text();
    let labels = text.matches("semel_request_seconds_count{").count();
    assert_eq!(labels, SCOPES_MAX + 1);
    assert_has(
        &text,
        &[
            "semel_requests_total{scope=\"other\",outcome=\"replayed\",status=\"2xx\"} 10",
            "semel_requests_total{scope=\"scope-0@1\",outcome=\"replayed\",status=\"2xx\"} 2",
            "semel_request_seconds_count{scope=\"other\"} 10",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_share_a_commit_are_counted_as_one_batch() {
    let server = Server::start().await;
    let identity = |n: usize| Identity::parse("acme", "payments@1", &n.to_string()).unwrap();
    let store = Arc::clone(&server.store);
    let claims = (0..64).map(|n| {
        let (store, identity) = (store.clone(), identity(n));
        tokio::spawn(async move {
            let request = semel_core::store::ClaimRequest {
                identity,
                fingerprint: semel_core::Fingerprint::none(),
                lease: semel_core::LeaseTerm::default(),
                takeover: semel_core::store::Takeover::Never,
                about: None,
                nonce: None,
            };
            store.claim_one(request).await.unwrap()
        })
    });
    for claim in claims.collect::<Vec<_>>() {
        claim.await.unwrap();
    }
    let text = server.metrics.text();
    // And the probe of readiness.
    assert_has(&text, &["semel_store_batch_size_sum 65.0"]);
}

#[test]
fn a_verb_that_is_never_called_has_no_series() {
    let text = Metrics::new().text();
    for name in [
        "semel_store_seconds",
        "semel_store_answers",
        "semel_store_batch_size",
    ] {
        let series = text.lines().filter(|line| line.starts_with(name));
        assert_eq!(series.count(), 0, "{text}");
    }
}

#[test]
fn what_services_answer_is_counted_by_scope_and_class_and_scopes_are_bounded() {
    let metrics = Metrics::new();
    let took = Duration::from_millis(3);
    let saw = |scope: &str, answered| metrics.saw_upstream(&scope.parse().unwrap(), answered, took);
    saw("payments@1", Answered::Status(201));
    saw("payments@1", Answered::Status(503));
    saw("payments@1", Answered::Unreached);
    saw("payments@1", Answered::Broken);
    for number in 0..SCOPES_MAX + 9 {
        saw(&format!("scope-{number}"), Answered::Status(200));
    }
    let text = metrics.text();
    assert_has(
        &text,
        &[
            "semel_upstream_answers_total{scope=\"payments@1\",status=\"2xx\"} 1",
            "semel_upstream_answers_total{scope=\"payments@1\",status=\"5xx\"} 1",
            "semel_upstream_answers_total{scope=\"payments@1\",status=\"unreached\"} 1",
            "semel_upstream_answers_total{scope=\"payments@1\",status=\"broken\"} 1",
            "semel_upstream_seconds_count{scope=\"payments@1\"} 4",
            "semel_upstream_answers_total{scope=\"other\",status=\"2xx\"} 10",
        ],
    );
    let scopes = text.matches("semel_upstream_seconds_count{").count();
    assert_eq!(scopes, SCOPES_MAX + 1);
}

#[test]
fn the_process_says_what_it_knows_of_itself() {
    let metrics = Metrics::new();
    metrics.watch_cache(|| (7, 2));
    metrics.watch_certificate("gateway", || Some(1_800_000_000));
    metrics.watch_certificate("admin", || None);
    metrics.configuration_loaded(semel_core::Timestamp::from_millis(1_500));
    let text = metrics.text();
    assert_has(
        &text,
        &[
            "semel_cache_lookups_total{result=\"hit\"} 7",
            "semel_cache_lookups_total{result=\"miss\"} 2",
            "semel_certificate_expiry_timestamp_seconds{port=\"gateway\"} 1800000000.0",
            "semel_configuration_loaded_timestamp_seconds 1.5",
            "semel_reload_ok 1",
        ],
    );
    assert!(!text.contains("port=\"admin\""), "{text}");
}
