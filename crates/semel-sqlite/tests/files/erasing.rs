//! What the file itself holds once contents are erased.

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{
    Action, Arrivals, ClaimBatch, Disposition, Edit, Finish, Inbox, Message, Operation, Plan,
    Selection, Step, WorkerName,
};
use semel_core::store::{Actor, Resolution, ResolveAnswer, ResolveRequest};
use semel_core::{About, Claim, Headers};

use super::*;

/// Nothing else in a file looks like this.
const SECRET: &[u8] = b"born-in-1815-in-London";

fn count(dir: &TempDir) -> usize {
    let bytes = fs::read(dir.path().join("semel.db")).unwrap();
    bytes
        .windows(SECRET.len())
        .filter(|window| *window == SECRET)
        .count()
}

/// A body on pages of its own, and one in the middle of a page, both with the secret in them, and in what was asked.
async fn with_secrets(store: &SqliteStore) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (key, len) in [("small", 100), ("large", 40_000)] {
        let about = About::new(&format!("GET /{}", String::from_utf8_lossy(SECRET)));
        let claim = ClaimRequest {
            about,
            ..request(key)
        };
        let ClaimAnswer::Granted(lease) = store.claim_one(claim).await.unwrap() else {
            panic!("expected a grant of {key}");
        };
        let settle = SettleRequest {
            claim: lease.claim.clone(),
            outcome: Outcome::succeeded(secret(len)),
            took: Duration::ZERO,
            retention: Retention::default(),
        };
        store.settle_one(settle).await.unwrap();
        claims.push(lease.claim);
    }
    claims
}

#[tokio::test]
async fn erased_contents_are_not_in_the_file_after_a_checkpoint() {
    let dir = dir();
    let claims = with_secrets(&open(&dir)).await;
    // Closing it is a checkpoint.
    assert!(count(&dir) > 1_000);
    let store = open(&dir);
    for claim in claims {
        let request = ResolveRequest {
            claim,
            by: Actor::new("ada").unwrap(),
            reason: None,
            resolution: Resolution::EraseContents,
        };
        let erased = store.resolve_one(request).await.unwrap();
        assert_eq!(erased, ResolveAnswer::Resolved);
    }
    drop(store);
    assert_eq!(count(&dir), 0);
    assert!(!dir.path().join("semel.db-wal").exists());
}

fn secret(len: usize) -> Vec<u8> {
    SECRET.iter().copied().cycle().take(len).collect()
}

/// One attempt of the message, with a step and an answer in which the secret is.
async fn fail(store: &SqliteStore, plan: &Plan) {
    let ask = ClaimBatch::new(plan.clone(), WorkerName::new("w").unwrap());
    let job = store.claim_batch(ask).await.unwrap().jobs.remove(0);
    let step = Step::new("charge", secret(6_000)).unwrap();
    store.remember_step(job.claim.clone(), step).await.unwrap();
    let error = ErrorText::new("500").with_answer(&secret(3_000).into());
    let end = Finish {
        claim: job.claim,
        took: Duration::ZERO,
        disposition: Disposition::Terminal { error },
    };
    store.finish(plan.clone(), vec![end]).await.unwrap();
}

/// Changes one message by hand.
async fn operate(store: &SqliteStore, plan: &Plan, action: Action, edit: Option<Edit>) {
    let operation = Operation {
        plan: plan.clone(),
        select: Selection {
            ids: vec!["m".parse().unwrap()],
            tenant: Some("t".to_owned()),
            ..Selection::default()
        },
        action,
        by: Actor::new("ada").unwrap(),
        reason: None,
        verb: "inbox test",
        dry_run: false,
        edit,
    };
    assert_eq!(store.operate(operation).await.unwrap().changed, 1);
}

#[tokio::test]
async fn erased_messages_are_not_in_the_file_after_a_checkpoint() {
    let dir = dir();
    let plan = Plan::new("mail@1".parse().unwrap());
    let store = open(&dir);
    let identity = Identity::parse("t", "mail@1", "m").unwrap();
    let message = Message::new(identity, secret(40_000)).unwrap();
    let arrivals = Arrivals {
        plan: plan.clone(),
        messages: vec![message],
        positions: Vec::new(),
    };
    store.receive(arrivals).await.unwrap();
    fail(&store, &plan).await;
    let edit = Edit::new(secret(9_000), Headers::default()).unwrap();
    let action = Action::Edit { new_key: false };
    operate(&store, &plan, action, Some(edit)).await;
    fail(&store, &plan).await;
    // Closing it is a checkpoint.
    drop(store);
    assert!(count(&dir) > 2_000, "found {}", count(&dir));
    let store = open(&dir);
    operate(&store, &plan, Action::EraseContents, None).await;
    drop(store);
    assert_eq!(count(&dir), 0);
    assert!(!dir.path().join("semel.db-wal").exists());
}

#[tokio::test]
async fn a_log_that_holds_erased_messages_is_truncated_when_nothing_is_written() {
    let dir = dir();
    let plan = Plan::new("mail@1".parse().unwrap());
    let store = open(&dir);
    let identity = Identity::parse("t", "mail@1", "m").unwrap();
    let arrivals = Arrivals {
        plan: plan.clone(),
        messages: vec![Message::new(identity, secret(100)).unwrap()],
        positions: Vec::new(),
    };
    store.receive(arrivals).await.unwrap();
    operate(&store, &plan, Action::Park, None).await;
    operate(&store, &plan, Action::EraseContents, None).await;
    // So few pages would otherwise stay.
    let log = dir.path().join("semel.db-wal");
    let truncated = async {
        while fs::metadata(&log).unwrap().len() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let truncated = tokio::time::timeout(Duration::from_secs(30), truncated);
    truncated.await.expect("the log is truncated");
    assert_eq!(count(&dir), 0);
}
