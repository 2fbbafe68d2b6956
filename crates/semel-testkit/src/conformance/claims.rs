//! Claiming, running and replaying.

use std::time::Duration;

use bytes::Bytes;
use semel_core::record::EventKind;
use semel_core::store::{ClaimAnswer, ClaimRequest, ReleaseAnswer, SettleRequest, StoreExt};
use semel_core::{Body, Headers, Identity, Outcome, State, Verdict};

use super::subject::{PAST_LEASE, Subject, at_once, granted, grants, print, replayed, retention};

/// Rule 1: a granted claim is durable, so every reader sees it.
pub async fn a_first_claim_is_granted_and_seen(s: Subject) {
    assert_eq!(s.state("k").await, "absent");
    let lease = s.granted("k").await;
    assert_eq!(lease.attempt, 1);
    let record = s.look_up("k").await.expect("a record");
    assert_eq!(record.identity, s.identity("k"));
    assert_eq!(record.fingerprint, print(1));
    assert_eq!(record.fence, lease.claim.fence);
    assert_eq!(
        record.state,
        State::Running {
            lease_until: lease.until
        }
    );
}

/// Rule 2: at most one live lease.
pub async fn a_second_claim_sees_it_running(s: Subject) {
    let lease = s.granted("k").await;
    for answer in [s.claim("k").await, s.take_over("k").await] {
        let ClaimAnswer::Running { fence, lease_left } = answer else {
            panic!("expected running, found {answer:?}");
        };
        assert_eq!(fence, lease.claim.fence);
        assert!(lease_left <= super::subject::lease().get());
    }
}

/// Status, ordered and repeated headers and body bytes come back as they were.
pub async fn a_settled_outcome_is_replayed_verbatim(s: Subject) {
    let lease = s.granted("k").await;
    let fields = [
        ("Set-Cookie", "a=1"),
        ("X-Empty", ""),
        ("Set-Cookie", "b=2"),
    ];
    let fields = fields.map(|(n, v)| (n.to_owned(), Bytes::from(v)));
    let outcome = Outcome {
        verdict: Verdict::Succeeded,
        status: 201,
        headers: Headers::new(fields.to_vec()).expect("few headers"),
        body: Body::Kept(Bytes::from_static(b"\x00\xff{}")),
    };
    let request = SettleRequest {
        claim: lease.claim,
        outcome: outcome.clone(),
        took: Duration::from_millis(12),
        retention: retention(),
    };
    s.store().settle_one(request).await.expect("settled");
    for _ in 0..2 {
        let ClaimAnswer::Settled(record) = s.claim("k").await else {
            panic!("expected a replay");
        };
        let State::Settled(settled) = &record.state else {
            panic!("expected a settled record");
        };
        assert_eq!(settled.outcome, outcome);
        assert_eq!(settled.took, Duration::from_millis(12));
        assert_eq!(settled.expires_at, settled.at.after(retention().keep()));
        assert_eq!(record.attempt, 1);
    }
}

/// A failure that was kept is the answer to duplicates, like a success.
pub async fn a_kept_failure_is_replayed_too(s: Subject) {
    let lease = s.granted("k").await;
    let request = SettleRequest {
        claim: lease.claim,
        outcome: Outcome::failed("card declined"),
        took: Duration::ZERO,
        retention: retention(),
    };
    s.store().settle_one(request).await.expect("settled");
    assert_eq!(replayed(&s.claim("k").await), b"card declined");
    assert_eq!(s.state("k").await, "failed");
}

/// A body that was not kept is still told apart from an empty one, and does not run again.
pub async fn an_omitted_body_keeps_length_and_digest(s: Subject) {
    let lease = s.granted("k").await;
    let mut outcome = Outcome::succeeded("");
    outcome.body = Body::omitted(b"a large body");
    let request = SettleRequest {
        claim: lease.claim,
        outcome: outcome.clone(),
        took: Duration::ZERO,
        retention: retention(),
    };
    s.store().settle_one(request).await.expect("settled");
    let ClaimAnswer::Settled(record) = s.claim("k").await else {
        panic!("expected a replay");
    };
    assert!(matches!(&record.state, State::Settled(settled) if settled.outcome == outcome));
}

/// Nothing is cut, padded or re-encoded.
pub async fn bodies_of_any_size_come_back(s: Subject) {
    for len in [0_usize, 1, 255, 4_095, 4_096, 70_000, 1_048_576] {
        let key = format!("k-{len}");
        let bytes: Vec<u8> = (0..len).map(|i| (i * 31 % 251) as u8).collect();
        let lease = s.granted(&key).await;
        let request = SettleRequest {
            claim: lease.claim,
            outcome: Outcome::succeeded(bytes.clone()),
            took: Duration::ZERO,
            retention: retention(),
        };
        s.store().settle_one(request).await.expect("settled");
        assert_eq!(replayed(&s.claim(&key).await), bytes, "{len} bytes");
    }
}

