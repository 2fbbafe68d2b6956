//! Keeping outcomes of claims that another store granted, for the stores that can.

use std::sync::Arc;
use std::time::Duration;

use semel_core::record::{Claim, EventKind};
use semel_core::store::{
    BATCH_MAX, Batch, ClaimAnswer, ClaimRequest, KeepAnswer, KeepRequest, NoteRequest, Resolution,
    ResolveAnswer, Room, StateFilter, all, one, only,
};
use semel_core::{Fence, Kind, Outcome, Record, Retention, State, Timestamp};

use super::subject::{PAST_RETENTION, Subject, body, print, replayed, retention, short_retention};

/// The `number`-th fence of a test; tests that share a server use different ones.
fn fence(s: &Subject, number: u64) -> Fence {
    let digest = s.identity("fences").digest().short();
    let base = u64::from(u32::from_be_bytes([
        digest[0], digest[1], digest[2], digest[3],
    ]));
    Fence::new((base << 8) + 1_000_000 + number)
}

fn claim(s: &Subject, key: &str, number: u64) -> Claim {
    Claim {
        identity: s.identity(key),
        fence: fence(s, number),
    }
}

fn request(s: &Subject, key: &str, number: u64, body: &str) -> KeepRequest {
    KeepRequest {
        claim: claim(s, key, number),
        fingerprint: print(1),
        attempt: 3,
        claimed_at: Timestamp::from_millis(1_000),
        outcome: Outcome::succeeded(body.to_owned()),
        took: Duration::from_millis(7),
        retention: retention(),
        about: None,
        resolved: false,
    }
}

async fn keep_as(s: &Subject, request: KeepRequest) -> KeepAnswer {
    only(s.outcomes().keep(one(request)).await).expect("the store answers")
}

async fn keep(s: &Subject, key: &str, number: u64, body: &str) -> KeepAnswer {
    keep_as(s, request(s, key, number, body)).await
}

async fn bar(s: &Subject, key: &str, number: u64) -> Room {
    let room = s.outcomes().bar(one(claim(s, key, number))).await;
    only(room).expect("the store answers")
}

async fn check(s: &Subject, key: &str, number: u64) -> Room {
    let room = s.outcomes().check(one(claim(s, key, number))).await;
    only(room).expect("the store answers")
}

fn settled(room: &Room) -> &Arc<Record> {
    match room {
        Room::Settled(record) => record,
        other => panic!("expected a settled record, found {other:?}"),
    }
}

/// It is looked up, listed and replayed as if it had been claimed and settled here.
pub async fn a_kept_outcome_is_a_settled_record(s: Subject) {
    assert_eq!(check(&s, "k", 1).await, Room::Open);
    assert_eq!(keep(&s, "k", 1, "done").await, KeepAnswer::Kept);
    let record = s.look_up("k").await.expect("a record");
    assert_eq!(record.identity, s.identity("k"));
    assert_eq!(record.fence, fence(&s, 1));
    assert_eq!((record.fingerprint, record.attempt), (print(1), 3));
    assert_eq!(record.claimed_at, Timestamp::from_millis(1_000));
    assert_eq!(body(&record), b"done");
    assert_eq!(settled(&check(&s, "k", 2).await), &record);
    assert_eq!(replayed(&s.claim("k").await), b"done");
    let other = ClaimRequest {
        fingerprint: print(2),
        ..s.request("k")
    };
    assert_eq!(s.ask(other).await, ClaimAnswer::Mismatch);
    assert_eq!(s.listed(StateFilter::Succeeded).await.len(), 1);
    assert!(s.listed(StateFilter::Running).await.is_empty());
}

/// Instants are the store's: retention starts when the outcome is kept, whatever the other clock said.
pub async fn a_kept_outcome_has_the_instants_of_its_store(s: Subject) {
    let ahead = KeepRequest {
        claimed_at: Timestamp::from_millis(i64::MAX / 2),
        ..request(&s, "k", 1, "done")
    };
    assert_eq!(keep_as(&s, ahead).await, KeepAnswer::Kept);
    let record = s.look_up("k").await.expect("a record");
    let State::Settled(settled) = &record.state else {
        panic!("expected a settled record");
    };
    assert!(record.claimed_at <= settled.at);
    assert_eq!(settled.expires_at, settled.at.after(retention().keep()));
    assert_eq!(settled.took, Duration::from_millis(7));
}

/// The answer to a keep may be lost; another outcome under the same fence is not the same keep.
pub async fn a_keep_sent_again_is_kept(s: Subject) {
    keep(&s, "k", 1, "done").await;
    let before = s.look_up("k").await;
    assert_eq!(keep(&s, "k", 1, "done").await, KeepAnswer::Kept);
    assert_eq!(keep(&s, "k", 1, "other").await, KeepAnswer::Superseded);
    assert_eq!(s.look_up("k").await, before);
}

