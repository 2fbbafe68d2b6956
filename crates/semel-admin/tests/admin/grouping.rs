//! Acts on a group of failures: it narrows what an act is about and never widens it.

use semel_core::Identity;
use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{
    Cause, ClaimBatch, Disposition, Finish, Message, Plan, UnknownPolicy, WorkerName,
};
use semel_core::{LeaseTerm, Timestamp};
use serde_json::{Value, json};

use crate::browsing::Browser;
use crate::inbox::message;
use crate::server::Server;

fn parked(error: &str) -> Disposition {
    let error = ErrorText::new(error);
    let cause = Cause::AttemptsExhausted;
    Disposition::Park { cause, error }
}

fn of_tenant(tenant: &str, id: &str) -> Message {
    let identity = Identity::parse(tenant, "mailer@1", id).unwrap();
    Message::new(identity, format!("payload of {id}")).unwrap()
}

impl Server {
    /// Receives messages of the mailer and parks them all with this error.
    async fn park_all(&self, messages: Vec<Message>, error: &str) {
        let count = messages.len();
        self.receive(messages).await;
        let plan = Plan::new("mailer@1".parse().unwrap());
        let ask = ClaimBatch {
            plan: plan.clone(),
            worker: WorkerName::new("worker-1").unwrap(),
            max: count,
            bytes_max: usize::MAX,
            lease: LeaseTerm::default(),
            on_unknown: UnknownPolicy::Rerun,
        };
        let jobs = self.inbox.claim_batch(ask).await.unwrap().jobs;
        assert_eq!(jobs.len(), count);
        let ends = jobs.into_iter().map(|job| Finish {
            claim: job.claim,
            took: std::time::Duration::ZERO,
            disposition: parked(error),
        });
        self.inbox.finish(plan, ends.collect()).await.unwrap();
    }

    async fn only_group(&self) -> Value {
        let found = self.get("/api/v1/inbox/failures").await.json();
        assert_eq!(found["groups"].as_array().unwrap().len(), 1, "{found}");
        found["groups"][0]["group"].clone()
    }

    async fn parked_left(&self) -> u64 {
        let counts = self.inbox.counts().await.unwrap();
        counts.iter().map(|counts| counts.parked).sum()
    }
}

fn many(name: &str, count: usize) -> Vec<Message> {
    (0..count)
        .map(|n| message("mailer@1", &format!("{name}-{n}")))
        .collect()
}

fn at(now: Timestamp) -> Value {
    json!(now.to_string())
}

#[tokio::test]
async fn everything_that_an_act_names_beside_the_group_must_hold() {
    let server = Server::start().await;
    let lane = || "order-1".parse().unwrap();
    server
        .park_all(
            vec![of_tenant("acme", "same"), message("mailer@1", "same")],
            "no customer",
        )
        .await;
    server.wait(10);
    let middle = server.store.now();
    server.wait(10);
    server
        .park_all(
            vec![message("mailer@1", "late").with_lane(lane())],
            "no customer",
        )
        .await;
    let group = server.only_group().await;
    for (filter, changed) in [
        (json!({}), 3),
        (json!({ "tenant": "acme" }), 1),
        (json!({ "tenant": "globex" }), 0),
        (json!({ "cause": "attempts-exhausted" }), 3),
        (json!({ "cause": "terminal" }), 0),
        (json!({ "lane": "order-1" }), 1),
        (json!({ "from": at(middle) }), 1),
        (json!({ "until": at(middle) }), 2),
        (json!({ "states": ["FAILED_TERMINAL"] }), 0),
        (json!({ "states": ["RECEIVED"] }), 0),
    ] {
        let mut act = json!({ "consumer": "mailer", "group": group, "dry_run": true });
        let more = filter.as_object().unwrap().clone();
        act.as_object_mut().unwrap().extend(more);
        let said = server.act("skip", act).await.json();
        assert_eq!(
            (&said["changed"], &said["more"]),
            (&json!(changed), &json!(false)),
            "{filter}"
        );
    }
    let skip = json!({ "consumer": "mailer", "group": group, "tenant": "acme" });
    assert_eq!(server.act("skip", skip).await.json()["changed"], 1);
    assert_eq!(server.parked_left().await, 2);
}

#[tokio::test]
async fn every_step_of_a_large_group_comes_further() {
    let server = Server::start().await;
    server.park_all(many("old", 5), "no customer").await;
    server.wait(10);
    let middle = server.store.now();
    server.wait(10);
    server.park_all(many("a", 600), "no customer").await;
    server.park_all(many("b", 600), "no customer").await;
    let group = server.only_group().await;
    // The newest thousand are not meant.
    let old = json!({ "consumer": "mailer", "group": group, "until": at(middle) });
    let done = server.act("skip", old).await.json();
    assert_eq!(
        (&done["changed"], &done["more"]),
        (&json!(5), &json!(false))
    );
    let all = json!({ "consumer": "mailer", "group": group });
    let done = server.act("skip", all.clone()).await.json();
    assert_eq!(
        (&done["changed"], &done["more"]),
        (&json!(1_000), &json!(true))
    );
    let done = server.act("skip", all).await.json();
    assert_eq!(
        (&done["changed"], &done["more"]),
        (&json!(200), &json!(false))
    );
    assert_eq!(server.parked_left().await, 0);
}

