//! Records for operators.

use insta::assert_snapshot;
use serde_json::json;

use crate::server::{Server, about, query};

#[tokio::test]
async fn records_are_listed_page_by_page() {
    let server = Server::start().await;
    for key in ["a", "b", "c"] {
        server.fence(key).await;
    }
    let keys = |page: &serde_json::Value| -> Vec<String> {
        let records = page["records"].as_array().unwrap().iter();
        records
            .map(|r| r["key"].as_str().unwrap().to_owned())
            .collect()
    };
    let page = server
        .get("/api/v1/records?limit=2&tenant=acme")
        .await
        .json();
    assert_eq!(
        (keys(&page), &page["next"]),
        (vec!["c".into(), "b".into()], &json!("2"))
    );
    let path = "/api/v1/records?limit=2&scope=payments&before=2";
    let page = server.get(path).await.json();
    assert_eq!(
        (keys(&page), &page["next"]),
        (vec!["a".into()], &json!(null))
    );
    let none = server.get("/api/v1/records?state=unknown").await.json();
    assert_eq!(none, json!({ "records": [], "next": null }));
}

#[tokio::test]
async fn one_record_comes_with_its_history_and_without_payload() {
    let server = Server::start().await;
    let fence = server.fence("k").await;
    let settle = about(
        "k",
        json!({ "fence": fence, "verdict": "succeeded", "status": 200,
                "headers": [["X-Token", "secret"]], "body": "secret" }),
    );
    server.post("/api/v1/claims/settle", settle).await;
    server
        .post("/api/v1/claims", about("k", json!({ "request": 1 })))
        .await;
    let seen = server
        .get(&format!("/api/v1/records/one?{}", query("k")))
        .await;
    assert_snapshot!(seen.shown(), @r#"
    200
    {
      "history": [
        {
          "at": "2026-11-16T00:00:00.000Z",
          "event": "mismatch",
          "fence": 1,
          "fingerprint": "dab6390fe662f0ca0b1bae9596abbd6b589bfe5d731f45d3eb03628dd9350ff1"
        }
      ],
      "outcome": {
        "body": {
          "blake3": "5fbf08af2b116ab8f7f3c14b8ec01a46ce23d290e2ebc7a752d0982d54c054f2",
          "bytes": 6,
          "kept": true
        },
        "headers": [
          {
            "name": "X-Token"
          }
        ],
        "status": 200,
        "verdict": "succeeded"
      },
      "record": {
        "about": null,
        "age_ms": 0,
        "attempt": 1,
        "claimed_at": "2026-11-16T00:00:00.000Z",
        "fence": 1,
        "fingerprint": "0000000000000000000000000000000000000000000000000000000000000000",
        "key": "k",
        "lease": null,
        "scope": "payments@1",
        "settled": {
          "archive": false,
          "at": "2026-11-16T00:00:00.000Z",
          "body_bytes": 6,
          "erased": false,
          "expires_at": "2026-11-17T00:00:00.000Z",
          "resolved": false,
          "status": 200,
          "took_ms": 0
        },
        "state": "succeeded",
        "tenant": "acme",
        "unknown": null
      }
    }
    "#);
    let path = format!("/api/v1/records/one?{}&body=true", query("k"));
    let shown = server.get(&path).await.json();
    assert_eq!(shown["outcome"]["body"]["text"], "secret");
    assert_eq!(shown["outcome"]["headers"][0]["value"], "secret");
}

#[tokio::test]
async fn what_was_released_has_a_history_and_what_never_was_has_none() {
    let server = Server::start().await;
    let one = |key| server.get_owned(format!("/api/v1/records/one?{}", query(key)));
    assert_eq!(one("k").await.problem(), "not-found");
    let fence = server.fence("k").await;
    let release = about("k", json!({ "fence": fence }));
    server.post("/api/v1/claims/release", release).await;
    let seen = one("k").await.json();
    assert_eq!(seen["record"], json!(null));
    assert_eq!(seen["history"][0]["event"], "released");
}

#[tokio::test]
async fn a_person_decides_about_an_unknown_record() {
    let server = Server::start().await;
    let resolve =
        |key: &'static str, decision| server.post("/api/v1/records/resolve", about(key, decision));
    for key in ["settled", "released"] {
        let fence = server.fence(key).await;
        let mark = about(key, json!({ "fence": fence }));
        server.post("/api/v1/claims/unknown", mark).await;
    }
    let settle =
        json!({ "fence": 1, "by": "ada", "how": "settle", "verdict": "succeeded", "body": "paid" });
    let settled = resolve("settled", settle.clone()).await;
    assert_eq!(
        (settled.status, settled.json()),
        (200, json!({ "state": "settled" }))
    );
    assert_eq!(
        server.claim("settled").await.json()["outcome"]["body"]["text"],
        "paid"
    );
    let refused = resolve("settled", settle).await;
    assert_snapshot!(refused.shown(), @r#"
    409
    {
      "detail": "the record is succeeded, and nothing was changed; look at it again",
      "fence": 1,
      "ran": "no",
      "state": "succeeded",
      "status": 409,
      "title": "The decision does not fit the state of the record",
      "type": "urn:semel:problem:decision-refused"
    }
    "#);
    let release = json!({ "fence": 2, "by": "ada", "how": "release" });
    assert_eq!(
        resolve("released", release).await.json(),
        json!({ "state": "absent" })
    );
    assert_eq!(server.claim("released").await.status, 201);
    let erase = json!({ "fence": 1, "by": "ada", "how": "erase" });
    assert_eq!(
        resolve("settled", erase).await.json(),
        json!({ "state": "absent" })
    );
    let path = format!("/api/v1/records/one?{}", query("settled"));
    let history = server.get(&path).await.json()["history"].clone();
    let events: Vec<_> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|e| &e["event"])
        .collect();
    assert_eq!(events, ["became-unknown", "resolved", "erased"]);
    assert_eq!(history[1]["by"], "no-token:ada");
}

#[tokio::test]
async fn a_decision_must_be_whole() {
    let server = Server::start().await;
    for (decision, field) in [
        (json!({ "fence": 1, "how": "release" }), "by"),
        (json!({ "fence": 1, "by": "", "how": "release" }), "by"),
        (json!({ "fence": 1, "by": "ada", "how": "forget" }), "how"),
        (
            json!({ "fence": 1, "by": "ada", "how": "settle" }),
            "verdict",
        ),
        (
            json!({ "fence": 1, "by": "ada", "how": "erase", "body": "x" }),
            "how",
        ),
        (
            json!({ "fence": 1, "by": "ada", "how": "correct" }),
            "verdict",
        ),
        (
            json!({ "fence": 1, "by": "ada", "how": "correct", "verdict": "failed", "retention": "1h" }),
            "retention",
        ),
        (
            json!({ "fence": 1, "by": "ada", "how": "release", "reason": "x".repeat(1_025) }),
            "reason",
        ),
    ] {
        let refused = server
            .post("/api/v1/records/resolve", about("k", decision))
            .await;
        assert_eq!(refused.problem(), "invalid-input");
        assert_eq!(refused.json()["field"], field, "{refused:?}");
    }
}

#[tokio::test]
async fn counts_and_observations_are_there_for_a_dashboard() {
    let server = Server::start().await;
    server.fence("k").await;
    server.wait(5);
    let stats = server.get("/api/v1/stats").await.json();
    assert_eq!(stats["running"], 1);
    assert_eq!(stats["oldest_running"]["age_ms"], 5_000);
    let observations = server.get("/api/v1/observations").await.json();
    assert_eq!(observations["since"], "1970-01-01T00:00:00.000Z");
    let [route] = observations["routes"].as_array().unwrap().as_slice() else {
        panic!("one client on one route: {observations}");
    };
    assert_eq!(
        (&route["scope"], &route["tenant"], &route["others"]),
        (&json!("payments@1"), &json!("acme"), &json!(false))
    );
    assert_eq!(
        (&route["requests"], &route["mismatch"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(route["latest"]["mismatch"], "k");
}
