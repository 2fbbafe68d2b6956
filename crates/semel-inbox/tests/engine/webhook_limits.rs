//! Tenants that post more than their limits allow.

use std::time::Duration;

use semel_core::Inbox;
use semel_core::inbox::{Action, Operation, Plan, Selection, State};
use semel_core::store::Actor;
use semel_http::quota::{Quota, Rate, Terms};
use semel_inbox::{Rule, Webhook};

use crate::support::hook::Hook;
use crate::support::{Rig, consumer, identity};

fn per_hour(amount: u64) -> Option<Rate> {
    Some(Rate::new(amount, Duration::from_secs(3_600)))
}

/// A webhook whose tenants have these limits.
async fn start(rig: &Rig, each: Quota, change: impl FnOnce(Webhook) -> Webhook) -> Hook {
    let quotas = semel_http::Quotas::default();
    quotas.set(Terms {
        each,
        ..Terms::default()
    });
    let webhook = change(Webhook::new("mail".parse().unwrap()));
    Hook::start(rig, consumer("mail"), webhook.quotas(quotas)).await
}

#[tokio::test]
async fn a_tenant_over_its_limit_stores_nothing_more() {
    let rig = Rig::new();
    let each = Quota {
        requests: per_hour(4),
        new_keys: per_hour(1),
        ..Quota::NONE
    };
    let hook = start(&rig, each, |webhook| webhook.rule(Rule::stripe())).await;
    let first = hook.post("/inbox/mail", &[], "{\"id\":\"1\"}").await;
    assert_eq!(first.status, 202);
    for (limit, id) in [
        ("new_keys", "2"),
        ("new_keys", "3"),
        ("new_keys", "4"),
        ("requests", "5"),
    ] {
        let body = format!("{{\"id\":\"{id}\"}}");
        let refused = hook.post("/inbox/mail", &[], &body).await;
        assert_eq!((refused.status, refused.problem()), (429, "rate-limited"));
        assert!(refused.retry_after);
        assert_eq!(refused.body["limit"], limit);
        let found = rig.store.message(identity("mail", id)).await;
        assert!(found.unwrap().is_none(), "{id}");
    }
    hook.stop().await;
}

const BATCH: [(&str, &str); 1] = [("content-type", "application/cloudevents-batch+json")];