/// Rule 4: neither a lower nor a higher claim replaces what is kept.
pub async fn a_kept_outcome_does_not_change(s: Subject) {
    keep(&s, "k", 5, "first").await;
    for number in [4, 6] {
        assert_eq!(
            keep(&s, "k", number, "second").await,
            KeepAnswer::Superseded
        );
    }
    assert_eq!(body(&s.look_up("k").await.expect("a record")), b"first");
    assert!(s.history("k").await.is_empty());
}

/// The old owner comes too late, the new one does not, and other identities do not notice.
pub async fn a_bar_refuses_lower_fences_only(s: Subject) {
    assert_eq!(bar(&s, "k", 5).await, Room::Open);
    assert_eq!(check(&s, "k", 4).await, Room::Barred(fence(&s, 5)));
    assert_eq!(keep(&s, "k", 4, "old").await, KeepAnswer::Superseded);
    assert_eq!(s.state("k").await, "absent");
    assert_eq!(keep(&s, "other", 4, "old").await, KeepAnswer::Kept);
    assert_eq!(keep(&s, "k", 5, "new").await, KeepAnswer::Kept);
    assert_eq!(body(&s.look_up("k").await.expect("a record")), b"new");
}

/// Bars come in any order; the highest holds.
pub async fn a_bar_never_falls(s: Subject) {
    assert_eq!(bar(&s, "k", 5).await, Room::Open);
    assert_eq!(bar(&s, "k", 5).await, Room::Open);
    assert_eq!(bar(&s, "k", 3).await, Room::Barred(fence(&s, 5)));
    assert_eq!(keep(&s, "k", 4, "old").await, KeepAnswer::Superseded);
    assert_eq!(bar(&s, "k", 8).await, Room::Open);
    assert_eq!(keep(&s, "k", 5, "old").await, KeepAnswer::Superseded);
    assert_eq!(keep(&s, "k", 9, "new").await, KeepAnswer::Kept);
}

/// Nobody can see a bar, and it stops no claim of the store's own.
pub async fn a_barred_identity_is_absent(s: Subject) {
    bar(&s, "k", 5).await;
    assert_eq!(s.state("k").await, "absent");
    assert!(s.listed(None).await.is_empty());
    assert!(s.history("k").await.is_empty());
    assert!(matches!(s.claim("k").await, ClaimAnswer::Granted(_)));
}

/// Whoever bars after a keep finds the outcome instead.
pub async fn a_bar_after_a_keep_finds_the_outcome(s: Subject) {
    keep(&s, "k", 1, "done").await;
    assert_eq!(body(settled(&bar(&s, "k", 5).await)), b"done");
    let claim = claim(&s, "k", 1);
    let erased = s.resolve(&claim, Resolution::Erase).await;
    assert_eq!(erased, ResolveAnswer::Resolved);
    // The bar was not set.
    assert_eq!(keep(&s, "k", 2, "again").await, KeepAnswer::Kept);
}

/// An old owner is refused however long ago the outcome of the new one went.
pub async fn a_bar_outlives_the_record(s: Subject) {
    bar(&s, "k", 5).await;
    let short = KeepRequest {
        retention: short_retention(),
        ..request(&s, "k", 5, "new")
    };
    assert_eq!(keep_as(&s, short).await, KeepAnswer::Kept);
    s.pass(PAST_RETENTION).await;
    assert_eq!(s.state("k").await, "absent");
    for _ in 0..2 {
        assert_eq!(keep(&s, "k", 4, "old").await, KeepAnswer::Superseded);
        s.sweep_all().await;
    }
    assert_eq!(keep(&s, "k", 6, "newer").await, KeepAnswer::Kept);
}

/// The same if a person corrected the outcome in between.
pub async fn a_bar_outlives_a_corrected_record(s: Subject) {
    bar(&s, "k", 5).await;
    let decided = KeepRequest {
        retention: short_retention(),
        resolved: true,
        ..request(&s, "k", 5, "wrong")
    };
    assert_eq!(keep_as(&s, decided).await, KeepAnswer::Kept);
    let outcome = Outcome::failed("right");
    let correct = Resolution::Correct { outcome };
    let corrected = s.resolve(&claim(&s, "k", 5), correct).await;
    assert_eq!(corrected, ResolveAnswer::Resolved);
    assert_eq!(s.state("k").await, "failed");
    s.pass(PAST_RETENTION).await;
    s.sweep_all().await;
    assert_eq!(keep(&s, "k", 4, "old").await, KeepAnswer::Superseded);
}

/// What retention no longer protects makes room, for newer claims, and is archived where that was asked.
pub async fn an_outcome_past_retention_makes_room(s: Subject) {
    let archived = KeepRequest {
        retention: Retention::archive_after(Duration::from_millis(400)).expect("valid"),
        ..request(&s, "k", 5, "old")
    };
    assert_eq!(keep_as(&s, archived).await, KeepAnswer::Kept);
    s.pass(PAST_RETENTION).await;
    assert_eq!(keep(&s, "k", 5, "old").await, KeepAnswer::Superseded);
    assert_eq!(keep(&s, "k", 4, "older").await, KeepAnswer::Superseded);
    assert_eq!(check(&s, "k", 6).await, Room::Open);
    assert_eq!(keep(&s, "k", 6, "new").await, KeepAnswer::Kept);
    assert_eq!(body(&s.look_up("k").await.expect("a record")), b"new");
    let archive = s.listed(StateFilter::Archived).await;
    assert_eq!(archive.len(), 1);
    assert_eq!(archive[0].fence, fence(&s, 5));
}

