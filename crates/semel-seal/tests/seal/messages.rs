//! Messages of many tenants in one call: one whose key is missing or whose text is damaged holds up no other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use semel_core::inbox::{
    Arrivals, Cause, ClaimBatch, Claimed, Disposition, Finish, Inbox, Intent, Message, Plan, State,
    WorkerName,
};
use semel_core::outcome::BODY_BYTES_MAX;
use semel_core::store::{Actor, Answers, Batch, Layer, Reason};
use semel_core::{Headers, Identity, Kind, Outcome, Record, Store, Tenant};
use semel_seal::{Keyring, SealedInbox, When};
use semel_sqlite::SqliteStore;

use crate::support::{damage, keks, keyring, open};

fn plan() -> Plan {
    Plan::new("mail@1".parse().unwrap())
}

fn mail(tenant: &str) -> Identity {
    Identity::parse(tenant, "mail@1", "m").unwrap()
}

fn inbox(store: &Arc<SqliteStore>, ids: &[&str]) -> SealedInbox {
    SealedInbox::new(store.clone(), keyring(store, ids))
}

async fn receive(inbox: &dyn Inbox, message: Message) {
    let arrivals = Arrivals {
        plan: plan(),
        messages: vec![message],
        positions: Vec::new(),
    };
    inbox.receive(arrivals).await.unwrap();
}

async fn claim(inbox: &dyn Inbox) -> Claimed {
    let ask = ClaimBatch::new(plan(), WorkerName::new("w").unwrap());
    inbox.claim_batch(ask).await.unwrap()
}

fn done(claimed: &Claimed) -> Vec<Finish> {
    let end = |job: &semel_core::inbox::Job| Finish {
        claim: job.claim.clone(),
        took: Duration::ZERO,
        disposition: Disposition::Completed {
            outcome: Outcome::succeeded("done"),
            intents: Vec::new(),
        },
    };
    claimed.jobs.iter().map(end).collect()
}

#[tokio::test]
async fn a_message_whose_key_is_missing_or_that_is_damaged_holds_up_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    receive(
        &inbox(&store, &["a"]),
        Message::new(mail("ann"), "hers").unwrap(),
    )
    .await;
    let layer = inbox(&store, &["b"]);
    receive(&layer, Message::new(mail("bob"), "his").unwrap()).await;
    // What an attacker moved from another message.
    receive(&layer, Message::new(mail("cy"), "its").unwrap()).await;
    let bob = store.message(mail("bob")).await.unwrap().unwrap();
    let bob = bob.message.unwrap();
    let moved = Identity::parse("bob", "mail@1", "moved").unwrap();
    let moved = Message::new(moved, "other").unwrap();
    let moved = moved.with_contents(bob.headers().clone(), bob.payload().clone());
    receive(&*store, moved.clone()).await;

    let claimed = claim(&layer).await;
    let mut tenants: Vec<_> = claimed.jobs.iter().collect();
    tenants.sort_by_key(|job| job.claim.identity.tenant().as_str().to_owned());
    let payloads: Vec<_> = tenants.iter().map(|job| job.message.payload()).collect();
    assert_eq!(payloads, ["his", "its"]);
    // It waits without an attempt, and the damaged one is where people look.
    let ann = store.message(mail("ann")).await.unwrap().unwrap();
    assert_eq!(ann.entry.state, State::FailedRetryable);
    assert_eq!(ann.entry.attempts, 0);
    let moved = store.message(moved.identity().clone()).await.unwrap();
    assert_eq!(moved.unwrap().entry.state, State::Parked);

    // What can be sealed is finished, whatever else is in the call: the engine offers the items of such an error by themselves.
    let keyless = inbox(&store, &["c"]);
    let error = keyless.finish(plan(), done(&claimed)).await.unwrap_err();
    assert!(error.is_about_an_item(), "{error}");
    layer.finish(plan(), done(&claimed)).await.unwrap();
    let bob = layer.message(mail("bob")).await.unwrap().unwrap();
    assert_eq!(bob.entry.state, State::Completed);
}

#[tokio::test]
async fn a_message_whose_key_is_destroyed_before_it_is_claimed_is_parked() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let ring = keyring(&store, &["a"]);
    let layer = SealedInbox::new(store.clone(), ring.clone());
    receive(&layer, Message::new(mail("ann"), "hers").unwrap()).await;
    receive(&layer, Message::new(mail("bob"), "his").unwrap()).await;
    let (by, reason) = (
        Actor::new("dana").unwrap(),
        Reason::new("asked to").unwrap(),
    );
    let ann = Tenant::new("ann").unwrap();
    ring.erase(&ann, &by, &reason, When::Now).await.unwrap();
    let claimed = claim(&layer).await;
    let tenants = claimed.jobs.iter().map(|job| job.claim.identity.tenant());
    assert_eq!(tenants.map(Tenant::as_str).collect::<Vec<_>>(), ["bob"]);
    let ann = layer.message(mail("ann")).await.unwrap().unwrap();
    assert_eq!(ann.entry.state, State::Parked);
    assert_eq!(ann.entry.cause, Some(Cause::Unreadable));
    assert_eq!(ann.message, None);
    let error = ann.entry.error.unwrap();
    assert!(error.contains("data key was destroyed"), "{error}");
}

