//! Providers are asked about unknown outcomes on demand: by the API, and on the pages.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use insta::assert_snapshot;
use semel_admin::reconcile::{Asking, Missing, Reconciler, Reconcilers};
use semel_core::once::Reconciled;
use semel_core::{Body, Claim, Headers, Outcome, Record, Retention, Verdict};
use semel_testkit::gate::Gate;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::browsing::Browser;
use crate::http::Response;
use crate::server::{Server, about, query};
use crate::tokens::{each_role, serve};

/// A provider that answers as keys say: `yes…`, `no…`, `cannot…`, and everything else with an error. Keys that end in `-held`
/// wait at the gate. Scopes that begin with `none` have no reconciler, and those that begin with `several` too many.
#[derive(Clone)]
pub(crate) struct Provider {
    gate: Gate,
    asked: Arc<AtomicUsize>,
}

impl Provider {
    /// Lets it be asked by the operators of a server.
    pub(crate) fn of(server: &Server) -> Self {
        let provider = Self {
            gate: Gate::closed(),
            asked: Arc::default(),
        };
        server.reconciling.set(Arc::new(provider.clone()));
        provider
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Reconcilers for Provider {
    fn of(&self, record: &Record) -> Result<Arc<dyn Reconciler>, Missing> {
        match record.identity.scope().name() {
            name if name.starts_with("none") => Err(Missing::Url),
            name if name.starts_with("several") => Err(Missing::Single),
            _ => Ok(Arc::new(self.clone())),
        }
    }
}

impl Reconciler for Provider {
    fn url(&self) -> String {
        "http://provider.example/payments/{key}".to_owned()
    }

    fn retention(&self) -> Retention {
        Retention::default()
    }

    fn ask<'a>(&'a self, claim: &'a Claim) -> Asking<'a> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let key = claim.identity.key().as_str();
            if key.ends_with("-held") {
                self.gate.pass().await;
            }
            match key {
                key if key.starts_with("yes") => Ok(Reconciled::Happened(paid())),
                key if key.starts_with("no") => Ok(Reconciled::DidNotHappen),
                key if key.starts_with("cannot") => Ok(Reconciled::CannotTell),
                _ => Err("it answered 500\nInternal Server Error".to_owned()),
            }
        })
    }
}

fn paid() -> Outcome {
    Outcome {
        verdict: Verdict::Succeeded,
        status: 201,
        headers: Headers::default(),
        body: Body::Kept(Bytes::from_static(b"paid")),
    }
}

impl Server {
    /// An unknown record of acme's, a second after the one before.
    async fn unknown_in(&self, scope: &str, key: &str) -> u64 {
        self.wait(1);
        let of = |more: Value| {
            let mut body = about(key, more);
            body["scope"] = json!(scope);
            body
        };
        let claimed = self.post("/api/v1/claims", of(json!({}))).await.json();
        let mark = of(json!({ "fence": claimed["fence"] }));
        assert_eq!(self.post("/api/v1/claims/unknown", mark).await.status, 200);
        claimed["fence"].as_u64().unwrap()
    }

    async fn undecided(&self, key: &str) -> u64 {
        self.unknown_in("payments@1", key).await
    }

    async fn reconcile(&self, key: &str, fence: u64) -> Response {
        let body = json!({ "fence": fence, "by": "ada", "reason": "INC-7" });
        let path = "/api/v1/records/reconcile";
        self.post(path, about(key, body)).await
    }

    async fn reconcile_many(&self, more: Value) -> Response {
        let mut body = json!({ "by": "ada", "reason": "INC-7" });
        let more = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(more);
        self.post("/api/v1/records/reconcile-many", body).await
    }

    async fn seen(&self, key: &str) -> Value {
        let path = format!("/api/v1/records/one?{}&body=true", query(key));
        self.get(&path).await.json()
    }

    async fn audit_lines(&self) -> Vec<Value> {
        let audit = self.get("/api/v1/audit").await.json();
        audit["audit"].as_array().unwrap().clone()
    }
}