/// A store that has granted the identity itself keeps nothing that others bring.
pub async fn a_claim_of_its_own_is_in_the_way(s: Subject) {
    let lease = s.granted("k").await;
    let own = lease.claim.fence;
    assert_eq!(check(&s, "k", 1).await, Room::Barred(own));
    assert_eq!(bar(&s, "k", 1).await, Room::Barred(own));
    assert_eq!(keep(&s, "k", 1, "other").await, KeepAnswer::Superseded);
    s.settle(&lease.claim, "own").await;
    assert_eq!(body(settled(&bar(&s, "k", 1).await)), b"own");
}

/// Of a keep and a bar at the same moment exactly one is first, and the other sees it.
pub async fn a_keep_and_a_bar_never_pass_each_other(s: Subject) {
    for round in 0..100 {
        let key = format!("k-{round}");
        let (old, new) = (2 * round, 2 * round + 1);
        let keeping = tokio::spawn({
            let (s, key) = (s.clone(), key.clone());
            async move { keep(&s, &key, old, "old").await }
        });
        let barring = tokio::spawn({
            let (s, key) = (s.clone(), key.clone());
            async move { bar(&s, &key, new).await }
        });
        let kept = keeping.await.expect("an answer");
        match barring.await.expect("an answer") {
            Room::Open => assert_eq!(kept, KeepAnswer::Superseded, "{key}"),
            Room::Settled(_) => assert_eq!(kept, KeepAnswer::Kept, "{key}"),
            Room::Barred(fence) => panic!("nobody barred {fence}"),
        }
    }
}

/// A note is an event like those of the store itself.
pub async fn a_note_is_in_the_history(s: Subject) {
    let late = EventKind::LateOutcome(Outcome::succeeded("late"));
    let notes = [late, EventKind::Mismatch(print(2))].map(|kind| NoteRequest {
        claim: claim(&s, "k", 4),
        kind,
    });
    let noted = s.outcomes().note(notes.into_iter().collect()).await;
    all(noted).expect("the store answers");
    assert_eq!(s.event_names("k").await, ["late-outcome", "mismatch"]);
    assert_eq!(s.history("k").await[0].fence, fence(&s, 4));
    assert_eq!(s.state("k").await, "absent");
}

/// Items behave as they would one after another.
pub async fn a_batch_of_keeps_answers_like_single_calls(s: Subject) {
    bar(&s, "barred", 9).await;
    let requests = vec![
        request(&s, "k", 1, "first"),
        request(&s, "barred", 2, "old"),
        request(&s, "k", 3, "second"),
        request(&s, "k", 1, "first"),
    ];
    let answers = all(s.outcomes().keep(requests.into()).await).expect("an answer");
    let (kept, superseded) = (KeepAnswer::Kept, KeepAnswer::Superseded);
    assert_eq!(answers, [kept, superseded, superseded, kept]);
    let claims = vec![
        claim(&s, "k", 5),
        claim(&s, "new", 5),
        claim(&s, "barred", 5),
        claim(&s, "new", 4),
    ];
    let rooms = all(s.outcomes().bar(claims.into()).await).expect("an answer");
    assert_eq!(body(settled(&rooms[0])), b"first");
    let barred = |number| Room::Barred(fence(&s, number));
    assert_eq!(rooms[1..], [Room::Open, barred(9), barred(5)]);
    assert!(s.outcomes().keep(Batch::new()).await.is_empty());
    let many = vec![claim(&s, "many", 1); BATCH_MAX + 1];
    let error = all(s.outcomes().bar(many.into()).await).expect_err("too many items");
    assert_eq!(error.kind(), Kind::Limit);
}

/// The durable half of a hybrid decides by what it kept and barred before it was closed.
pub async fn kept_outcomes_and_bars_survive_reopening(s: Subject) {
    keep(&s, "kept", 5, "done").await;
    bar(&s, "barred", 8).await;
    let before = s.look_up("kept").await;
    let s = s.reopened().await;
    assert_eq!(s.look_up("kept").await, before);
    assert_eq!(keep(&s, "kept", 5, "done").await, KeepAnswer::Kept);
    assert_eq!(keep(&s, "kept", 6, "other").await, KeepAnswer::Superseded);
    assert_eq!(check(&s, "barred", 7).await, Room::Barred(fence(&s, 8)));
    assert_eq!(keep(&s, "barred", 7, "old").await, KeepAnswer::Superseded);
    assert_eq!(keep(&s, "barred", 8, "new").await, KeepAnswer::Kept);
}
