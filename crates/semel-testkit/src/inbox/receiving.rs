//! What becomes of messages that arrive: new ones, duplicates, and what only looks like either.

use std::time::Duration;

use bytes::Bytes;
use semel_core::inbox::{Action, Message, Origin, Receipt, State};
use semel_core::store::{ClaimAnswer, ClaimRequest, SettleRequest, StoreExt, Takeover};
use semel_core::{Fingerprint, Headers, Outcome};
use tokio::task::JoinSet;

use super::seen::{duplicate, stored};
use super::subject::Subject;
use super::values::{AWHILE, TOOK, lease, parked, retention, retry_after, terminal};

/// A message with everything that a message can have.
pub(super) fn rich(s: &Subject, id: &str) -> Message {
    let fields = [("traceparent", "00-1"), ("X", ""), ("traceparent", "00-2")];
    let fields = fields.map(|(n, v)| (n.to_owned(), Bytes::from(v)));
    let origin = Origin {
        topic: "orders".to_owned(),
        partition: Some(3),
        offset: Some(77),
    };
    s.in_lane("account-7", id)
        .with_fingerprint(Fingerprint::of_bytes(b"chosen"))
        .with_headers(Headers::new(fields.to_vec()).expect("few headers"))
        .with_sequence(5)
        .and_then(|message| message.with_kind("OrderPlaced", Some(2)))
        .and_then(|message| message.with_origin(origin))
        .expect("valid parts")
}

/// Nothing of a message is lost or changed, neither for people nor for its handler.
pub async fn a_message_is_kept_as_it_arrived(s: Subject) {
    let message = rich(&s, "m");
    s.stored(vec![message.clone()]).await;
    let detail = s.detail("m").await.expect("known");
    assert_eq!(detail.message.as_ref(), Some(&message));
    assert_eq!(detail.entry.state, State::Received);
    assert_eq!(detail.entry.kind.as_deref(), Some("OrderPlaced"));
    assert_eq!(detail.entry.lane.as_ref(), message.lane());
    assert_eq!(detail.entry.sequence, Some(5));
    let bytes = message.payload().len() as u64;
    assert_eq!(detail.entry.payload_bytes, Some(bytes));
    assert_eq!(*s.claim_one().await.message, message);
}

/// Empty, binary and large payloads come back byte by byte.
pub async fn payloads_of_any_size_come_back(s: Subject) {
    let large: Vec<u8> = (0..1_000_000_u32)
        .map(|n| u8::try_from(n % 251).unwrap_or(0))
        .collect();
    let payloads = [Vec::new(), vec![0, 255, 0, 10, 13], large];
    for (n, payload) in payloads.iter().enumerate() {
        let identity = s.identity(&format!("m-{n}"));
        let message = Message::new(identity, payload.clone()).expect("within the limit");
        s.stored(vec![message]).await;
    }
    let jobs = s.claim().await;
    let found: Vec<&[u8]> = jobs
        .iter()
        .map(|job| job.message.payload().as_ref())
        .collect();
    assert_eq!(found, payloads);
}

/// An id is opaque: quotes, spaces, percent signs and letters of any language.
pub async fn ids_of_any_text_come_back(s: Subject) {
    let long = "x".repeat(255);
    let ids = [
        "'; drop table --",
        " a b ",
        "ключ/鍵",
        "%_\\",
        "A",
        "a",
        &long,
    ];
    s.received(&ids).await;
    assert_eq!(s.claim_ids().await, ids);
}

/// A message that waits is not stored twice.
pub async fn a_duplicate_of_a_received_message_makes_no_second_one(s: Subject) {
    s.received(&["m"]).await;
    let again = s.receive_one(s.message("m")).await;
    assert_eq!(again, duplicate(State::Received));
    assert_eq!(s.process_all().await, ["m"]);
}