/// The longest key, quotes, spaces and other scripts are just keys.
pub async fn identities_of_any_text_come_back(s: Subject) {
    let longest = "k".repeat(255);
    for key in [
        longest.as_str(),
        "'; DROP TABLE x; --",
        " spaced ",
        "ключ-🔑",
        "%_\\",
        "a/b@c",
    ] {
        let claim = s.settled(key, key).await;
        let record = s.look_up(key).await.expect("a record");
        assert_eq!(record.identity.key().as_str(), key);
        assert_eq!(record.identity.tenant(), claim.identity.tenant());
        assert_eq!(replayed(&s.claim(key).await), key.as_bytes());
    }
}

/// Two tenants never see each other's results; a new version is a new operation.
pub async fn tenants_scopes_and_versions_never_meet(s: Subject) {
    let other = format!("{}-b", s.tenant());
    let names = [
        (s.tenant(), "pay@1"),
        (other.as_str(), "pay@1"),
        (s.tenant(), "pay@2"),
        (s.tenant(), "refund@1"),
    ];
    for (tenant, scope) in names {
        let identity = Identity::parse(tenant, scope, "same-key").expect("valid");
        let lease = granted(
            s.ask(ClaimRequest {
                identity,
                ..s.request("same-key")
            })
            .await,
        );
        assert_eq!(lease.attempt, 1, "{tenant} {scope}");
    }
}

/// Rule 6: another request under the same key is a mistake in every state, and changes nothing.
pub async fn the_fingerprint_is_compared_before_the_state(s: Subject) {
    let other = |key: &str| ClaimRequest {
        fingerprint: print(2),
        takeover: semel_core::store::Takeover::Allowed,
        ..s.request(key)
    };
    s.granted("running").await;
    let marked = s.granted("unknown").await;
    s.mark(&marked.claim).await;
    s.settled("settled", "kept").await;
    for key in ["running", "unknown", "settled"] {
        let before = s.look_up(key).await;
        assert_eq!(s.ask(other(key)).await, ClaimAnswer::Mismatch, "{key}");
        assert_eq!(s.look_up(key).await, before, "{key}");
        let events = s.history(key).await;
        let last = events.last().expect("an event");
        assert_eq!(last.kind, EventKind::Mismatch(print(2)), "{key}");
    }
    s.granted("ended").await;
    s.pass(PAST_LEASE).await;
    assert_eq!(s.ask(other("ended")).await, ClaimAnswer::Mismatch);
    assert_eq!(s.state("ended").await, "unknown");
}

/// Released means that nothing happened.
pub async fn a_released_claim_can_be_claimed_again(s: Subject) {
    let first = s.granted("k").await;
    assert_eq!(s.release(&first.claim).await, ReleaseAnswer::Released);
    assert_eq!(s.state("k").await, "absent");
    let second = s.granted("k").await;
    assert!(second.claim.fence > first.claim.fence);
    assert_eq!(second.attempt, 1);
    assert_eq!(s.event_names("k").await, ["released"]);
}

/// Hundreds of callers, one identity: one grant, and everybody else sees it running.
pub async fn a_storm_on_one_identity_has_exactly_one_winner(s: Subject) {
    const CALLERS: usize = 300;
    let answers = at_once(CALLERS, |_| s.clone().claim_owned("k".to_owned())).await;
    assert_eq!(grants(&answers), 1);
    let running = answers
        .iter()
        .filter(|a| matches!(a, ClaimAnswer::Running { .. }));
    assert_eq!(running.count(), CALLERS - 1);
}

/// The same with many identities at once, batched together by the store as it likes.
pub async fn a_storm_on_many_identities_has_one_winner_each(s: Subject) {
    const KEYS: usize = 40;
    const CALLERS: usize = 8;
    let claim = |n| s.clone().claim_owned(format!("k-{}", n % KEYS));
    let answers = at_once(KEYS * CALLERS, claim).await;
    assert_eq!(grants(&answers), KEYS);
    for key in 0..KEYS {
        assert_eq!(s.state(&format!("k-{key}")).await, "running");
    }
}

/// Rule 7: replays do not exclude one another.
pub async fn two_simultaneous_replays_both_answer(s: Subject) {
    s.settled("k", "kept").await;
    let answers = at_once(50, |_| s.clone().claim_owned("k".to_owned())).await;
    assert!(answers.iter().all(|answer| replayed(answer) == b"kept"));
}
