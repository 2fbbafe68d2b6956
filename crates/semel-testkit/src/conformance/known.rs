//! What people are told: what was asked, what is known of an unknown outcome, who decided what and why. And claims that
//! their callers name, to ask for them again.

use std::time::Duration;

use semel_core::record::{EventKind, Resolved, UnknownCause};
use semel_core::store::{
    Actor, ClaimAnswer, ClaimRequest, MarkRequest, Nonce, Query, Reason, Resolution, ResolveAnswer,
    ResolveRequest, StateFilter, StoreExt,
};
use semel_core::{About, Claim, Evidence, Identity, Lease, Outcome, Record, State};

use super::subject::{PAST_LEASE, Subject, granted, print, retention};

fn asked(s: &Subject, key: &str, about: &str) -> ClaimRequest {
    ClaimRequest {
        about: About::new(about),
        ..s.request(key)
    }
}

fn named(s: &Subject, key: &str, name: &str) -> ClaimRequest {
    ClaimRequest {
        nonce: Some(Nonce::of(name)),
        ..s.request(key)
    }
}

async fn listed(s: &Subject, query: Query) -> Vec<Record> {
    let own = Query {
        tenant: Some(s.tenant().to_owned()),
        ..query
    };
    let page = s.store().list(own).await.expect("the store answers");
    page.records
}

async fn keys(s: &Subject, query: Query) -> Vec<String> {
    let found = listed(s, query).await.into_iter();
    let mut keys: Vec<_> = found
        .map(|record| record.identity.key().to_string())
        .collect();
    keys.sort();
    keys
}

fn outcome_of(record: &Record) -> &Outcome {
    match &record.state {
        State::Settled(settled) => &settled.outcome,
        other => panic!("expected a settled record, found {other:?}"),
    }
}

async fn decide(s: &Subject, claim: &Claim, by: Actor, resolution: Resolution) -> ResolveAnswer {
    let request = ResolveRequest {
        claim: claim.clone(),
        by,
        reason: Some(Reason::new("the provider says so").expect("a valid reason")),
        resolution,
    };
    let resolved = s.store().resolve_one(request).await;
    resolved.expect("the store answers")
}

fn ann() -> Actor {
    Actor::new("ann").expect("a valid name")
}

fn happened(body: &'static str) -> Resolution {
    Resolution::Settle {
        outcome: Outcome::succeeded(body),
        retention: retention(),
    }
}

/// What was asked stands with the record as long as the record does, in whatever state.
pub async fn what_was_asked_comes_back(s: Subject) {
    let about = |record: &Record| record.about.as_ref().map(ToString::to_string);
    let lease = granted(s.ask(asked(&s, "k", "POST /payments/17")).await);
    let seen = s.look_up("k").await.expect("a record");
    assert_eq!(about(&seen).as_deref(), Some("POST /payments/17"));
    s.settle(&lease.claim, "done").await;
    let seen = s.look_up("k").await.expect("a record");
    assert_eq!(about(&seen).as_deref(), Some("POST /payments/17"));
    assert_eq!(outcome_of(&seen), &Outcome::succeeded("done"));
    let found = listed(&s, Query::default()).await;
    assert_eq!(found.iter().map(about).collect::<Vec<_>>(), [about(&seen)]);
    s.granted("silent").await;
    assert_eq!(s.look_up("silent").await.expect("a record").about, None);
}

/// A takeover is asked for anew, and may be asked with other words.
pub async fn a_takeover_says_anew_what_was_asked(s: Subject) {
    granted(s.ask(asked(&s, "k", "POST /old")).await);
    s.pass(PAST_LEASE).await;
    let again = ClaimRequest {
        takeover: semel_core::store::Takeover::Allowed,
        ..asked(&s, "k", "POST /new")
    };
    granted(s.ask(again).await);
    let about = s.look_up("k").await.expect("a record").about.clone();
    assert_eq!(about, About::new("POST /new"));
}

