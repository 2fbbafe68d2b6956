//! What someone who has the files can read.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{
    Action, Arrivals, Cause, ClaimBatch, Disposition, Edit, Finish, Inbox, Intent, Message,
    Operation, Plan, Selection, Step, WorkerName,
};
use semel_core::record::{EventKind, UnknownCause};
use semel_core::store::{Actor, ClaimAnswer, MarkRequest, Query, SettleAnswer, SettleRequest};
use semel_core::{Body, Claim, Headers, Identity, Outcome, Retention, Store, StoreExt};
use semel_seal::SealedInbox;

use crate::support::{asked, keyring, of, open, outcome, replayed, sealed, settle};

/// Everything that lies in a directory.
fn bytes(dir: &Path) -> Vec<u8> {
    let files = fs::read_dir(dir).unwrap();
    let read = files.map(|file| fs::read(file.unwrap().path()).unwrap());
    read.collect::<Vec<_>>().concat()
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

/// A claim whose outcome is unknown by now.
async fn claimed(store: &dyn Store, identity: &Identity) -> Claim {
    let ClaimAnswer::Granted(lease) = store.claim_one(asked(identity)).await.unwrap() else {
        panic!("{identity} was claimed before");
    };
    let mark = MarkRequest {
        claim: lease.claim.clone(),
        cause: UnknownCause::RunUndecided,
        evidence: None,
    };
    store.mark_one(mark).await.unwrap();
    lease.claim
}

/// What the owner of a claim says in the end.
async fn bring(store: &dyn Store, claim: &Claim, body: &'static str) -> SettleAnswer {
    let request = SettleRequest {
        claim: claim.clone(),
        outcome: outcome(body),
        took: Duration::ZERO,
        retention: Retention::default(),
    };
    store.settle_one(request).await.unwrap()
}

/// An operator makes something else of a message.
async fn edit(inbox: &dyn Inbox, plan: &Plan, message: &Identity, payload: &'static str) {
    let operation = Operation {
        plan: plan.clone(),
        select: Selection {
            ids: vec![message.key().clone()],
            tenant: Some(message.tenant().to_string()),
            ..Selection::default()
        },
        action: Action::Edit { new_key: false },
        by: Actor::new("dana").unwrap(),
        reason: None,
        verb: "inbox edit",
        dry_run: false,
        edit: Some(Edit::new(payload, Headers::default()).unwrap()),
    };
    assert_eq!(inbox.operate(operation).await.unwrap().changed, 1);
}

/// Completes the one message that is due, with an intent; whose it is.
async fn run_with_intent(inbox: &dyn Inbox, plan: &Plan, payload: &'static str) -> Identity {
    let ask = ClaimBatch::new(plan.clone(), WorkerName::new("w").unwrap());
    let job = inbox.claim_batch(ask).await.unwrap().jobs.remove(0);
    let sent = Identity::parse("ann", "send@1", "i").unwrap();
    let intent = Intent {
        plan: Arc::new(Plan::new("send@1".parse().unwrap())),
        message: Message::new(sent.clone(), payload).unwrap(),
    };
    let end = Finish {
        claim: job.claim,
        took: Duration::ZERO,
        disposition: Disposition::Completed {
            outcome: Outcome::succeeded("body-in-the-clear"),
            intents: vec![intent],
        },
    };
    inbox.finish(plan.clone(), vec![end]).await.unwrap();
    sent
}

#[tokio::test]
async fn no_content_is_on_disk_in_the_clear_and_all_of_it_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let layer = sealed(&store, &["a"]);
    let identity = of("ann", "k");
    settle(&layer, &identity, outcome("body-in-the-clear")).await;
    let late = of("ann", "late");
    let owner = claimed(&layer, &late).await;
    assert_eq!(
        bring(&layer, &owner, "late-in-the-clear").await,
        SettleAnswer::Late
    );
    let inbox = SealedInbox::new(store.clone(), keyring(&store, &["a"]));
    let mail = Identity::parse("ann", "mail@1", "m").unwrap();
    let headers = vec![("x-note".to_owned(), "note-in-the-clear".into())];
    let message = Message::new(mail.clone(), "payload-in-the-clear").unwrap();
    let message = message.with_headers(Headers::new(headers).unwrap());
    let plan = Plan::new("mail@1".parse().unwrap());
    let arrivals = Arrivals {
        plan: plan.clone(),
        messages: vec![message],
        positions: Vec::new(),
    };
    inbox.receive(arrivals).await.unwrap();
    let ask = ClaimBatch::new(plan.clone(), WorkerName::new("w").unwrap());
    let job = inbox.claim_batch(ask).await.unwrap().jobs.remove(0);
    assert_eq!(job.message.payload(), "payload-in-the-clear");
    let step = Step::new("charge", "step-in-the-clear").unwrap();
    inbox.remember_step(job.claim.clone(), step).await.unwrap();
    let error = ErrorText::new("500").with_answer(&"answer-in-the-clear".into());
    let end = Finish {
        claim: job.claim,
        took: Duration::ZERO,
        disposition: Disposition::Park {
            cause: Cause::Unreadable,
            error,
        },
    };
    inbox.finish(plan.clone(), vec![end]).await.unwrap();
    edit(&inbox, &plan, &mail, "edit-in-the-clear").await;
    let sent = run_with_intent(&inbox, &plan, "intent-in-the-clear").await;

    let on_disk = bytes(dir.path());
    assert!(has(&on_disk, "mail"));
    let kinds = [
        "body", "header", "payload", "note", "step", "answer", "late", "edit", "intent",
    ];
    for kind in kinds {
        assert!(!has(&on_disk, &format!("{kind}-in-the-clear")), "{kind}");
    }
    assert_eq!(
        replayed(&layer, &identity).await.unwrap(),
        outcome("body-in-the-clear")
    );
    let detail = inbox.message(mail).await.unwrap().unwrap();
    let message = detail.message.unwrap();
    assert_eq!(message.payload(), "payload-in-the-clear");
    assert_eq!(message.headers().len(), 1);
    assert_eq!(detail.edits[0].edit.payload(), "edit-in-the-clear");
    let sent = inbox.message(sent).await.unwrap().unwrap();
    assert_eq!(sent.message.unwrap().payload(), "intent-in-the-clear");
    let history = layer.history(late).await.unwrap();
    let brought = history.iter().find_map(|event| match &event.kind {
        EventKind::LateOutcome(outcome) => outcome.body.kept(),
        _ => None,
    });
    assert_eq!(brought.unwrap(), "late-in-the-clear");
    assert_eq!(detail.steps[0].result, "step-in-the-clear");
    assert_eq!(
        detail.attempts[0].answer.as_ref().unwrap(),
        "answer-in-the-clear"
    );
}

