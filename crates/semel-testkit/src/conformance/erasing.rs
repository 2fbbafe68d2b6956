//! Contents are erased on request, and what is left of a record still prevents a second effect.

use std::time::Duration;

use semel_core::outcome::Settled;
use semel_core::record::{EventKind, UnknownCause};
use semel_core::store::{
    Actor, ClaimAnswer, ClaimRequest, MarkRequest, Reason, Resolution, ResolveAnswer,
    ResolveRequest, SettleAnswer, SettleRequest, StateFilter, StoreExt,
};
use semel_core::{About, Claim, Evidence, Headers, Outcome, Record, Retention, State};

use super::subject::{PAST_LEASE, PAST_RETENTION, Subject, granted, print, retention};

/// What is to go: no verb may show it anywhere once it is erased.
fn contents(body: impl Into<bytes::Bytes>) -> Outcome {
    let fields = [("content-type", "text/plain"), ("x-name", "Ada Lovelace")];
    let fields = fields.map(|(name, value)| (name.to_owned(), value.into()));
    Outcome {
        status: 201,
        headers: Headers::new(fields.to_vec()).expect("few headers"),
        ..Outcome::succeeded(body)
    }
}

async fn with_contents(s: &Subject, key: &str, outcome: Outcome, retention: Retention) -> Claim {
    let request = ClaimRequest {
        about: About::new("POST /people/ada"),
        ..s.request(key)
    };
    let claim = granted(s.ask(request).await).claim;
    let settle = SettleRequest {
        claim: claim.clone(),
        outcome,
        took: Duration::from_millis(7),
        retention,
    };
    let settled = s.store().settle_one(settle).await;
    assert_eq!(settled.expect("the store answers"), SettleAnswer::Settled);
    claim
}

async fn erase(s: &Subject, claim: &Claim) -> ResolveAnswer {
    let request = ResolveRequest {
        claim: claim.clone(),
        by: Actor::new("ann").expect("a valid name"),
        reason: Some(Reason::new("asked to").expect("a valid reason")),
        resolution: Resolution::EraseContents,
    };
    let erased = s.store().resolve_one(request).await;
    erased.expect("the store answers")
}

fn settled_of(record: &Record) -> &Settled {
    match &record.state {
        State::Settled(settled) => settled,
        other => panic!("expected a settled record, found {other:?}"),
    }
}

/// What `before` is once its contents are erased.
fn erased(before: &Record) -> Record {
    Record {
        about: None,
        state: State::Settled(settled_of(before).without_contents()),
        ..before.clone()
    }
}

/// Verdict, status, length, digest, fingerprint, fence and retention stay, and duplicates are suppressed as before.
pub async fn erased_contents_are_gone_and_the_outcome_stands(s: Subject) {
    let claim = with_contents(&s, "k", contents("born in 1815"), retention()).await;
    let before = s.look_up("k").await.expect("a record");
    for _ in 0..2 {
        assert_eq!(erase(&s, &claim).await, ResolveAnswer::Resolved);
        let after = s.look_up("k").await.expect("the record stays");
        assert_eq!(*after, erased(&before));
        assert_eq!(settled_of(&after).outcome.body.len(), 12);
    }
    let ClaimAnswer::Settled(replayed) = s.claim("k").await else {
        panic!("what was erased still prevents a second effect");
    };
    assert_eq!(settled_of(&replayed), settled_of(&erased(&before)));
    let other = ClaimRequest {
        fingerprint: print(2),
        ..s.request("k")
    };
    assert_eq!(s.ask(other).await, ClaimAnswer::Mismatch);
    let listed = s.listed(StateFilter::Settled).await;
    assert!(listed.iter().all(|record| record.about.is_none()));
    let headers = |record: &Record| settled_of(record).outcome.headers.len();
    assert_eq!(listed.iter().map(headers).collect::<Vec<_>>(), [0]);
}

/// Stores may keep large bodies elsewhere than small ones.
pub async fn large_contents_are_erased_too(s: Subject) {
    let claim = with_contents(&s, "k", contents(vec![b'x'; 200_000]), retention()).await;
    let before = s.look_up("k").await.expect("a record");
    assert_eq!(erase(&s, &claim).await, ResolveAnswer::Resolved);
    let after = s.look_up("k").await.expect("the record stays");
    assert_eq!(*after, erased(&before));
}

