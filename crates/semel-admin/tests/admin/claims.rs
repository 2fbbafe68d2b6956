//! Each verb of the claims API, and the rules of the protocol behind it.

use insta::assert_snapshot;
use semel_core::once::{Finished, Reply, Settlement};
use semel_core::{Fingerprint, Identity, Once, Outcome};
use serde_json::json;

use crate::server::{Server, about, query};

#[tokio::test]
async fn a_claim_is_granted_settled_and_replayed() {
    let server = Server::start().await;
    let granted = server.claim("k").await;
    assert_snapshot!(granted.shown(), @r#"
    201
    {
      "attempt": 1,
      "fence": 1,
      "lease_ms": 30000,
      "lease_until": "2026-11-16T00:00:30.000Z",
      "repeated": false,
      "state": "running"
    }
    "#);
    let settle = about(
        "k",
        json!({
            "fence": 1, "verdict": "succeeded", "status": 201, "took": "1200ms",
            "headers": [["Location", "/payments/17"], ["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"]],
            "body": "{\"paid\":true}",
        }),
    );
    let settled = server.post("/api/v1/claims/settle", settle.clone()).await;
    assert_snapshot!(settled.shown(), @r#"
    200
    {
      "state": "settled"
    }
    "#);
    let again = server.post("/api/v1/claims/settle", settle).await;
    assert_eq!(again.status, 200, "the same settle sent again is safe");
    assert_snapshot!(server.claim("k").await.shown(), @r#"
    200
    {
      "outcome": {
        "body": {
          "blake3": "cedb3042f79f45f3b11b07c3ebc8d5eea09e96cdafc201468c7ee993a5b2821e",
          "bytes": 13,
          "kept": true,
          "text": "{\"paid\":true}"
        },
        "headers": [
          {
            "name": "Location",
            "value": "/payments/17"
          },
          {
            "name": "Set-Cookie",
            "value": "a=1"
          },
          {
            "name": "Set-Cookie",
            "value": "b=2"
          }
        ],
        "status": 201,
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
          "body_bytes": 13,
          "erased": false,
          "expires_at": "2026-11-17T00:00:00.000Z",
          "resolved": false,
          "status": 201,
          "took_ms": 1200
        },
        "state": "succeeded",
        "tenant": "acme",
        "unknown": null
      },
      "state": "settled"
    }
    "#);
}

#[tokio::test]
async fn a_body_that_is_not_text_comes_back_in_base64() {
    let server = Server::start().await;
    let fence = server.fence("k").await;
    let settle = about(
        "k",
        json!({ "fence": fence, "verdict": "failed", "body_base64": "/wD+" }),
    );
    let settled = server.post("/api/v1/claims/settle", settle).await;
    assert_eq!(settled.status, 200);
    let outcome = &server.claim("k").await.json()["outcome"];
    assert_eq!(outcome["verdict"], "failed");
    assert_eq!(outcome["body"]["base64"], "/wD+");
    assert_eq!(outcome["body"]["text"], json!(null));
}

#[tokio::test]
async fn a_running_operation_is_refused_with_retry_after() {
    let server = Server::start().await;
    server.fence("k").await;
    server.wait(18);
    let refused = server.claim("k").await;
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(
        refused.header("content-type"),
        Some("application/problem+json")
    );
    assert_snapshot!(refused.shown(), @r#"
    409
    {
      "detail": "another claim runs it; its lease ends in 12s unless it is renewed",
      "fence": 1,
      "lease_left_ms": 12000,
      "ran": "maybe",
      "status": 409,
      "title": "The first request with this key is still running",
      "type": "urn:semel:problem:in-progress"
    }
    "#);
}

#[tokio::test]
async fn an_ended_lease_makes_the_outcome_unknown_until_somebody_takes_over() {
    let server = Server::start().await;
    server.fence("k").await;
    server.wait(31);
    let refused = server.claim("k").await;
    assert_snapshot!(refused.shown(), @r#"
    409
    {
      "cause": "lease-ended",
      "detail": "an earlier claim may have taken effect; resolve the record, or claim with takeover where running it again is safe",
      "fence": 1,
      "ran": "maybe",
      "since": "2026-11-16T00:00:30.000Z",
      "status": 409,
      "title": "The outcome of this operation is unknown",
      "type": "urn:semel:problem:outcome-unknown"
    }
    "#);
    let other = about("k", json!({ "takeover": { "of": 7 } }));
    let other = server.post("/api/v1/claims", other).await;
    assert_eq!(other.problem(), "outcome-unknown", "that is another claim");
    let takeover = about("k", json!({ "takeover": { "of": 1 }, "lease": "5m" }));
    let granted = server.post("/api/v1/claims", takeover).await.json();
    assert_eq!(granted["attempt"], 2);
    assert_eq!(granted["lease_ms"], 300_000);
    server.wait(301);
    let allowed = about("k", json!({ "takeover": "allowed" }));
    let granted = server.post("/api/v1/claims", allowed).await;
    assert_eq!(
        (granted.status, &granted.json()["attempt"]),
        (201, &json!(3))
    );
}

#[tokio::test]
async fn the_same_key_with_another_request_is_refused_whatever_the_order_of_fields() {
    let server = Server::start().await;
    let claim = |request| server.post("/api/v1/claims", about("k", json!({ "request": request })));
    assert_eq!(claim(json!({ "a": 1, "b": [2] })).await.status, 201);
    let text =
        r#"{"request": {"b": [2], "a": 1.0}, "key": "k", "tenant": "acme", "scope": "payments"}"#;
    let same = crate::http::post_text(server.address, "/api/v1/claims", text).await;
    assert_eq!(same.problem(), "in-progress");
    let reused = claim(json!({ "a": 2, "b": [2] })).await;
    assert_snapshot!(reused.shown(), @r#"
    422
    {
      "detail": "the key was claimed before with another request; nothing is to be run",
      "ran": "no",
      "status": 422,
      "title": "The idempotency key was used for another request",
      "type": "urn:semel:problem:key-reused"
    }
    "#);
    assert_eq!(server.claim("k").await.problem(), "key-reused");
}

#[tokio::test]
async fn amounts_beyond_double_precision_are_told_apart() {
    let server = Server::start().await;
    let claim = |cents: &str| {
        let text = format!(
            r#"{{"tenant":"acme","scope":"payments","key":"k","request":{{"cents":{cents}}}}}"#
        );
        let address = server.address;
        async move { crate::http::post_text(address, "/api/v1/claims", &text).await }
    };
    assert_eq!(claim("9007199254740993").await.status, 201);
    assert_eq!(claim("9007199254740992").await.problem(), "key-reused");
}

#[tokio::test]
async fn a_fingerprint_of_the_callers_own_is_compared_as_it_is() {
    let server = Server::start().await;
    let claim = |digit: &str| {
        let print = digit.repeat(64);
        server.post(
            "/api/v1/claims",
            about("k", json!({ "fingerprint": print })),
        )
    };
    assert_eq!(claim("a").await.status, 201);
    assert_eq!(claim("A").await.problem(), "in-progress");
    assert_eq!(claim("b").await.problem(), "key-reused");
}

#[tokio::test]
async fn a_lease_is_renewed_under_its_fence_only() {
    let server = Server::start().await;
    let fence = server.fence("k").await;
    server.wait(20);
    let renew = |fence| {
        let body = about("k", json!({ "fence": fence, "lease": "1m" }));
        server.post("/api/v1/claims/renew", body)
    };
    assert_snapshot!(renew(fence).await.shown(), @r#"
    200
    {
      "lease_until": "2026-11-16T00:01:20.000Z",
      "state": "running"
    }
    "#);
    server.wait(50);
    assert_eq!(server.claim("k").await.problem(), "in-progress");
    assert_eq!(renew(fence + 1).await.problem(), "lease-lost");
    server.wait(11);
    assert_snapshot!(renew(fence).await.shown(), @r#"
    409
    {
      "detail": "the claim is no longer live, and nothing was changed; stop the run if you can, and look the record up to see what stands",
      "fence": 1,
      "ran": "maybe",
      "status": 409,
      "title": "The lease of this claim is lost",
      "type": "urn:semel:problem:lease-lost"
    }
    "#);
}

#[tokio::test]
async fn a_released_claim_runs_again() {
    let server = Server::start().await;
    let fence = server.fence("k").await;
    let release = about("k", json!({ "fence": fence }));
    let released = server.post("/api/v1/claims/release", release.clone()).await;
    assert_eq!(
        (released.status, released.json()),
        (200, json!({ "state": "absent" }))
    );
    let next = server.fence("k").await;
    assert!(next > fence);
    let stale = server.post("/api/v1/claims/release", release).await;
    assert_eq!(stale.problem(), "lease-lost");
    assert_eq!(server.claim("k").await.problem(), "in-progress");
}

#[tokio::test]
async fn a_claim_that_cannot_tell_is_marked_as_unknown() {
    let server = Server::start().await;
    let fence = server.fence("k").await;
    let mark = about("k", json!({ "fence": fence, "cause": "run-panicked" }));
    let marked = server.post("/api/v1/claims/unknown", mark.clone()).await;
    assert_eq!(
        (marked.status, marked.json()),
        (200, json!({ "state": "unknown" }))
    );
    let again = server.post("/api/v1/claims/unknown", mark).await;
    assert_eq!(again.status, 200, "the same mark sent again is safe");
    let refused = server.claim("k").await.json();
    assert_eq!(refused["cause"], "run-panicked");
    let settled = json!({ "fence": fence + 1 });
    let lost = server
        .post("/api/v1/claims/unknown", about("k", settled))
        .await;
    assert_eq!(lost.problem(), "lease-lost");
}

#[tokio::test]
async fn a_late_outcome_is_kept_and_never_served() {
    let server = Server::start().await;
    let first = server.fence("k").await;
    server.wait(31);
    let takeover = about("k", json!({ "takeover": "allowed" }));
    let second = server.post("/api/v1/claims", takeover).await.json()["fence"].clone();
    let settle = |fence, body| {
        let body = about(
            "k",
            json!({ "fence": fence, "verdict": "succeeded", "body": body }),
        );
        server.post("/api/v1/claims/settle", body)
    };
    let late = settle(json!(first), "late").await;
    assert_snapshot!(late.shown(), @r#"
    409
    {
      "detail": "the claim is no longer live; the outcome is kept in the history and never served. Do not send it again; look the record up to see what stands",
      "fence": 1,
      "ran": "yes",
      "status": 409,
      "title": "The outcome came after the lease was lost",
      "type": "urn:semel:problem:late-outcome"
    }
    "#);
    assert_eq!(settle(second, "in time").await.status, 200);
    let late = settle(json!(first), "even later").await;
    assert_eq!(late.problem(), "late-outcome");
    let replayed = server.claim("k").await.json();
    assert_eq!(replayed["outcome"]["body"]["text"], "in time");
    let path = format!("/api/v1/records/one?{}&body=true", query("k"));
    let history = server.get(&path).await.json()["history"].clone();
    let history = history.as_array().unwrap();
    let kept: Vec<_> = history
        .iter()
        .filter(|event| event["event"] == "late-outcome")
        .map(|event| &event["outcome"]["body"]["text"])
        .collect();
    assert_eq!(kept, ["late", "even later"]);
}

#[tokio::test]
async fn a_record_is_looked_up_in_every_state() {
    let server = Server::start().await;
    let look_up = || async { server.get(&format!("/api/v1/claims?{}", query("k"))).await };
    let absent = look_up().await;
    assert_snapshot!(absent.shown(), @r#"
    404
    {
      "detail": "there is no record of acme/payments@1/k",
      "ran": "no",
      "status": 404,
      "title": "There is no such record, message or address",
      "type": "urn:semel:problem:not-found"
    }
    "#);
    let fence = server.fence("k").await;
    assert_snapshot!(look_up().await.shown(), @r#"
    200
    {
      "outcome": null,
      "record": {
        "about": null,
        "age_ms": 0,
        "attempt": 1,
        "claimed_at": "2026-11-16T00:00:00.000Z",
        "fence": 1,
        "fingerprint": "0000000000000000000000000000000000000000000000000000000000000000",
        "key": "k",
        "lease": {
          "left_ms": 30000,
          "until": "2026-11-16T00:00:30.000Z"
        },
        "scope": "payments@1",
        "settled": null,
        "state": "running",
        "tenant": "acme",
        "unknown": null
      },
      "state": "running"
    }
    "#);
    let mark = about("k", json!({ "fence": fence }));
    server.post("/api/v1/claims/unknown", mark).await;
    assert_eq!(look_up().await.json()["state"], "unknown");
    let takeover = about("k", json!({ "takeover": "allowed" }));
    let fence = server.post("/api/v1/claims", takeover).await.json()["fence"].clone();
    let settle = about(
        "k",
        json!({ "fence": fence, "verdict": "failed", "body": "no funds" }),
    );
    server.post("/api/v1/claims/settle", settle).await;
    let found = look_up().await.json();
    assert_eq!(found["state"], "settled");
    assert_eq!(found["record"]["state"], "failed");
    assert_eq!(found["outcome"]["body"]["text"], "no funds");
}

#[tokio::test]
async fn retention_begins_with_the_settle_and_ends_when_it_says() {
    let server = Server::start().await;
    let fence = server.fence("k").await;
    let settle = about(
        "k",
        json!({ "fence": fence, "verdict": "succeeded", "retention": "1h", "archive": true }),
    );
    server.post("/api/v1/claims/settle", settle).await;
    server.wait(3_599);
    assert_eq!(server.claim("k").await.status, 200);
    server.wait(2);
    assert_eq!(server.claim("k").await.status, 201);
    let archived = server.get("/api/v1/records?state=archived").await.json();
    assert_eq!(archived["records"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_api_and_the_library_mean_the_same_operation() {
    let server = Server::start().await;
    let request = json!({ "cents": 4200, "to": "ada" });
    let once = Once::on(server.store.clone());
    let identity = Identity::parse("acme", "payments@1", "k").unwrap();
    let operation = once.operation(identity, Fingerprint::of(&request).unwrap());
    let ran = operation.run_raw(|_| async {
        Finished {
            value: (),
            settlement: Settlement::Settle(Outcome::succeeded("by the library")),
        }
    });
    assert!(matches!(ran.await, Ok(Reply::Ran { .. })));
    let claim = about("k", json!({ "request": { "to": "ada", "cents": 4200 } }));
    let replayed = server.post("/api/v1/claims", claim).await;
    assert_eq!(replayed.status, 200);
    assert_eq!(replayed.json()["outcome"]["body"]["text"], "by the library");
}