/// The caller whose answer was lost gets its own claim, and no other caller does.
pub async fn a_named_claim_is_granted_again_while_its_lease_lives(s: Subject) {
    let first: Lease = granted(s.ask(named(&s, "k", "mine")).await);
    let again = granted(s.ask(named(&s, "k", "mine")).await);
    assert_eq!((again.claim.fence, again.attempt), (first.claim.fence, 1));
    for other in [named(&s, "k", "yours"), s.request("k")] {
        let answer = s.ask(other).await;
        assert!(matches!(answer, ClaimAnswer::Running { .. }), "{answer:?}");
    }
    let another = ClaimRequest {
        fingerprint: print(2),
        ..named(&s, "k", "mine")
    };
    assert_eq!(s.ask(another).await, ClaimAnswer::Mismatch);
    s.settle(&again.claim, "done").await;
    let answer = s.ask(named(&s, "k", "mine")).await;
    assert!(matches!(answer, ClaimAnswer::Settled(_)), "{answer:?}");
}

/// Its caller may have heard of it and run: only a decision lets it run again.
pub async fn a_named_claim_whose_lease_ended_is_unknown(s: Subject) {
    granted(s.ask(named(&s, "k", "mine")).await);
    s.pass(PAST_LEASE).await;
    for _ in 0..2 {
        let answer = s.ask(named(&s, "k", "mine")).await;
        assert!(matches!(answer, ClaimAnswer::Unknown { .. }), "{answer:?}");
    }
}

/// Many that share a name share one claim, in one batch or in many.
pub async fn a_storm_under_one_name_has_one_claim(s: Subject) {
    let storm = (0..16).map(|_| {
        let (s, request) = (s.clone(), named(&s, "k", "mine"));
        tokio::spawn(async move { granted(s.ask(request).await).claim.fence })
    });
    let mut fences = Vec::new();
    for one in storm.collect::<Vec<_>>() {
        fences.push(one.await.expect("no panic"));
    }
    fences.dedup();
    assert_eq!(fences.len(), 1, "{fences:?}");
}

/// What the owner could still say is on record, in lists and in the history.
pub async fn evidence_of_an_unknown_outcome_is_kept(s: Subject) {
    let evidence = Evidence::new(Some(504), Some("gateway timeout"), Duration::from_secs(60));
    let lease = s.granted("k").await;
    let mark = MarkRequest {
        claim: lease.claim.clone(),
        cause: UnknownCause::RunUndecided,
        evidence: Some(evidence.clone()),
    };
    s.store().mark_one(mark).await.expect("the store answers");
    let query = Query {
        state: Some(StateFilter::Unknown),
        ..Query::default()
    };
    let mut seen = listed(&s, query).await;
    seen.push((*s.look_up("k").await.expect("a record")).clone());
    assert_eq!(seen.len(), 2);
    for record in seen {
        let State::Unknown { evidence: kept, .. } = record.state else {
            panic!("expected an unknown record, found {:?}", record.state);
        };
        assert_eq!(kept.as_ref(), Some(&evidence));
    }
    let kept = EventKind::BecameUnknown {
        cause: UnknownCause::RunUndecided,
        evidence: Some(evidence),
    };
    let events = s.history("k").await;
    assert!(events.iter().any(|event| event.kind == kept), "{events:?}");
}

/// An operator knows the key, and neither scope nor tenant.
pub async fn records_are_found_by_key_and_by_method(s: Subject) {
    let elsewhere = Identity::parse(s.tenant(), "POST /refunds@3", "order").expect("valid");
    for request in [
        asked(&s, "order", "PATCH /orders/1"),
        ClaimRequest {
            identity: elsewhere,
            ..s.request("order")
        },
        asked(&s, "order-1", "POST /orders"),
        s.request("ORDER"),
    ] {
        granted(s.ask(request).await);
    }
    let query = |key: Option<&str>, method: Option<&str>| Query {
        key: key.map(str::to_owned),
        method: method.map(str::to_owned),
        ..Query::default()
    };
    assert_eq!(keys(&s, query(Some("order"), None)).await, ["order"; 2]);
    assert_eq!(keys(&s, query(Some("none"), None)).await, [""; 0]);
    let posted = keys(&s, query(None, Some("POST"))).await;
    assert_eq!(
        posted,
        ["order", "order-1"],
        "said by a claim, and by a scope"
    );
    assert_eq!(keys(&s, query(None, Some("PATCH"))).await, ["order"]);
    assert_eq!(keys(&s, query(None, Some("POS"))).await, [""; 0]);
    let anywhere = Query {
        tenant: None,
        ..query(Some("order"), Some("PATCH"))
    };
    let page = s.store().list(anywhere).await.expect("the store answers");
    let own = |record: &Record| record.identity.tenant().as_str() == s.tenant();
    assert_eq!(page.records.iter().filter(|record| own(record)).count(), 1);
}