/// Only the settled record of the claim that was seen is erased.
pub async fn an_erasure_of_contents_names_its_claim(s: Subject) {
    let claim = with_contents(&s, "k", contents("kept"), retention()).await;
    let before = s.look_up("k").await.expect("a record");
    let other = Claim {
        fence: semel_core::Fence::new(claim.fence.get() + 1),
        ..claim.clone()
    };
    assert_eq!(erase(&s, &other).await, ResolveAnswer::Refused);
    let elsewhere = Claim {
        identity: s.identity("absent"),
        ..claim
    };
    assert_eq!(erase(&s, &elsewhere).await, ResolveAnswer::Refused);
    assert_eq!(s.look_up("k").await, Some(before));
    let unknown = s.granted("unknown").await.claim;
    s.mark(&unknown).await;
    let running = s.granted_for_long("running").await.claim;
    for claim in [unknown, running] {
        assert_eq!(erase(&s, &claim).await, ResolveAnswer::Refused);
    }
    assert_eq!(s.state("unknown").await, "unknown");
    assert_eq!(s.state("running").await, "running");
}

/// Neither what was brought too late nor what was known of an unknown outcome is left, and what comes late afterwards is no
/// way back.
pub async fn the_history_keeps_no_contents_after_an_erasure(s: Subject) {
    let first = s.granted("k").await.claim;
    let mark = MarkRequest {
        claim: first.clone(),
        cause: UnknownCause::RunUndecided,
        evidence: Some(Evidence::new(None, Some("ada was not found"), PAST_LEASE)),
    };
    s.store().mark_one(mark).await.expect("the store answers");
    let late = || SettleRequest {
        claim: first.clone(),
        outcome: contents("late"),
        took: Duration::ZERO,
        retention: retention(),
    };
    let settled = s.store().settle_one(late()).await;
    assert_eq!(settled.expect("the store answers"), SettleAnswer::Late);
    let second = granted(s.take_over("k").await).claim;
    s.settle(&second, "done").await;
    let before = s.history("k").await;
    assert_eq!(erase(&s, &second).await, ResolveAnswer::Resolved);
    s.pass(Duration::from_millis(2)).await;
    // Sent again, each is what it was.
    assert_eq!(s.settle(&second, "done").await, SettleAnswer::Settled);
    let settled = s.store().settle_one(late()).await;
    assert_eq!(settled.expect("the store answers"), SettleAnswer::Late);
    let after = s.history("k").await;
    let mut expected: Vec<EventKind> = before
        .into_iter()
        .map(|event| event.kind.without_contents())
        .collect();
    expected.push(EventKind::ContentsErased {
        by: "ann".to_owned(),
        reason: Some("asked to".to_owned()),
    });
    expected.push(EventKind::LateOutcome(contents("late")).without_contents());
    let found: Vec<EventKind> = after.into_iter().map(|event| event.kind).collect();
    assert_eq!(found, expected);
}

/// The archive is searched by people, so it is erased like the rest.
pub async fn archived_contents_are_erased_too(s: Subject) {
    let archive = Retention::archive_after(Duration::from_millis(400)).expect("valid");
    let early = with_contents(&s, "early", contents("a"), archive).await;
    let late = with_contents(&s, "late", contents("b"), archive).await;
    assert_eq!(erase(&s, &early).await, ResolveAnswer::Resolved);
    s.pass(PAST_RETENTION).await;
    s.sweep_all().await;
    assert_eq!(erase(&s, &late).await, ResolveAnswer::Resolved);
    let archived = s.listed(StateFilter::Archived).await;
    assert_eq!(archived.len(), 2);
    for record in archived {
        let settled = settled_of(&record);
        assert!(settled.erased && settled.archive, "{record:?}");
        assert_eq!(
            (settled.outcome.status, settled.outcome.body.len()),
            (201, 1)
        );
        assert!(settled.outcome.headers.is_empty() && record.about.is_none());
    }
    let again = s.granted("late").await.claim;
    assert!(again.fence > late.fence);
    assert_eq!(erase(&s, &again).await, ResolveAnswer::Refused);
}

/// The audit says who erased what, and why, without what it was.
pub async fn an_erasure_of_contents_is_in_the_audit(s: Subject) {
    let claim = with_contents(&s, "k", contents("private"), retention()).await;
    erase(&s, &claim).await;
    let all = s.store().audit(1_000).await.expect("the store answers");
    let own = all
        .iter()
        .filter(|line| line.selection.contains(s.tenant()));
    let own: Vec<_> = own.collect();
    assert_eq!(own.len(), 1, "{own:?}");
    let line = own[0];
    assert_eq!(
        (line.action.as_str(), line.verb.as_str()),
        ("erase-contents", "keys erase")
    );
    assert_eq!((line.by.as_str(), line.changed), ("ann", 1));
    assert_eq!(line.reason.as_deref(), Some("asked to"));
}