#[tokio::test]
async fn the_digest_of_a_body_that_is_not_kept_cannot_be_guessed_from_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let layer = sealed(&store, &["a"]);
    let identity = of("ann", "k");
    let mut short = outcome("1234");
    short.body = Body::omitted(b"1234");
    settle(&layer, &identity, short.clone()).await;
    let plain = *blake3::hash(b"1234").as_bytes();
    let on_disk = bytes(dir.path());
    assert!(!on_disk.windows(32).any(|window| window == plain));
    assert_eq!(replayed(&layer, &identity).await.unwrap(), short);
}

#[tokio::test]
async fn what_was_plain_before_stays_readable_and_a_moved_text_does_not_open() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let (old, new) = (of("ann", "old"), of("ann", "new"));
    settle(&*store, &old, outcome("plain")).await;
    let layer = sealed(&store, &["a"]);
    assert_eq!(replayed(&layer, &old).await.unwrap(), outcome("plain"));
    settle(&layer, &new, outcome("sealed")).await;
    // An attacker who can write to the store hands one tenant's answer to another key.
    let found = store.look_up_one(new.clone()).await.unwrap().unwrap();
    let semel_core::State::Settled(settled) = &found.state else {
        panic!("it is settled");
    };
    let moved = of("ann", "moved");
    settle(&*store, &moved, settled.outcome.clone()).await;
    let error = replayed(&layer, &moved).await.unwrap_err();
    assert_eq!(error.kind(), semel_core::Kind::Damaged);
    // A list shows the others, and what is left of it.
    let listed = layer.list(Query::default()).await.unwrap().records;
    assert_eq!(listed.len(), 3);
    assert_eq!(layer.history(moved).await.unwrap().len(), 0);
    drop(Arc::clone(&store));
}