#[tokio::test]
async fn what_happened_is_on_record_with_who_asked_and_why() {
    let server = Server::start().await;
    let provider = Provider::of(&server);
    let fence = server.undecided("yes-1").await;
    let answer = server.reconcile("yes-1", fence).await;
    assert_snapshot!(answer.shown(), @r#"
    200
    {
      "answer": "happened",
      "body_bytes": 4,
      "fence": 1,
      "key": "yes-1",
      "scope": "payments@1",
      "state": "settled",
      "status": 201,
      "tenant": "acme",
      "url": "http://provider.example/payments/{key}",
      "verdict": "succeeded",
      "why": null
    }
    "#);
    let seen = server.seen("yes-1").await;
    assert_eq!(seen["outcome"]["body"]["text"], "paid");
    // Like every decision it can be corrected.
    assert_eq!(seen["record"]["settled"]["resolved"], true);
    let replayed = server.claim("yes-1").await;
    assert_eq!(replayed.json()["outcome"]["status"], 201);
    let lines = server.audit_lines().await;
    assert_snapshot!(serde_json::to_string_pretty(&lines).unwrap(), @r#"
    [
      {
        "action": "resolve",
        "at": "2026-11-16T00:00:01.000Z",
        "by": "no-token:ada",
        "changed": 1,
        "reason": "reconciled: INC-7",
        "scope": "payments@1",
        "selection": "key yes-1; tenant acme; fence 1; as succeeded, status 201",
        "verb": "keys resolve"
      }
    ]
    "#);
    assert_eq!(provider.asked(), 1);
}

#[tokio::test]
async fn what_did_not_happen_is_released_and_runs_again() {
    let server = Server::start().await;
    Provider::of(&server);
    let fence = server.undecided("no-1").await;
    let answer = server.reconcile("no-1", fence).await.json();
    assert_eq!(
        (&answer["answer"], &answer["state"]),
        (&json!("did-not-happen"), &json!("absent"))
    );
    assert!(server.fence("no-1").await > fence);
    let lines = server.audit_lines().await;
    assert_eq!(
        (&lines[0]["action"], &lines[0]["reason"]),
        (&json!("release"), &json!("reconciled: INC-7"))
    );
}

#[tokio::test]
async fn what_the_provider_cannot_tell_stays_unknown() {
    let server = Server::start().await;
    Provider::of(&server);
    for (key, why) in [
        ("cannot-1", "it cannot tell"),
        ("error-1", "it answered 500 Internal Server Error"),
    ] {
        let fence = server.undecided(key).await;
        let answer = server.reconcile(key, fence).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        assert_eq!(
            (&answer["answer"], &answer["why"], &answer["state"]),
            (&json!("cannot-tell"), &json!(why), &json!("unknown"))
        );
        let seen = server.seen(key).await;
        assert_eq!(seen["record"]["state"], "unknown", "{key}");
    }
    assert!(server.audit_lines().await.is_empty());
}

#[tokio::test]
async fn without_a_reconciler_the_answer_says_so_and_what_to_do() {
    let server = Server::start().await;
    let path = "/api/v1/records/reconcile";
    let ask = async |scope: &str| {
        let fence = server.unknown_in(scope, "k").await;
        let mut body = about(
            "k",
            json!({ "fence": fence, "by": "ada", "reason": "INC-7" }),
        );
        body["scope"] = json!(scope);
        let refused = server.post(path, body).await;
        assert_eq!(
            (refused.status, refused.problem()),
            (409, "decision-refused".to_owned())
        );
        refused.json()["detail"].as_str().unwrap().to_owned()
    };
    let none = ask("payments@1").await;
    assert!(none.contains("this process serves no gateway"), "{none}");
    let provider = Provider::of(&server);
    for (scope, why) in [
        (
            "none@1",
            "the route of the scope none@1 has no reconcile URL",
        ),
        ("several@1", "several routes have the scope several@1"),
    ] {
        let detail = ask(scope).await;
        assert!(detail.contains(why), "{detail}");
        assert!(
            detail.ends_with("then resolve or release the record"),
            "{detail}"
        );
    }
    assert_eq!(provider.asked(), 0);
}

#[tokio::test]
async fn what_is_not_unknown_or_of_another_claim_is_left_alone() {
    let server = Server::start().await;
    let provider = Provider::of(&server);
    let running = server.fence("yes-running").await;
    let settled = server.fence("yes-settled").await;
    let settle = about(
        "yes-settled",
        json!({ "fence": settled, "verdict": "failed" }),
    );
    server.post("/api/v1/claims/settle", settle).await;
    let unknown = server.undecided("yes-unknown").await;
    for (key, fence, state) in [
        ("yes-running", running, "running"),
        ("yes-settled", settled, "failed"),
        ("yes-unknown", unknown + 1, "unknown"),
        ("yes-absent", 1, "absent"),
    ] {
        let refused = server.reconcile(key, fence).await;
        assert_eq!(refused.problem(), "decision-refused", "{key}");
        assert_eq!(refused.json()["state"], state, "{key}");
    }
    let silent = about(
        "yes-unknown",
        json!({ "fence": unknown, "by": "ada", "reason": " " }),
    );
    let refused = server.post("/api/v1/records/reconcile", silent).await;
    assert_eq!(refused.json()["field"], "reason", "{refused:?}");
    assert_eq!(provider.asked(), 0);
}

#[tokio::test]
async fn a_decision_that_is_faster_than_the_answer_stands() {
    let server = Server::start().await;
    let provider = Provider::of(&server);
    let fence = server.undecided("no-held").await;
    let by_hand = async {
        provider.gate.reached().await;
        let settle = json!({ "fence": fence, "by": "bob", "how": "settle", "verdict": "succeeded", "body": "by hand" });
        let done = server
            .post("/api/v1/records/resolve", about("no-held", settle))
            .await;
        assert_eq!(done.status, 200, "{done:?}");
        provider.gate.open();
    };
    let (asked, ()) = tokio::join!(server.reconcile("no-held", fence), by_hand);
    assert_eq!(asked.problem(), "decision-refused");
    assert_eq!(asked.json()["state"], "succeeded");
    let seen = server.seen("no-held").await;
    assert_eq!(seen["outcome"]["body"]["text"], "by hand");
    assert_eq!(server.audit_lines().await.len(), 1);
}

#[tokio::test]
async fn a_caller_that_hangs_up_does_not_stop_the_question() {
    let server = Server::start().await;
    let provider = Provider::of(&server);
    let fence = server.undecided("yes-held").await;
    let body = about(
        "yes-held",
        json!({ "fence": fence, "by": "ada", "reason": "INC-7" }),
    )
    .to_string();
    let request = format!(
        "POST /api/v1/records/reconcile HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    provider.gate.reached().await;
    drop(stream);
    provider.gate.open();
    // The history shows the decision once the store has it.
    for _ in 0..10_000 {
        if server.seen("yes-held").await["record"]["state"] == "succeeded" {
            return;
        }
    }
    panic!("the answer is never on record");
}

#[tokio::test]
async fn many_are_looked_at_first_and_then_asked_about() {
    let server = Server::start().await;
    let provider = Provider::of(&server);
    for (scope, key) in [
        ("payments@1", "yes-1"),
        ("payments@1", "no-1"),
        ("payments@1", "error-1"),
        ("none@1", "yes-2"),
    ] {
        server.unknown_in(scope, key).await;
    }
    let dry = server.reconcile_many(json!({ "all": true })).await;
    let until = dry.json()["until"].clone();
    assert_snapshot!(dry.shown(), @r#"
    200
    {
      "dry_run": true,
      "left_alone": 0,
      "matched": 4,
      "next": null,
      "records": [],
      "released": 0,
      "scopes": [
        {
          "records": 1,
          "scope": "none@1",
          "url": null,
          "why": "the route of the scope none@1 has no reconcile URL (unknown: { reconcile: URL }); ask the provider yourself, then resolve or release the record"
        },
        {
          "records": 3,
          "scope": "payments@1",
          "url": "http://provider.example/payments/{key}",
          "why": null
        }
      ],
      "settled": 0,
      "still_unknown": 0,
      "until": "2026-11-16T00:00:04.000Z",
      "with_reconciler": 3,
      "without_reconciler": 1
    }
    "#);
    assert_eq!(provider.asked(), 0);
    server.undecided("yes-later").await;
    let done = server
        .reconcile_many(json!({ "older_than": until, "dry_run": false }))
        .await
        .json();
    let counts = [
        "settled",
        "released",
        "still_unknown",
        "without_reconciler",
        "left_alone",
    ];
    assert_eq!(
        counts.map(|name| done[name].as_u64().unwrap()),
        [1, 1, 1, 1, 0]
    );
    let states: Vec<_> = done["records"]
        .as_array()
        .unwrap()
        .iter()
        .map(|record| {
            (
                record["key"].as_str().unwrap(),
                record["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            ("error-1", "unknown"),
            ("no-1", "absent"),
            ("yes-1", "settled")
        ]
    );
    assert_eq!(provider.asked(), 3);
    assert_eq!(server.seen("yes-later").await["record"]["state"], "unknown");
    let refused = server.reconcile_many(json!({ "dry_run": false })).await;
    assert_eq!(refused.json()["field"], "all");
}

#[tokio::test]
async fn few_are_asked_at_once() {
    let server = Server::start().await;
    let provider = Provider::of(&server);
    for number in 0..20 {
        server.undecided(&format!("yes-{number}-held")).await;
    }
    let watched = async {
        for _ in 0..16 {
            provider.gate.reached().await;
        }
        assert_eq!(provider.asked(), 16);
        provider.gate.open();
    };
    let all = json!({ "all": true, "dry_run": false });
    let (done, ()) = tokio::join!(server.reconcile_many(all), watched);
    let done = done.json();
    assert_eq!(
        (&done["settled"], &done["next"]),
        (&json!(20), &Value::Null)
    );
    assert_eq!(provider.asked(), 20);
    assert_eq!(server.audit_lines().await.len(), 20);
}

#[tokio::test]
async fn the_audit_names_the_token_that_asked() {
    let server = serve(each_role()).await;
    Provider::of(&server);
    let claimed = server
        .call("boss", "/api/v1/claims", about("no-1", json!({})))
        .await;
    let fence = claimed.json()["fence"].clone();
    let mark = about("no-1", json!({ "fence": fence }));
    server.call("boss", "/api/v1/claims/unknown", mark).await;
    let ask = about(
        "no-1",
        json!({ "fence": fence, "by": "boss", "reason": "INC-7" }),
    );
    let path = "/api/v1/records/reconcile";
    let refused = server.call("read", path, ask.clone()).await;
    assert_eq!(refused.problem(), "forbidden");
    let done = server.call("operate", path, ask).await;
    assert_eq!(done.status, 200, "{done:?}");
    let mut browser = Browser::with_token(server.address, &crate::tokens::secret("read"));
    let audit = browser.open("/audit").await;
    assert!(audit.contains("operate/boss"), "{audit}");
}

#[tokio::test]
async fn a_record_is_asked_about_on_its_page() {
    let server = Server::start().await;
    let mut browser = Browser::at(server.address);
    server.undecided("yes-1").await;
    let address = format!("/keys/one?{}", query("yes-1"));
    let page = browser.open(&address).await;
    assert!(
        page.contains("There is nothing to ask: this process serves no gateway"),
        "{page}"
    );
    let provider = Provider::of(&server);
    let page = browser.open(&address).await;
    assert!(
        page.contains("http://provider.example/payments/{key}"),
        "{page}"
    );
    let fields = [("how", "reconcile"), ("by", "ada"), ("reason", "INC-7")];
    let shown = browser
        .submit(&page, "Look what would be asked", &fields)
        .await;
    assert_eq!((shown.status, provider.asked()), (200, 0), "{shown:?}");
    let done = browser
        .confirm(&shown.body, "Ask it", &[("confirm", "yes")])
        .await;
    assert!(
        done.contains(
            "It happened, says the provider, and is on record: succeeded, status 201, 4 B"
        ),
        "{done}"
    );
    assert_eq!(server.seen("yes-1").await["record"]["state"], "succeeded");
}

#[tokio::test]
async fn the_queue_is_asked_about_after_a_look_at_who_has_a_reconciler() {
    let server = Server::start().await;
    let provider = Provider::of(&server);
    let mut browser = Browser::at(server.address);
    for (scope, key) in [
        ("payments@1", "yes-1"),
        ("payments@1", "no-1"),
        ("none@1", "yes-2"),
    ] {
        server.unknown_in(scope, key).await;
    }
    let page = browser.open("/unknown").await;
    let fields = [("how", "reconcile"), ("by", "ada"), ("reason", "INC-7")];
    let shown = browser
        .submit(&page, "Look what would be asked", &fields)
        .await;
    assert_eq!((shown.status, provider.asked()), (200, 0), "{shown:?}");
    assert!(
        shown.body.contains("Ask the providers about 2 records?"),
        "{shown:?}"
    );
    assert!(
        shown.body.contains("none@1 has no reconcile URL"),
        "{shown:?}"
    );
    let done = browser
        .submit(&shown.body, "Ask about them", &[("confirm", "yes")])
        .await;
    assert_eq!(done.status, 200, "{done:?}");
    assert!(
        done.body
            .contains("1 on record, 1 released, 1 without a reconciler"),
        "{done:?}"
    );
    assert_eq!(provider.asked(), 2);
    assert_eq!(server.audit_lines().await.len(), 2);
}

#[tokio::test]
async fn a_confirmed_reconcile_goes_on_where_the_step_before_ended() {
    let server = Server::paging().await;
    let provider = Provider::of(&server);
    let mut browser = Browser::at(server.address);
    for number in 0..20 {
        server.undecided(&format!("cannot-{number}")).await;
    }
    let page = browser.open("/unknown").await;
    let fields = [("how", "reconcile"), ("by", "ada"), ("reason", "INC-7")];
    let shown = browser
        .submit(&page, "Look what would be asked", &fields)
        .await;
    let title = "Ask the providers about at least 10 records?";
    assert!(shown.body.contains(title), "{shown:?}");
    server.undecided("cannot-later").await;
    let first = browser
        .submit(&shown.body, "Ask about them", &[("confirm", "yes")])
        .await;
    // The step looked at sixteen, the later one among them.
    assert_eq!(provider.asked(), 15);
    assert!(
        first.body.contains("Older ones were not looked at yet."),
        "{first:?}"
    );
    let next = browser.submit(&first.body, "Ask about the next", &[]).await;
    // The five that were left, and none twice.
    assert_eq!(provider.asked(), 20, "{next:?}");
    assert!(next.body.contains("5 still unknown"), "{next:?}");
    assert!(
        next.body.contains("All that match were looked at."),
        "{next:?}"
    );
    assert!(!next.body.contains("Ask about the next"), "{next:?}");
    assert!(!next.body.contains("cannot-later"), "{next:?}");
}

#[tokio::test]
async fn a_look_for_what_can_be_asked_about_goes_on_behind_what_cannot() {
    let server = Server::paging().await;
    let provider = Provider::of(&server);
    let mut browser = Browser::at(server.address);
    server.undecided("yes-1").await;
    for number in 0..12 {
        server.unknown_in("none@1", &format!("k-{number}")).await;
    }
    let page = browser.open("/unknown").await;
    let fields = [("how", "reconcile"), ("by", "ada"), ("reason", "INC-7")];
    let shown = browser
        .submit(&page, "Look what would be asked", &fields)
        .await;
    assert!(!shown.body.contains("Ask about them"), "{shown:?}");
    let shown = browser.submit(&shown.body, "Look at the next", &[]).await;
    let title = "Ask the providers about 1 records?";
    assert!(shown.body.contains(title), "{shown:?}");
    let done = browser
        .submit(&shown.body, "Ask about them", &[("confirm", "yes")])
        .await;
    assert!(
        done.body.contains("1 on record, 2 without a reconciler"),
        "{done:?}"
    );
    assert_eq!(provider.asked(), 1);
}
