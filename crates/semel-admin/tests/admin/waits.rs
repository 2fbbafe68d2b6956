//! Long polls: callers that wait for a run to end.

use serde_json::{Value, json};

use crate::server::{Server, about, query};

/// Claims `k` in a task of its own, with patience.
fn waiting(server: &Server, more: Value) -> tokio::task::JoinHandle<crate::http::Response> {
    let address = server.address;
    tokio::spawn(
        async move { crate::http::post(address, "/api/v1/claims", about("k", more)).await },
    )
}

/// Waits until so many callers wait.
async fn until_waiting(server: &Server, callers: usize) {
    let line = format!("semel_budget_used{{budget=\"claims_waiting\"}} {callers}\n");
    while !server.metrics.text().contains(&line) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_patient_claim_gets_the_outcome_when_the_run_settles() {
    let server = Server::start().await;
    let fence = server.fence("k").await;
    let patient = waiting(&server, json!({ "wait": "30s" }));
    until_waiting(&server, 1).await;
    assert!(!patient.is_finished());
    let settle = about(
        "k",
        json!({ "fence": fence, "verdict": "succeeded", "body": "done" }),
    );
    assert_eq!(
        server.post("/api/v1/claims/settle", settle).await.status,
        200
    );
    let answer = patient.await.unwrap();
    assert_eq!(
        (answer.status, &answer.json()["state"]),
        (200, &json!("settled"))
    );
    assert_eq!(answer.json()["outcome"]["body"]["text"], "done");
}

#[tokio::test]
async fn a_patient_claim_is_granted_when_the_run_is_given_back() {
    let server = Server::start().await;
    let fence = server.fence("k").await;
    let patient = waiting(&server, json!({ "wait": "30s" }));
    until_waiting(&server, 1).await;
    let release = about("k", json!({ "fence": fence }));
    assert_eq!(
        server.post("/api/v1/claims/release", release).await.status,
        200
    );
    let granted = patient.await.unwrap();
    assert_eq!(granted.status, 201, "{granted:?}");
    assert!(granted.json()["fence"].as_u64().unwrap() > fence);
}

#[tokio::test]
async fn patience_ends() {
    let server = Server::start().await;
    server.fence("k").await;
    let refused = waiting(&server, json!({ "wait": "20ms" })).await.unwrap();
    assert_eq!(
        (refused.status, refused.problem().as_str()),
        (409, "in-progress")
    );
    let path = format!("/api/v1/claims?{}&wait=20ms", query("k"));
    let looked = server.get(&path).await;
    assert_eq!(
        (looked.status, &looked.json()["state"]),
        (200, &json!("running"))
    );
    // Another request is refused at once, whatever its patience.
    let other = json!({ "wait": "30s", "request": 1 });
    assert_eq!(
        waiting(&server, other).await.unwrap().problem(),
        "key-reused"
    );
    let path = format!("/api/v1/claims?{}&wait=30s", query("absent"));
    assert_eq!(server.get(&path).await.status, 404);
}

#[tokio::test]
async fn a_look_waits_for_the_end_of_the_run() {
    let server = Server::start().await;
    let fence = server.fence("k").await;
    let (address, path) = (
        server.address,
        format!("/api/v1/claims?{}&wait=30s", query("k")),
    );
    let looking = tokio::spawn(async move { crate::http::get(address, &path).await });
    until_waiting(&server, 1).await;
    let unknown = about("k", json!({ "fence": fence }));
    assert_eq!(
        server.post("/api/v1/claims/unknown", unknown).await.status,
        200
    );
    let looked = looking.await.unwrap();
    assert_eq!(
        (looked.status, &looked.json()["state"]),
        (200, &json!("unknown"))
    );
}

#[tokio::test]
async fn a_wait_has_a_limit() {
    let server = Server::start().await;
    let refused = waiting(&server, json!({ "wait": "31s" })).await.unwrap();
    assert_eq!(
        (refused.problem().as_str(), &refused.json()["field"]),
        ("invalid-input", &json!("wait"))
    );
    let path = format!("/api/v1/claims?{}&wait=1h", query("k"));
    assert_eq!(server.get(&path).await.problem(), "invalid-input");
}

#[tokio::test]
async fn so_many_wait_for_one_key_and_the_next_is_answered_at_once() {
    let server = Server::start().await;
    server.fence("k").await;
    let patient = || waiting(&server, json!({ "wait": "30s" }));
    let many: Vec<_> = (0..32).map(|_| patient()).collect();
    until_waiting(&server, 32).await;
    let refused = patient().await.unwrap();
    assert_eq!(refused.problem(), "in-progress");
    assert!(many.iter().all(|one| !one.is_finished()));
    // Callers that hang up give their places back.
    many.iter().for_each(tokio::task::JoinHandle::abort);
    until_waiting(&server, 0).await;
}