#[tokio::test]
async fn what_fails_again_after_the_look_is_left_alone_also_in_the_same_way() {
    let server = Server::start().await;
    server.park_all(many("m", 2), "no customer").await;
    let group = server.only_group().await;
    server.wait(1);
    let mut skip = json!({ "consumer": "mailer", "group": group, "dry_run": true });
    let look = server.act("skip", skip.clone()).await.json();
    assert_eq!(look["changed"], 2);
    server.wait(1);
    let again = json!({ "consumer": "mailer", "ids": ["m-0"] });
    server.act("retry", again).await;
    let job = server.claimed("mailer@1").await;
    server.finish(job, parked("no customer")).await;
    skip["dry_run"] = json!(false);
    skip["unchanged_since"] = look["unchanged_since"].clone();
    let done = server.act("skip", skip).await.json();
    assert_eq!(
        (&done["changed"], &done["sample"]),
        (&json!(1), &json!(["m-1"]))
    );
    assert_eq!(server.parked_left().await, 1);
}

#[tokio::test]
async fn the_audit_names_the_group_and_its_error() {
    let server = Server::start().await;
    server.park_all(many("m", 1), "no customer c-17").await;
    let group = server.only_group().await;
    let skip = json!({ "consumer": "mailer", "group": group });
    server.act("skip", skip).await;
    let audit = server.get("/api/v1/inbox/audit").await.json();
    let selection = audit["audit"][0]["selection"].as_str().unwrap();
    let expected = format!(
        "group {} (no customer #); id m-0; ",
        group.as_str().unwrap()
    );
    assert!(selection.starts_with(&expected), "{selection}");
}

#[tokio::test]
async fn a_look_without_a_group_is_confirmed_as_it_was_too() {
    let server = Server::start().await;
    server.park_all(many("seen", 1), "one way").await;
    let mut skip = json!({ "consumer": "mailer", "states": ["PARKED"], "dry_run": true });
    let look = server.act("skip", skip.clone()).await.json();
    server.wait(1);
    server.park_all(many("later", 1), "one way").await;
    skip["dry_run"] = json!(false);
    skip["unchanged_since"] = look["unchanged_since"].clone();
    let done = server.act("skip", skip).await.json();
    assert_eq!(
        (&done["changed"], &done["sample"]),
        (&json!(1), &json!(["seen-0"]))
    );
    assert_eq!(done["unchanged_since"], look["unchanged_since"]);
}

#[tokio::test]
async fn older_failures_than_are_looked_at_are_named_and_found_by_when_they_were_received() {
    let server = Server::start().await;
    server.park_all(many("old", 2), "no customer").await;
    let group = server.only_group().await;
    for part in 0..11 {
        server.wait(60);
        let newer = many(&format!("new-{part}"), 1_000);
        server.park_all(newer, "another error").await;
    }
    let skip = json!({ "consumer": "mailer", "group": group });
    let done = server.act("skip", skip).await.json();
    assert_eq!(
        (&done["changed"], &done["more"]),
        (&json!(0), &json!(false)),
        "to say it again would change nothing"
    );
    let unseen = done["unseen_before"].as_str().unwrap().to_owned();

    let mut browser = Browser::at(server.address);
    let group = group.as_str().unwrap();
    let path = format!("/dead-letters?consumer=mailer%401&group={group}");
    let page = browser.open(&path).await;
    assert!(
        page.contains("No failure of this group is among the newest."),
        "{page}"
    );
    let fields = [("verb", "skip"), ("reason", "INC-7"), ("by", "ada")];
    let look = browser.submit(&page, "See what it would do", &fields).await;
    assert!(look.body.contains("Nothing would change."), "{look:?}");
    assert!(!look.body.contains("do it again"), "{look:?}");
    let (_, link) = look.body.split_once("href=\"/dead-letters?").unwrap();
    let link = link.split('"').next().unwrap().replace("&amp;", "&");
    assert!(
        link.contains(&unseen.replace(':', "%3A")),
        "{link}: {unseen}"
    );
    let page = browser.open(&format!("/dead-letters?{link}")).await;
    assert!(page.contains("id=old-1"), "{page}");
    let look = browser.submit(&page, "See what it would do", &fields).await;
    let after = browser.confirm(&look.body, "Skip 2 messages", &[]).await;
    assert!(
        after.contains("2 messages are passed over for good."),
        "{after}"
    );
}