fn batch(ids: &[&str], data: u32) -> String {
    let event = |id: &&str| format!(r#"{{"id":"{id}","source":"/shop","type":"t","data":{data}}}"#);
    let events: Vec<String> = ids.iter().map(event).collect();
    format!("[{}]", events.join(","))
}

/// A webhook whose tenant may bring so much in an hour.
async fn limited(rig: &Rig, requests: u64, new_keys: u64) -> Hook {
    let each = Quota {
        requests: per_hour(requests),
        new_keys: per_hour(new_keys),
        ..Quota::NONE
    };
    start(rig, each, |webhook| webhook).await
}

#[tokio::test]
async fn a_batch_over_the_limit_is_refused_whole_and_takes_nothing_from_smaller_ones() {
    let rig = Rig::new();
    let hook = limited(&rig, 10, 3).await;
    let post = async |ids: &[&str]| hook.post("/inbox/mail", &BATCH, &batch(ids, 1)).await;
    assert_eq!(post(&["1"]).await.status, 202);
    for _ in 0..3 {
        let refused = post(&["2", "3", "4"]).await;
        assert_eq!((refused.status, refused.problem()), (429, "rate-limited"));
        assert_eq!(refused.body["limit"], "new_keys");
    }
    assert_eq!(post(&["2", "3"]).await.status, 202);
    // One, three refusals and two are six of ten requests.
    assert_eq!(post(&["1", "2", "3", "1"]).await.status, 200);
    let refused = post(&["1"]).await;
    assert_eq!(refused.body["limit"], "requests");
    hook.stop().await;
}

#[tokio::test]
async fn a_batch_that_is_larger_than_the_limit_gets_in_and_is_owed() {
    let rig = Rig::new();
    let hook = limited(&rig, 2, 2).await;
    let ids = ["1", "2", "3", "4", "5"];
    let told = hook.post("/inbox/mail", &BATCH, &batch(&ids, 1)).await;
    assert_eq!(told.status, 202);
    let refused = hook.post("/inbox/mail", &BATCH, &batch(&["6"], 1)).await;
    assert_eq!(
        (refused.status, &refused.body["limit"]),
        (429, &"requests".into())
    );
    hook.stop().await;
}

#[tokio::test]
async fn what_is_known_is_taken_again_when_new_keys_are_used_up() {
    let rig = Rig::new();
    let hook = limited(&rig, 100, 2).await;
    let post = async |ids: &[&str], data| hook.post("/inbox/mail", &BATCH, &batch(ids, data)).await;
    assert_eq!(post(&["1", "2"], 1).await.status, 202);
    let again = post(&["2", "1"], 1).await;
    assert_eq!(again.status, 200);
    assert_eq!(again.body["messages"][0]["duplicate"], true);
    for (ids, data) in [(&["1", "3"][..], 1), (&["1"], 2)] {
        let refused = post(ids, data).await;
        assert_eq!(refused.body["limit"], "new_keys", "{ids:?}");
    }
    let new = rig.store.message(identity("mail", "/shop#3")).await;
    assert!(new.unwrap().is_none());
    assert_eq!(rig.store.counts().await.unwrap()[0].parked, 0);
    hook.stop().await;
}

#[tokio::test]
async fn a_tenant_that_has_stored_too_much_stores_no_more() {
    let rig = Rig::new();
    let each = Quota {
        stored_bytes: per_hour(100),
        ..Quota::NONE
    };
    let hook = start(&rig, each, |webhook| webhook).await;
    let post = async |id: &str, data: &str| {
        let headers = [
            ("ce-specversion", "1.0"),
            ("ce-id", id),
            ("ce-source", "/shop"),
            ("ce-type", "t"),
            ("content-type", "text/plain"),
        ];
        hook.post("/inbox/mail", &headers, data).await
    };
    // What has been checked may overdraw the limit.
    let large = "x".repeat(400);
    assert_eq!(post("1", &large).await.status, 202);
    for data in ["", &large] {
        let refused = post("2", data).await;
        assert_eq!((refused.status, refused.problem()), (429, "quota-exceeded"));
        assert_eq!(refused.body["limit"], "stored_bytes");
        assert!(refused.retry_after);
    }
    let new = rig.store.message(identity("mail", "/shop#2")).await;
    assert!(new.unwrap().is_none());
    // A duplicate stores nothing, another payload under a known id would.
    assert_eq!(post("1", &large).await.status, 200);
    assert_eq!(post("1", "other").await.body["limit"], "stored_bytes");
    hook.stop().await;
}

#[tokio::test]
async fn a_redelivery_of_what_was_erased_is_known_and_another_payload_is_not() {
    let rig = Rig::new();
    let hook = limited(&rig, 100, 1).await;
    let post = async |data| hook.post("/inbox/mail", &BATCH, &batch(&["1"], data)).await;
    assert_eq!(post(1).await.status, 202);
    let message = identity("mail", "/shop#1");
    rig.until(&message, State::Completed).await;
    let erase = Operation {
        plan: Plan::new("mail".parse().unwrap()),
        select: Selection::default(),
        action: Action::EraseContents,
        by: Actor::new("ada").unwrap(),
        reason: None,
        verb: "erase",
        dry_run: false,
        edit: None,
    };
    assert_eq!(rig.store.operate(erase).await.unwrap().changed, 1);
    let again = post(1).await;
    assert_eq!(again.status, 200, "{:?}", again.body);
    assert_eq!(again.body["duplicate"], true);
    let other = post(2).await;
    assert_eq!(
        (other.status, &other.body["limit"]),
        (429, &"new_keys".into())
    );
    hook.stop().await;
}
