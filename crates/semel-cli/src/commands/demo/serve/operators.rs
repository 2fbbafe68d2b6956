//! Two operators at the admin side. Ada decides about what waits for a person, one at a time, so that there is always something to look at; Grace
//! ends what is old, which keeps the store small.

use std::time::Duration;

use semel_testkit::random::Random;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::http::Http;

/// So many unknown records are left for the person who watches.
const UNKNOWN_LEFT: usize = 2;
/// So many dead letters of each consumer are left likewise.
const DEAD_LEFT: usize = 2;
/// What has waited for so long is ended.
const OLD: &str = "10m";

/// The consumers whose dead letters Ada looks at.
const TRIED_AGAIN: [&str; 4] = ["invoices", "ledger-entries", "payouts", "intent:mail"];
/// All whose old messages Grace skips, the paused one included.
const SWEPT: [&str; 6] = [
    "invoices",
    "ledger-entries",
    "payouts",
    "stock-levels",
    "loyalty-points",
    "intent:mail",
];

/// Ada, who decides about one thing every few seconds.
pub(super) async fn decide(admin: Http, mut random: Random) {
    // The first decision comes soon, so that the audit has a line.
    sleep(Duration::from_secs(6)).await;
    for round in 0usize.. {
        resolve_oldest(&admin, random.chance(70)).await;
        retry_one(&admin, TRIED_AGAIN[round % TRIED_AGAIN.len()]).await;
        sleep(Duration::from_secs(8 + random.below(8))).await;
    }
}

async fn resolve_oldest(admin: &Http, happened: bool) {
    let Some(page) = admin.get("/api/v1/records?state=unknown&limit=1000").await else {
        return;
    };
    let records = page["records"].as_array().map_or(&[][..], Vec::as_slice);
    let Some(oldest) = records.last().filter(|_| records.len() > UNKNOWN_LEFT) else {
        return;
    };
    let mut decision = json!({
        "tenant": oldest["tenant"], "scope": oldest["scope"], "key": oldest["key"], "fence": oldest["fence"],
        "by": "ada",
    });
    let said = match happened {
        true => json!({
            "how": "settle", "verdict": "succeeded", "status": 201, "retention": "10m",
            "body": "{\"status\":\"succeeded\"}", "reason": "the bank's statement has it",
        }),
        false => json!({ "how": "release", "reason": "the bank never heard of it" }),
    };
    if let (Some(decision), Value::Object(said)) = (decision.as_object_mut(), said) {
        decision.extend(said);
    }
    act(admin, "/api/v1/records/resolve", &decision).await;
}

/// Runs the oldest dead letter of a consumer once more.
async fn retry_one(admin: &Http, consumer: &str) {
    let path = format!("/api/v1/inbox?consumer={consumer}&state=PARKED,FAILED_TERMINAL&limit=1000");
    let Some(page) = admin.get(&path).await else {
        return;
    };
    let messages = page["messages"].as_array().map_or(&[][..], Vec::as_slice);
    if let Some(oldest) = messages.last().filter(|_| messages.len() > DEAD_LEFT) {
        let retry = json!({
            "consumer": consumer, "ids": [oldest["id"]], "by": "ada", "reason": "is the error still there?",
        });
        act(admin, "/api/v1/inbox/retry", &retry).await;
    }
}

/// Grace, who ends what is old once a minute.
pub(super) async fn tidy(admin: Http) {
    loop {
        sleep(Duration::from_secs(60)).await;
        let reason = "older than the demo keeps";
        for consumer in SWEPT {
            if !has_old(&admin, consumer).await {
                continue;
            }
            let skip =
                json!({ "consumer": consumer, "until": OLD, "by": "grace", "reason": reason });
            act(&admin, "/api/v1/inbox/skip", &skip).await;
        }
        let settle = json!({
            "all": true, "older_than": OLD, "dry_run": false, "by": "grace", "reason": reason,
            "how": "settle", "verdict": "failed", "retention": "10m",
        });
        act(&admin, "/api/v1/records/resolve-many", &settle).await;
    }
}

/// Whether a consumer has something old that waits: an act on nothing would still be a line of the audit.
async fn has_old(admin: &Http, consumer: &str) -> bool {
    const WAITING: &str = "RECEIVED,FAILED_RETRYABLE,FAILED_TERMINAL,PARKED";
    let path = format!("/api/v1/inbox?consumer={consumer}&state={WAITING}&until={OLD}&limit=1");
    let page = admin.get(&path).await.unwrap_or_default();
    page["messages"]
        .as_array()
        .is_some_and(|messages| !messages.is_empty())
}

async fn act(admin: &Http, path: &str, body: &Value) {
    // What another hand decided meanwhile is refused, and rightly.
    let _ = admin.post(path, &[], body.to_string()).await;
}
