//! What operators see: history, lists and counts.

use std::time::Duration;

use semel_core::record::EventKind;
use semel_core::store::{
    ClaimAnswer, ClaimRequest, EVENTS_MAX, Query, Resolution, SettleRequest, StateFilter, StoreExt,
};
use semel_core::{Body, Outcome, State};

use super::subject::{PAST_LEASE, Subject, granted, print, retention};

/// The audit can be read from the top.
pub async fn history_tells_what_was_unusual_in_order(s: Subject) {
    let first = s.granted("k").await;
    s.ask(ClaimRequest {
        fingerprint: print(2),
        ..s.request("k")
    })
    .await;
    s.pass(PAST_LEASE).await;
    s.claim("k").await;
    let second = granted(s.take_over("k").await);
    s.settle(&first.claim, "late").await;
    s.mark(&second.claim).await;
    s.resolve(&second.claim, Resolution::Release).await;
    let names = s.event_names("k").await;
    let expected = [
        "mismatch",
        "became-unknown",
        "took-over",
        "late-outcome",
        "became-unknown",
        "resolved",
    ];
    assert_eq!(names, expected);
    let events = s.history("k").await;
    assert!(events.is_sorted_by_key(|event| event.at));
    assert!(matches!(&events[5].kind, EventKind::Resolved { by, .. } if by == "the suite"));
}

/// A record is written twice and nothing else.
pub async fn the_happy_path_leaves_no_history(s: Subject) {
    let lease = s.granted("k").await;
    s.renew(&lease.claim).await;
    s.settle(&lease.claim, "done").await;
    s.claim("k").await;
    assert!(s.history("k").await.is_empty());
}

/// A client that repeats its mistake for ever does not fill the disk.
pub async fn history_is_bounded(s: Subject) {
    s.settled("k", "done").await;
    for n in 0..=EVENTS_MAX {
        let fingerprint = print((n % 250) as u8 + 2);
        let answer = s
            .ask(ClaimRequest {
                fingerprint,
                ..s.request("k")
            })
            .await;
        assert_eq!(answer, ClaimAnswer::Mismatch);
    }
    let events = s.history("k").await;
    assert_eq!(events.len(), EVENTS_MAX);
    let newest = print((EVENTS_MAX % 250) as u8 + 2);
    assert_eq!(
        events.last().map(|e| &e.kind),
        Some(&EventKind::Mismatch(newest))
    );
}

/// What a late owner brought may be all that is known: no flood of mistakes pushes it out.
pub async fn a_late_outcome_outlasts_a_flood_of_mismatches(s: Subject) {
    let lease = s.granted("k").await;
    s.mark(&lease.claim).await;
    s.settle(&lease.claim, "late").await;
    for n in 0..=EVENTS_MAX {
        let fingerprint = print((n % 250) as u8 + 2);
        s.ask(ClaimRequest {
            fingerprint,
            ..s.request("k")
        })
        .await;
    }
    let names = s.event_names("k").await;
    assert!(names.contains(&"late-outcome"), "{names:?}");
}

/// Records in every state. Claims are apart in time, because only the fences of one identity have an order.
pub(super) async fn fill(s: &Subject) {
    s.granted("ended").await;
    s.pass(PAST_LEASE).await;
    s.granted_for_long("running").await;
    s.pass(APART).await;
    let marked = s.granted("unknown").await;
    s.mark(&marked.claim).await;
    for n in 0..5 {
        s.pass(APART).await;
        s.settled(&format!("ok-{n}"), "done").await;
    }
    s.pass(APART).await;
    let failed = s.granted("failed").await;
    let request = SettleRequest {
        claim: failed.claim,
        outcome: Outcome::failed("no"),
        took: Duration::ZERO,
        retention: retention(),
    };
    s.store().settle_one(request).await.expect("settled");
}

/// Clocks of stores count milliseconds.
const APART: Duration = Duration::from_millis(2);

/// By state, tenant and scope, the newest first, page by page.
pub async fn lists_filter_and_page(s: Subject) {
    fill(&s).await;
    let all = [
        "failed", "ok-4", "ok-3", "ok-2", "ok-1", "ok-0", "unknown", "running", "ended",
    ];
    for (state, expected) in [
        (None, &all[..]),
        (Some(StateFilter::Running), &["running"]),
        (Some(StateFilter::Unknown), &["unknown", "ended"]),
        (Some(StateFilter::Succeeded), &all[1..6]),
        (Some(StateFilter::Failed), &["failed"]),
        (Some(StateFilter::Archived), &[]),
    ] {
        assert_eq!(s.listed_keys(state).await, expected, "{state:?}");
    }
    let failed = s.listed(StateFilter::Failed).await;
    let State::Settled(settled) = &failed[0].state else {
        panic!("expected a settled record, found {failed:?}");
    };
    assert_eq!(settled.outcome.body, Body::omitted(b"no").left_out());
    for (scope, expected) in [("conformance@1", &all[..]), ("conformance@2", &[])] {
        assert_eq!(paged(&s, scope, 100).await, expected, "{scope}");
        assert_eq!(paged(&s, scope, 2).await, expected, "{scope}");
    }
}

/// The keys of all records of a scope, in pages of at most `limit`.
async fn paged(s: &Subject, scope: &str, limit: usize) -> Vec<String> {
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let query = Query {
            tenant: Some(s.tenant().to_owned()),
            scope: Some(scope.to_owned()),
            before,
            limit,
            ..Query::default()
        };
        let page = s.store().list(query).await.expect("the store answers");
        assert!(page.records.len() <= limit);
        let keys = page.records.iter().map(|r| r.identity.key().as_str());
        seen.extend(keys.map(str::to_owned));
        before = page.next;
        if before.is_none() {
            return seen;
        }
    }
}

/// Counts only grow by what the test did; a shared server may hold more.
pub async fn stats_count_each_state(s: Subject) {
    let before = s.store().stats().await.expect("the store answers");
    fill(&s).await;
    let after = s.store().stats().await.expect("the store answers");
    assert!(after.running > before.running, "{after:?}");
    assert!(after.unknown >= before.unknown + 2, "{after:?}");
    assert!(after.settled >= before.settled + 6, "{after:?}");
    assert!(after.oldest_running.is_some() && after.oldest_unknown.is_some());
}