#[tokio::test]
async fn an_intent_of_a_tenant_whose_key_is_damaged_keeps_no_other_effect_off_the_record() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let layer = inbox(&store, &["a"]);
    receive(&layer, Message::new(mail("ann"), "hers").unwrap()).await;
    receive(&layer, Message::new(mail("bob"), "his").unwrap()).await;
    damage(&store, "cy").await;
    let mut ends = done(&claim(&layer).await);
    let ann = |end: &Finish| end.claim.identity.tenant().as_str() == "ann";
    let end = ends.iter_mut().find(|end| ann(end)).unwrap();
    if let Disposition::Completed { intents, .. } = &mut end.disposition {
        intents.push(Intent {
            plan: Arc::new(plan()),
            message: Message::new(mail("cy"), "its").unwrap(),
        });
    }
    // The engine offers the items of such an error by themselves.
    let error = layer.finish(plan(), ends.clone()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Damaged);
    assert!(error.is_about_an_item(), "{error}");
    ends.retain(|end| !ann(end));
    layer.finish(plan(), ends).await.unwrap();
    let bob = layer.message(mail("bob")).await.unwrap().unwrap();
    assert_eq!(bob.entry.state, State::Completed);
}

#[tokio::test]
async fn a_message_is_shown_without_what_a_damaged_key_keeps_closed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let layer = inbox(&store, &["a"]);
    receive(&layer, Message::new(mail("ann"), "hers").unwrap()).await;
    layer
        .finish(plan(), done(&claim(&layer).await))
        .await
        .unwrap();
    damage(&store, "ann").await;
    let shown = layer.message(mail("ann")).await.unwrap().unwrap();
    assert_eq!(shown.entry.state, State::Completed);
    assert_eq!(shown.message, None);
    let outcome = shown.settled.unwrap().outcome;
    assert_eq!(outcome.body.kept(), None);
    let why = outcome.headers.locked().unwrap();
    assert_eq!(why, "does not open with its own key");
}

#[tokio::test]
async fn a_senders_header_is_not_taken_for_a_seal_and_a_long_payload_stops_no_source() {
    for ids in [&[] as &[&str], &["a"]] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let layer = inbox(&store, ids);
        let headers = Headers::new(vec![(":sealed".to_owned(), "mine".into())]).unwrap();
        let message = Message::new(mail("ann"), "plain").unwrap();
        receive(&layer, message.with_headers(headers)).await;
        let long = Bytes::from(vec![b'x'; BODY_BYTES_MAX]);
        receive(&layer, Message::new(mail("bob"), long.clone()).unwrap()).await;
        let claimed = claim(&layer).await;
        let job = &claimed.jobs[0];
        assert_eq!(job.message.payload(), "plain");
        let names: Vec<_> = job.message.headers().iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["sealed"]);
        let detail = layer.message(mail("bob")).await.unwrap().unwrap();
        let kept = detail.message.unwrap();
        match ids.is_empty() {
            true => assert_eq!(kept.payload(), &long),
            false => {
                assert_eq!(detail.entry.state, State::Parked);
                assert!(
                    long.starts_with(kept.payload()) && kept.payload().len() > long.len() - 100
                );
            }
        }
    }
}

/// Counts the look-ups of a store.
#[derive(Debug)]
struct Counting(Arc<SqliteStore>, AtomicUsize);

impl Layer for Counting {
    fn beneath(&self) -> &dyn Store {
        &*self.0
    }

    fn look_up(&self, items: Batch<Identity>) -> Answers<'_, Option<Arc<Record>>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.look_up(items)
    }
}

#[tokio::test]
async fn keys_are_looked_up_once_for_all_tenants_of_a_call_and_not_at_all_without_encryption() {
    // Without: whether the store has keys at all. With: the mark, and the keys before and after they are made.
    for (ids, at_most) in [(&[] as &[&str], 1), (&["a"], 3)] {
        let dir = tempfile::tempdir().unwrap();
        let store = open(dir.path());
        let counting = Arc::new(Counting(store.clone(), AtomicUsize::new(0)));
        let ring = Keyring::new(counting.clone(), keks(ids)).unwrap();
        let layer = SealedInbox::new(store.clone(), ring);
        let tenants: Vec<_> = (0..50).map(|number| format!("tenant-{number}")).collect();
        let message = |tenant: &String| Message::new(mail(tenant), "hello").unwrap();
        let arrivals = Arrivals {
            plan: plan(),
            messages: tenants.iter().map(message).collect(),
            positions: Vec::new(),
        };
        layer.receive(arrivals).await.unwrap();
        let claimed = claim(&layer).await;
        assert_eq!(claimed.jobs.len(), 50);
        layer.finish(plan(), done(&claimed)).await.unwrap();
        let found = counting.1.load(Ordering::Relaxed);
        assert!(found <= at_most, "{found} look-ups with {ids:?}");
    }
}

#[tokio::test]
async fn a_process_without_keys_writes_nothing_plain_to_a_store_that_has_some() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    receive(
        &inbox(&store, &["a"]),
        Message::new(mail("ann"), "hers").unwrap(),
    )
    .await;
    let keyless = inbox(&store, &[]);
    for tenant in ["ann", "bob"] {
        let arrivals = Arrivals {
            plan: plan(),
            messages: vec![
                Message::new(Identity::parse(tenant, "mail@1", "n").unwrap(), "x").unwrap(),
            ],
            positions: Vec::new(),
        };
        let error = keyless.receive(arrivals).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Unavailable);
    }
    let ask = ClaimBatch::new(plan(), WorkerName::new("w").unwrap());
    let error = keyless.claim_batch(ask).await.unwrap_err();
    assert!(error.to_string().contains("encryption.keys"), "{error}");
}
