//! Records found by key and method, decided by the thousand, corrected, and all of it in the audit.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::server::{Server, about, query};

impl Server {
    /// An unknown record of acme's payments, a second after the one before.
    async fn unknown(&self, key: &str) -> u64 {
        self.wait(1);
        let fence = self.fence(key).await;
        let mark = about(key, json!({ "fence": fence }));
        assert_eq!(self.post("/api/v1/claims/unknown", mark).await.status, 200);
        fence
    }

    async fn many(&self, more: Value) -> crate::http::Response {
        let mut body = json!({ "by": "ada", "reason": "INC-7", "how": "release" });
        let more = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(more);
        self.post("/api/v1/records/resolve-many", body).await
    }

    /// How many records are unknown.
    async fn unknowns(&self) -> usize {
        let page = self.get("/api/v1/records?state=unknown").await.json();
        page["records"].as_array().unwrap().len()
    }
}

#[tokio::test]
async fn records_are_listed_by_key_and_by_settled() {
    let server = Server::start().await;
    let fence = server.fence("a").await;
    server.fence("b").await;
    let settle = about("a", json!({ "fence": fence, "verdict": "failed" }));
    server.post("/api/v1/claims/settle", settle).await;
    for (asked, keys) in [
        ("key=b", json!(["b"])),
        ("key=c", json!([])),
        ("state=settled", json!(["a"])),
        ("method=post", json!([])),
    ] {
        let page = server.get(&format!("/api/v1/records?{asked}")).await.json();
        let records = page["records"].as_array().unwrap().iter();
        let found: Value = records.map(|record| record["key"].clone()).collect();
        assert_eq!(found, keys, "{asked}");
    }
    let refused = server.get("/api/v1/records?method=P0ST").await;
    assert_eq!(refused.problem(), "invalid-input");
}

#[tokio::test]
async fn many_are_looked_at_unless_the_call_says_otherwise() {
    let server = Server::start().await;
    for key in ["a", "b", "c"] {
        server.unknown(key).await;
    }
    let dry = server.many(json!({ "older_than": "1s" })).await.json();
    assert_eq!(
        (&dry["dry_run"], &dry["matched"], &dry["changed"]),
        (&json!(true), &json!(2), &json!(0))
    );
    assert_eq!(server.unknowns().await, 3);
    let until = dry["until"].clone();
    server.unknown("later").await;
    let done = server
        .many(json!({ "older_than": until, "dry_run": false }))
        .await
        .json();
    assert_eq!((&done["changed"], &done["refused"]), (&json!(2), &json!(0)));
    assert_eq!(done["sample"][0]["key"], "b");
    assert_eq!(server.unknowns().await, 2);
    let audit = server.get("/api/v1/audit").await.json();
    assert_eq!(audit["audit"].as_array().unwrap().len(), 2);
    assert_snapshot!(serde_json::to_string_pretty(&audit["audit"][0]).unwrap(), @r#"
    {
      "action": "release",
      "at": "2026-11-16T00:00:04.000Z",
      "by": "no-token:ada",
      "changed": 1,
      "reason": "INC-7",
      "scope": "payments@1",
      "selection": "key a; tenant acme; fence 1",
      "verb": "keys release"
    }
    "#);
    assert_eq!(server.get("/api/v1/inbox/audit").await.json(), audit);
}

#[tokio::test]
async fn many_get_the_outcome_that_is_given() {
    let server = Server::start().await;
    for key in ["a", "b"] {
        server.unknown(key).await;
    }
    let settle = json!({ "tenant": "acme", "how": "settle", "verdict": "succeeded", "status": 201,
                         "body": "paid", "dry_run": false });
    assert_eq!(server.many(settle).await.json()["changed"], 2);
    let outcome = server.claim("b").await.json()["outcome"].clone();
    assert_eq!(
        (&outcome["status"], &outcome["body"]["text"]),
        (&json!(201), &json!("paid"))
    );
}

#[tokio::test]
async fn a_decision_about_many_must_be_whole() {
    let server = Server::start().await;
    server.unknown("a").await;
    for (more, field) in [
        (json!({}), Some("all")),
        (json!({ "all": true, "reason": " " }), Some("reason")),
        (json!({ "all": true, "by": "" }), Some("by")),
        (json!({ "all": true, "how": "erase" }), Some("how")),
        (json!({ "all": true, "how": "settle" }), Some("verdict")),
        (json!({ "all": true, "body": "x" }), Some("how")),
        (
            json!({ "all": true, "older_than": "soon" }),
            Some("older_than"),
        ),
        (json!({ "all": true, "state": "running" }), Some("state")),
    ] {
        let mut more = more;
        more["dry_run"] = json!(false);
        let refused = server.many(more.clone()).await;
        assert_eq!(refused.problem(), "invalid-input", "{more}");
        assert_eq!(refused.json()["field"].as_str(), field, "{refused:?}");
    }
    assert_eq!(server.unknowns().await, 1);
}

#[tokio::test]
async fn a_persons_outcome_is_corrected_with_a_reason() {
    let server = Server::start().await;
    let fence = server.unknown("k").await;
    let resolve = |decision| server.post("/api/v1/records/resolve", about("k", decision));
    let settle =
        json!({ "fence": fence, "by": "ada", "how": "settle", "verdict": "failed", "status": 402 });
    assert_eq!(resolve(settle).await.status, 200);
    let correct = json!({ "fence": fence, "by": "ada", "how": "correct", "verdict": "succeeded",
                          "body": "paid", "reason": "the bank\nwas asked" });
    let corrected = resolve(correct).await;
    assert_eq!(corrected.json(), json!({ "state": "settled" }));
    let path = format!("/api/v1/records/one?{}&body=true", query("k"));
    let seen = server.get(&path).await.json();
    assert_eq!(seen["outcome"]["body"]["text"], "paid");
    let event = &seen["history"][2];
    assert_eq!(
        (&event["how"], &event["reason"]),
        (&json!("corrected"), &json!("the bank was asked"))
    );
    let fence = server.fence("run").await;
    let settle = about("run", json!({ "fence": fence, "verdict": "failed" }));
    server.post("/api/v1/claims/settle", settle).await;
    let wrong = json!({ "fence": fence, "by": "ada", "how": "correct", "verdict": "succeeded" });
    let refused = server
        .post("/api/v1/records/resolve", about("run", wrong))
        .await;
    assert_eq!(refused.problem(), "decision-refused");
}
