//! Contents are erased over the API: of one record, and of a tenant's, a dry run first.

use serde_json::{Value, json};

use crate::browsing::Browser;
use crate::http::Response;
use crate::server::{Server, about, query};

impl Server {
    /// A settled record of acme's payments with a body and a header.
    async fn settled(&self, key: &str) -> u64 {
        let fence = self.fence(key).await;
        let settle = json!({ "fence": fence, "verdict": "succeeded", "status": 201, "body": "SECRET",
                             "headers": [["X-Name", "SECRET"]] });
        let settled = self.post("/api/v1/claims/settle", about(key, settle)).await;
        assert_eq!(settled.status, 200, "{settled:?}");
        fence
    }

    async fn erase_many(&self, more: Value) -> Response {
        let mut body = json!({ "by": "ada", "reason": "asked to" });
        let more = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(more);
        self.post("/api/v1/records/erase-many", body).await
    }

    /// Everything that is shown of a record.
    async fn shown(&self, key: &str) -> Value {
        let path = format!("/api/v1/records/one?{}&body=true", query(key));
        self.get(&path).await.json()
    }
}

#[tokio::test]
async fn erased_contents_are_shown_nowhere_and_duplicates_are_suppressed() {
    let server = Server::start().await;
    let fence = server.settled("k").await;
    assert!(server.shown("k").await.to_string().contains("SECRET"));
    let erase = |fence| json!({ "fence": fence, "by": "ada", "reason": "asked to" });
    let refused = server
        .post("/api/v1/records/erase", about("k", erase(fence + 1)))
        .await;
    assert_eq!(refused.problem(), "decision-refused");
    let erased = server
        .post("/api/v1/records/erase", about("k", erase(fence)))
        .await;
    assert_eq!(
        (erased.status, erased.json()),
        (200, json!({ "erased": true }))
    );
    let seen = server.shown("k").await;
    assert!(!seen.to_string().contains("SECRET"), "{seen}");
    assert_eq!(seen["record"]["settled"]["erased"], true);
    assert_eq!(seen["record"]["settled"]["body_bytes"], 6);
    assert_eq!(seen["history"][0]["event"], "contents-erased");
    assert_eq!(seen["history"][0]["reason"], "asked to");
    let duplicate = server.claim("k").await;
    assert_eq!(duplicate.status, 200, "{duplicate:?}");
    assert_eq!(duplicate.json()["outcome"]["status"], 201);
    let audit = server.get("/api/v1/audit").await.json();
    assert_eq!(audit["audit"][0]["verb"], "keys erase");
    let metrics = server.get("/metrics").await.body;
    assert!(
        metrics.contains(r#"answer="contents-erased"} 1"#),
        "{metrics}"
    );
}

#[tokio::test]
async fn a_tenants_contents_are_erased_as_the_dry_run_has_shown() {
    let server = Server::start().await;
    for key in ["a", "b"] {
        server.settled(key).await;
    }
    server.fence("running").await;
    let fence = server.fence("unknown").await;
    let unknown = about("unknown", json!({ "fence": fence }));
    let marked = server.post("/api/v1/claims/unknown", unknown).await;
    assert_eq!(marked.status, 200);
    server.wait(1);
    let dry = server.erase_many(json!({ "tenant": "acme" })).await.json();
    assert_eq!(
        (&dry["dry_run"], &dry["matched"]),
        (&json!(true), &json!(2))
    );
    assert!(server.shown("a").await.to_string().contains("SECRET"));
    server.wait(1);
    server.settled("later").await;
    let mut body = json!({ "tenant": "acme", "older_than": dry["until"], "dry_run": false });
    let (mut changed, mut unsettled) = (0, 0);
    loop {
        let done = server.erase_many(body.clone()).await.json();
        changed += done["changed"].as_u64().unwrap();
        unsettled += done["unsettled"].as_u64().unwrap();
        match &done["next"] {
            Value::Null => break,
            next => body["before"] = next.clone(),
        }
    }
    // What runs or is unknown keeps what it holds, and is counted.
    assert_eq!((changed, unsettled), (2, 2));
    for (key, is_left) in [("a", false), ("b", false), ("later", true)] {
        let shown = server.shown(key).await.to_string();
        assert_eq!(shown.contains("SECRET"), is_left, "{key}: {shown}");
    }
    // What was erased is passed over.
    let again = server.erase_many(json!({ "tenant": "acme" })).await.json();
    assert_eq!(again["matched"], 1);
    let audit = server.get("/api/v1/audit").await.json();
    assert_eq!(audit["audit"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_erasure_of_many_must_be_whole() {
    let server = Server::start().await;
    server.settled("a").await;
    for (more, field) in [
        (json!({}), Some("all")),
        (json!({ "all": true, "reason": " " }), Some("reason")),
        (json!({ "all": true, "by": "" }), Some("by")),
        (
            json!({ "all": true, "older_than": "soon" }),
            Some("older_than"),
        ),
        (json!({ "all": true, "before": "17" }), None),
    ] {
        let mut more = more;
        more["dry_run"] = json!(false);
        let refused = server.erase_many(more.clone()).await;
        assert_eq!(refused.problem(), "invalid-input", "{more}");
        assert_eq!(refused.json()["field"].as_str(), field, "{refused:?}");
    }
    assert!(server.shown("a").await.to_string().contains("SECRET"));
}

#[tokio::test]
async fn an_erasure_of_many_goes_on_behind_what_the_step_before_looked_at() {
    let server = Server::paging().await;
    let mut browser = Browser::at(server.address);
    server.settled("old").await;
    for number in 0..100 {
        server.settled(&format!("k-{number}")).await;
    }
    server.wait(1);
    let fields = [("tenant", "acme"), ("by", "ada"), ("reason", "asked to")];
    let look = "Look what that would erase";
    let page = browser.open("/keys").await;
    let shown = browser.submit(&page, look, &fields).await;
    let title = "Erase the contents of at least 100 records?";
    assert!(shown.body.contains(title), "{shown:?}");
    let confirmed = [("confirm", "yes")];
    let first = browser
        .submit(&shown.body, "Erase the contents of them", &confirmed)
        .await;
    assert!(first.body.contains("100 erased"), "{first:?}");
    assert!(server.shown("old").await.to_string().contains("SECRET"));
    let done = browser
        .confirm(&first.body, "Erase the contents of the next", &[])
        .await;
    assert!(done.contains("1 erased"), "{done}");
    assert!(!server.shown("old").await.to_string().contains("SECRET"));
    // What is erased is passed over, and what lies behind it is found.
    let shown = browser.submit(&done, look, &fields).await;
    assert!(
        shown.body.contains("No record matches so far."),
        "{shown:?}"
    );
    let shown = browser.submit(&shown.body, "Look at the next", &[]).await;
    assert!(shown.body.contains("No record matches."), "{shown:?}");
}
