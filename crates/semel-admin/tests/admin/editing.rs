//! Edit and retry, failures in groups, and acts on a whole group.

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{Cause, Disposition};
use serde_json::{Value, json};

use crate::inbox::{failed, filled, message};
use crate::server::Server;

fn edit(body: &str) -> Value {
    json!({ "consumer": "mailer", "id": "parked", "body": body, "reason": "INC-7" })
}

fn park(error: &str) -> Disposition {
    let error = ErrorText::new(error);
    let cause = Cause::AttemptsExhausted;
    Disposition::Park { cause, error }
}

#[tokio::test]
async fn an_edited_message_runs_again_and_its_original_is_kept() {
    let server = filled().await;
    let mut dry = edit("mended");
    dry["dry_run"] = json!(true);
    dry["headers"] = json!([["Content-Type", "text/plain"]]);
    let forecast = server.act("edit", dry.clone()).await.json();
    assert_eq!(forecast["report"]["changed"], 1);
    assert_eq!(forecast["report"]["action"], "edit");
    assert_eq!(
        (&forecast["before_bytes"], &forecast["after_bytes"]),
        (&json!(13), &json!(6))
    );
    let one = "/api/v1/inbox/one?consumer=mailer&id=parked&payload=true";
    let before = server.get(one).await.json();
    assert_eq!(before["edits"], json!([]));
    assert_eq!(before["message"]["state"], "PARKED");

    dry["dry_run"] = json!(false);
    let done = server.act("edit", dry).await.json();
    assert_eq!(
        (&done["report"]["changed"], &done["version"]),
        (&json!(1), &json!(1))
    );
    let after = server.get(one).await.json();
    assert_eq!(after["message"]["state"], "RECEIVED");
    assert_eq!(after["arrived"]["payload"]["text"], "secret parked");
    let kept = &after["edits"][0];
    assert_eq!(
        (&kept["by"], &kept["reason"]),
        (&json!("no-token:ada"), &json!("INC-7"))
    );
    assert_eq!(kept["payload"]["text"], "mended");
    // Other headers stay.
    let names: Vec<_> = kept["headers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|h| &h["name"])
        .collect();
    assert_eq!(names, ["X-Trace", "Content-Type"]);
    let hidden = server
        .get("/api/v1/inbox/one?consumer=mailer&id=parked")
        .await;
    assert!(!hidden.body.contains("mended"), "{}", hidden.body);
    let audit = server.get("/api/v1/inbox/audit").await.json();
    let line = &audit["audit"][0];
    assert_eq!(
        (&line["action"], &line["by"]),
        (&json!("edit"), &json!("no-token:ada"))
    );
    // What is sent again is the original, and a duplicate.
    server.arrive("parked").await;
    let again = server.get(one).await.json();
    assert_eq!(again["message"]["duplicates"], 1);
}

#[tokio::test]
async fn an_edit_that_cannot_be_is_refused_and_says_why() {
    let server = filled().await;
    let nothing = json!({ "consumer": "mailer", "id": "parked", "reason": "INC-7" });
    assert_eq!(
        server.act("edit", nothing).await.problem(),
        "decision-refused"
    );
    let same = server.act("edit", edit("secret parked")).await;
    assert_eq!(same.problem(), "decision-refused");
    let mut unknown = edit("mended");
    unknown["id"] = json!("nothing");
    assert_eq!(server.act("edit", unknown).await.problem(), "not-found");
    let mut unreasoned = edit("mended");
    unreasoned["reason"] = json!(" ");
    assert_eq!(
        server.act("edit", unreasoned).await.json()["field"],
        "reason"
    );
    let mut note = edit("mended");
    note["headers"] = json!([["semel-payload", "null"]]);
    assert_eq!(server.act("edit", note).await.problem(), "decision-refused");
    let mut done = edit("mended");
    done["id"] = json!("done");
    let report = server.act("edit", done).await.json();
    assert_eq!(report["report"]["changed"], 0);
}

#[tokio::test]
async fn failures_are_grouped_by_cause_and_error_and_acted_on_as_one() {
    let server = Server::start().await;
    for n in 0..3 {
        let error = format!("no customer c-{n}: the service answered 404");
        server.deal(&format!("lost-{n}"), park(&error)).await;
    }
    server.deal("away", park("the service answered 503")).await;
    server.deal("other", failed(Cause::Handler)).await;
    let found = server
        .get("/api/v1/inbox/failures?consumer=mailer")
        .await
        .json();
    assert_eq!(
        (&found["looked_at"], &found["more"]),
        (&json!(5), &json!(false))
    );
    let groups = found["groups"].as_array().unwrap();
    assert_eq!(groups.len(), 3);
    let group = &groups[0];
    assert_eq!(group["error"], "no customer #: the service answered 404");
    assert_eq!(
        group["example"],
        "no customer c-2: the service answered 404"
    );
    assert_eq!(
        (&group["count"], &group["cause"]),
        (&json!(3), &json!("attempts-exhausted"))
    );
    assert_eq!(
        group["newest"][0],
        json!({ "tenant": "public", "id": "lost-2" })
    );

    let mut retry = json!({ "consumer": "mailer", "group": group["group"], "dry_run": true });
    let forecast = server.act("retry", retry.clone()).await.json();
    assert_eq!(
        (&forecast["matched"], &forecast["changed"]),
        (&json!(3), &json!(3))
    );
    retry["dry_run"] = json!(false);
    let done = server.act("retry", retry.clone()).await.json();
    assert_eq!(
        (&done["changed"], &done["more"]),
        (&json!(3), &json!(false))
    );
    let found = server.get("/api/v1/inbox/failures").await.json();
    assert_eq!(found["looked_at"], 2);
    // A group that is empty by now changes nothing.
    assert_eq!(server.act("retry", retry).await.json()["matched"], 0);
    let parked = server.get("/api/v1/inbox?state=PARKED").await.json();
    assert_eq!(parked["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_group_is_of_tenants_that_share_ids_and_not_of_what_failed_otherwise() {
    let server = Server::start().await;
    let mut of_acme = message("mailer@1", "same");
    let identity = semel_core::Identity::parse("acme", "mailer@1", "same").unwrap();
    of_acme = semel_core::inbox::Message::new(identity, of_acme.payload().clone()).unwrap();
    server.receive(vec![of_acme]).await;
    let job = server.claimed("mailer@1").await;
    server.finish(job, park("one way")).await;
    server.deal("same", park("another way")).await;
    let found = server.get("/api/v1/inbox/failures").await.json();
    let groups = found["groups"].as_array().unwrap();
    let group = groups.iter().find(|group| group["error"] == "one way");
    let group = &group.unwrap()["group"];
    let skip = json!({ "consumer": "mailer", "group": group });
    assert_eq!(server.act("skip", skip).await.json()["changed"], 1);
    let left = server.get("/api/v1/inbox?state=PARKED").await.json();
    assert_eq!(left["messages"][0]["tenant"], "public");
    assert_eq!(left["messages"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_group_is_not_unparked_replayed_or_named_with_ids() {
    let server = filled().await;
    for verb in ["unpark", "replay"] {
        let refused = server
            .act(verb, json!({ "consumer": "mailer", "group": "0", "force": verb == "replay", "reason": "x" }))
            .await;
        assert_eq!(refused.json()["field"], "group", "{verb}");
    }
    let both = json!({ "consumer": "mailer", "group": "0", "ids": ["parked"] });
    assert_eq!(server.act("retry", both).await.json()["field"], "group");
}

#[tokio::test]
async fn contents_are_erased_with_a_reason_and_a_redelivery_is_a_duplicate() {
    let server = filled().await;
    let mut erase = json!({ "consumer": "mailer", "ids": ["parked", "done", "waiting"] });
    let refused = server.act("erase", erase.clone()).await;
    assert_eq!(refused.json()["field"], "reason");
    erase["reason"] = json!("request 4711");
    let done = server.act("erase", erase).await.json();
    assert_eq!(done["action"], "erase-contents");
    // What waits to run keeps its contents.
    assert_eq!((&done["changed"], &done["skipped"]), (&json!(2), &json!(1)));
    for (id, state) in [("parked", "SKIPPED_DUPLICATE"), ("done", "COMPLETED")] {
        let path = format!("/api/v1/inbox/one?consumer=mailer&id={id}&payload=true&answers=true");
        let one = server.get(&path).await;
        assert!(!one.body.contains("secret"), "{}", one.body);
        let one = one.json();
        assert_eq!(one["message"]["state"], state);
        assert!(
            one["arrived"].is_null() && one["erased_at"].is_string(),
            "{one}"
        );
        server.arrive(id).await;
        assert_eq!(server.get(&path).await.json()["message"]["duplicates"], 1);
    }
    let replay = json!({ "consumer": "mailer", "ids": ["done"], "force": true, "reason": "x" });
    let replayed = server.act("replay", replay).await.json();
    assert_eq!(
        (&replayed["changed"], &replayed["gone"]),
        (&json!(0), &json!(1))
    );
    let audit = server.get("/api/v1/inbox/audit").await.json();
    let line = audit["audit"]
        .as_array()
        .unwrap()
        .iter()
        .find(|line| line["action"] == "erase-contents");
    assert_eq!(line.unwrap()["reason"], "request 4711");
}