/// How late duplicates come is counted by what the receipt says, so that nothing more need be asked.
pub async fn a_duplicate_tells_how_old_the_first_one_is_and_how_long_it_ran(s: Subject) {
    let first = async || {
        let receipts = s.receive_in_full(vec![s.message("m")]).await;
        match receipts[..] {
            [Receipt::Duplicate { first, .. }] => first,
            _ => panic!("expected one duplicate, found {receipts:?}"),
        }
    };
    s.received(&["m"]).await;
    s.pass(AWHILE).await;
    let waiting = first().await;
    assert!(waiting.age >= Some(AWHILE), "{waiting:?}");
    assert_eq!(waiting.took, None);
    let job = s.claim_one().await;
    s.complete(&job).await;
    let done = first().await;
    // Its age is counted from its arrival, not from the claim that dealt with it.
    assert!(done.age >= Some(AWHILE), "{done:?}");
    assert_eq!(done.took, Some(TOOK));
    s.operate(Action::Replay { rebuild: false }, &["m"]).await;
    s.claim_one().await;
    let again = first().await;
    assert!(again.age >= Some(AWHILE), "{again:?}");
    assert_eq!((again.settled, again.took), (None, None));
}

/// A message that is being processed is neither run beside itself nor forgotten.
pub async fn a_duplicate_of_a_message_in_progress_does_not_run(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    let again = s.receive_one(s.message("m")).await;
    assert_eq!(again, duplicate(State::InProgress));
    s.nothing_is_due().await;
    s.complete(&job).await;
    s.nothing_is_due().await;
}

/// What was dealt with is not run again, however late and in whatever company it comes back.
pub async fn a_duplicate_of_a_completed_message_does_not_run_again(s: Subject) {
    s.processed(&["a", "b"]).await;
    let batch = ["new", "a", "b", "a"].map(|id| s.message(id)).to_vec();
    let done = duplicate(State::Completed);
    let expected = [stored(State::Received), done, done, done];
    assert_eq!(s.receive(batch).await, expected);
    assert_eq!(s.process_all().await, ["new"]);
}

/// A duplicate is told where the first one stands, and no first one moves by it.
pub async fn a_duplicate_says_where_the_first_one_stands(s: Subject) {
    for (id, disposition, state) in [
        (
            "later",
            retry_after(super::values::LONG),
            State::FailedRetryable,
        ),
        ("failed", terminal(), State::FailedTerminal),
        ("parked", parked(), State::Parked),
        (
            "skipped",
            semel_core::inbox::Disposition::Skip {
                cause: semel_core::inbox::Cause::Handler,
            },
            State::SkippedDuplicate,
        ),
    ] {
        s.received(&[id]).await;
        let job = s.claim_one().await;
        s.finish(&job, disposition).await;
        let before = s.state(id).await;
        assert_eq!(s.receive_one(s.message(id)).await, duplicate(state));
        assert_eq!(s.state(id).await, before);
        s.nothing_is_due().await;
    }
}

/// How often a message came is seen, also after it is done.
pub async fn duplicates_are_counted(s: Subject) {
    s.received(&["m"]).await;
    assert_eq!(s.entry("m").await.duplicates, 0);
    s.receive(vec![s.message("m"), s.message("m")]).await;
    assert_eq!(s.entry("m").await.duplicates, 2);
    s.process_all().await;
    s.receive_one(s.message("m")).await;
    assert_eq!(s.entry("m").await.duplicates, 3);
}

/// Producers put the same message into one batch.
pub async fn the_same_id_twice_in_one_batch_is_stored_once(s: Subject) {
    let batch = ["a", "b", "a"].map(|id| s.message(id)).to_vec();
    let (new, known) = (stored(State::Received), duplicate(State::Received));
    assert_eq!(s.receive(batch).await, [new, new, known]);
    assert_eq!(s.process_all().await, ["a", "b"]);
}

/// Where a message came from says nothing about which one it is: topics are recreated, batches redelivered.
pub async fn where_a_message_came_from_is_no_part_of_its_identity(s: Subject) {
    let at = |id: &str, offset| {
        let origin = Origin {
            topic: "orders".to_owned(),
            partition: Some(0),
            offset: Some(offset),
        };
        s.message(id).with_origin(origin).expect("valid")
    };
    s.stored(vec![at("a", 1)]).await;
    s.stored(vec![at("b", 1)]).await;
    let moved = s.receive_one(at("a", 2)).await;
    assert_eq!(moved, duplicate(State::Received));
    assert_eq!(s.process_all().await, ["a", "b"]);
}

/// Every subscriber of an event processes it, and so does every version of one.
pub async fn two_consumers_never_suppress_each_other(s: Subject) {
    s.processed(&["m"]).await;
    for other in [s.beside("-other", 1), s.beside("", 2)] {
        other.processed(&["m"]).await;
    }
    assert_eq!(
        s.receive_one(s.message("m")).await,
        duplicate(State::Completed)
    );
}