/// `settled` means successes and failures alike, as counts do.
pub async fn settled_records_are_listed_as_such(s: Subject) {
    super::operators::fill(&s).await;
    let settled = Query {
        state: Some(StateFilter::Settled),
        ..Query::default()
    };
    let expected = ["failed", "ok-0", "ok-1", "ok-2", "ok-3", "ok-4"];
    assert_eq!(keys(&s, settled).await, expected);
}

/// What a person decided a person can correct, until the same retention ends.
pub async fn a_decision_can_be_corrected(s: Subject) {
    let lease = s.granted("k").await;
    s.mark(&lease.claim).await;
    decide(&s, &lease.claim, ann(), happened("wrong")).await;
    let before = s.look_up("k").await.expect("a record");
    let outcome = Outcome::failed("right");
    let correct = || Resolution::Correct {
        outcome: outcome.clone(),
    };
    let corrected = decide(&s, &lease.claim, ann(), correct()).await;
    assert_eq!(corrected, ResolveAnswer::Resolved);
    let after = s.look_up("k").await.expect("a record");
    assert_eq!(outcome_of(&after), &outcome);
    let (State::Settled(before), State::Settled(settled)) = (&before.state, &after.state) else {
        unreachable!("both were settled above");
    };
    assert_eq!(settled.expires_at, before.expires_at);
    let ClaimAnswer::Settled(replayed) = s.claim("k").await else {
        panic!("a corrected outcome is replayed");
    };
    assert_eq!(outcome_of(&replayed), &outcome);
    let last = s.history("k").await.pop().expect("an event");
    let EventKind::Resolved { by, how, reason } = last.kind else {
        panic!("expected a decision, found {last:?}");
    };
    assert_eq!((by.as_str(), how), ("ann", Resolved::Corrected));
    assert_eq!(reason.as_deref(), Some("the provider says so"));
}

/// Rule 4: what a run settled does not change, and what is not settled has nothing to correct.
pub async fn only_decisions_can_be_corrected(s: Subject) {
    let correct = || Resolution::Correct {
        outcome: Outcome::failed("other"),
    };
    let settled = s.settled("settled", "done").await;
    let unknown = s.granted("unknown").await.claim;
    s.mark(&unknown).await;
    let running = s.granted_for_long("running").await.claim;
    for claim in [settled, unknown, running] {
        let refused = decide(&s, &claim, ann(), correct()).await;
        assert_eq!(refused, ResolveAnswer::Refused, "{}", claim.identity);
    }
    let kept = s.look_up("settled").await.expect("a record");
    assert_eq!(outcome_of(&kept), &Outcome::succeeded("done"));
}

/// One line for each decision of a person, the newest first; what a component decides by itself is not among them.
pub async fn the_audit_tells_who_decided_what_and_why(s: Subject) {
    for key in ["settled", "released", "by itself"] {
        let lease = s.granted(key).await;
        s.mark(&lease.claim).await;
        let (by, resolution) = match key {
            "settled" => (ann(), happened("done")),
            "released" => (ann(), Resolution::Release),
            _ => (Actor::component("reconciler"), Resolution::Release),
        };
        decide(&s, &lease.claim, by, resolution).await;
        s.pass(Duration::from_millis(2)).await;
    }
    let settled = s.look_up("settled").await.expect("a record");
    let claim = Claim {
        identity: settled.identity.clone(),
        fence: settled.fence,
    };
    decide(&s, &claim, ann(), Resolution::Erase).await;
    let refused = decide(&s, &claim, ann(), Resolution::Erase).await;
    assert_eq!(refused, ResolveAnswer::Refused);
    let all = s.store().audit(1_000).await.expect("the store answers");
    let own = all
        .iter()
        .filter(|line| line.selection.contains(s.tenant()));
    let own: Vec<_> = own.collect();
    let actions: Vec<_> = own.iter().map(|line| line.action.as_str()).collect();
    assert_eq!(actions, ["erase", "release", "resolve"]);
    for line in &own {
        assert_eq!((line.by.as_str(), line.changed), ("ann", 1));
        assert_eq!(line.scope.to_string(), "conformance@1");
        assert_eq!(line.reason.as_deref(), Some("the provider says so"));
    }
    assert!(own[2].selection.contains("key settled"), "{:?}", own[2]);
    let newest = s.store().audit(1).await.expect("the store answers");
    assert_eq!(newest.len(), 1);
}