/// Tenants choose their ids without knowing of each other.
pub async fn two_tenants_never_suppress_each_other(s: Subject) {
    let other = s.clone().of_tenant("another");
    s.processed(&["m"]).await;
    other
        .stored(vec![other.message_of("m", "another payload")])
        .await;
    let job = other.claim_one().await;
    assert_eq!(job.message.identity().tenant().as_str(), "another");
    other.complete(&job).await;
    assert_eq!(other.outcome("m").await, "done m");
}

/// There is one record space: what another door settled is done.
pub async fn a_record_that_another_door_settled_suppresses(s: Subject) {
    settle_elsewhere(&s, "m", s.message("m").fingerprint()).await;
    let receipt = s.receive_one(s.message("m")).await;
    assert_eq!(receipt, duplicate(State::Completed));
    s.nothing_is_due().await;
    assert_eq!(s.outcome("m").await, "settled elsewhere");
}

/// The fingerprint is compared before the state, also with what another door settled.
pub async fn another_payload_than_another_door_settled_is_a_conflict(s: Subject) {
    settle_elsewhere(&s, "m", Fingerprint::of_bytes(b"another payload")).await;
    assert_eq!(s.receive_one(s.message("m")).await, Receipt::Conflict);
    s.nothing_is_due().await;
}

/// Only a settled record suppresses: one that another door is still at may come to nothing.
pub async fn a_claim_of_another_door_does_not_suppress(s: Subject) {
    claim_elsewhere(&s, "m", s.message("m").fingerprint()).await;
    s.received(&["m"]).await;
    assert_eq!(s.entry("m").await.state, State::Received);
}

async fn claim_elsewhere(s: &Subject, id: &str, fingerprint: Fingerprint) -> semel_core::Claim {
    let request = ClaimRequest {
        identity: s.identity(id),
        fingerprint,
        lease: lease(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    };
    match s.store().claim_one(request).await.expect("an answer") {
        ClaimAnswer::Granted(lease) => lease.claim,
        other => panic!("expected a grant, found {other:?}"),
    }
}

/// Another door claims and settles the identity of a message.
pub(super) async fn settle_elsewhere(s: &Subject, id: &str, fingerprint: Fingerprint) {
    let settle = SettleRequest {
        claim: claim_elsewhere(s, id, fingerprint).await,
        outcome: Outcome::succeeded("settled elsewhere"),
        took: Duration::ZERO,
        retention: retention(),
    };
    s.store().settle_one(settle).await.expect("an answer");
}

/// A message under the plan of another consumer would be ordered and kept by the wrong rules.
pub async fn a_message_of_another_consumer_is_refused(s: Subject) {
    let other = s.beside("-other", 1);
    let batch = vec![s.message("own"), other.message("foreign")];
    let refused = s.inbox().receive(s.arrivals(batch)).await;
    refused.expect_err("all messages must be the consumer's own");
    assert!(s.detail("own").await.is_none());
    assert!(other.detail("foreign").await.is_none());
}

/// A source that was asked twice delivers twice at the same time.
pub async fn concurrent_receives_of_one_message_store_it_once(s: Subject) {
    let mut receives = JoinSet::new();
    for _ in 0..16 {
        let s = s.clone();
        receives.spawn(async move { s.receive_one(s.message("m")).await });
    }
    let receipts = receives.join_all().await;
    let new = receipts.iter().filter(|r| **r == stored(State::Received));
    assert_eq!(new.count(), 1, "{receipts:?}");
    assert_eq!(s.process_all().await, ["m"]);
}

/// A redelivery that meets the end of the first one's processing finds it running or done, never gone.
pub async fn a_receive_that_races_the_finish_makes_no_second_message(s: Subject) {
    for n in 0..20 {
        let id = format!("m-{n}");
        s.received(&[&id]).await;
        let job = s.claim_one().await;
        let receiver = {
            let (s, message) = (s.clone(), s.message(&id));
            tokio::spawn(async move {
                (
                    s.receive_one(message.clone()).await,
                    s.receive_one(message).await,
                )
            })
        };
        s.complete(&job).await;
        let (first, second) = receiver.await.expect("the receiver ends well");
        for receipt in [first, second] {
            assert!(matches!(receipt, Receipt::Duplicate { .. }), "{receipt:?}");
        }
        s.nothing_is_due().await;
        s.is(&id, State::Completed).await;
    }
}
