//! What operators see: history, lists and counts.

use semel_core::Retention;
use semel_core::record::EventKind;
use semel_core::store::{
    ClaimAnswer, ClaimRequest, EVENTS_MAX, Query, Resolution, SettleRequest, StateFilter, StoreExt,
};
use semel_core::{Body, Outcome, Record, State};

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

async fn fill(s: &Subject) {
    s.granted("ended").await;
    s.pass(PAST_LEASE).await;
    s.granted("running").await;
    let marked = s.granted("unknown").await;
    s.mark(&marked.claim).await;
    for n in 0..5 {
        s.settled(&format!("ok-{n}"), "done").await;
    }
    let failed = s.granted("failed").await;
    let request = SettleRequest {
        claim: failed.claim,
        outcome: Outcome::failed("no"),
        took: std::time::Duration::ZERO,
        retention: Retention::delete_after(retention().keep()).expect("valid"),
    };
    s.store().settle_one(request).await.expect("settled");
}

async fn listed(s: &Subject, query: Query) -> Vec<Record> {
    let tenant = Some(s.tenant().to_owned());
    let page = s.store().list(Query { tenant, ..query }).await;
    page.expect("the store answers").records
}

/// The body of the first record in this state, as a list shows it.
async fn listed_body(s: &Subject, state: StateFilter) -> Body {
    let state = Some(state);
    let records = listed(
        s,
        Query {
            state,
            ..Query::default()
        },
    )
    .await;
    match &records[0].state {
        State::Settled(settled) => settled.outcome.body.clone(),
        other => panic!("expected a settled record, found {other:?}"),
    }
}

/// By state, tenant and scope, the newest first, page by page.
pub async fn lists_filter_and_page(s: Subject) {
    fill(&s).await;
    for (state, expected) in [
        (
            None,
            vec![
                "failed", "ok-4", "ok-3", "ok-2", "ok-1", "ok-0", "unknown", "running", "ended",
            ],
        ),
        (Some(StateFilter::Running), vec!["running"]),
        (Some(StateFilter::Unknown), vec!["unknown", "ended"]),
        (
            Some(StateFilter::Succeeded),
            vec!["ok-4", "ok-3", "ok-2", "ok-1", "ok-0"],
        ),
        (Some(StateFilter::Failed), vec!["failed"]),
        (Some(StateFilter::Archived), vec![]),
    ] {
        let records = listed(
            &s,
            Query {
                state,
                ..Query::default()
            },
        )
        .await;
        let keys: Vec<_> = records.iter().map(|r| r.identity.key().as_str()).collect();
        assert_eq!(keys, expected, "{state:?}");
    }
    assert_eq!(
        listed_body(&s, StateFilter::Failed).await,
        Body::omitted(b"no").left_out()
    );
    let scope = |scope: &str| Query {
        scope: Some(scope.to_owned()),
        ..Query::default()
    };
    assert_eq!(listed(&s, scope("conformance@1")).await.len(), 9);
    assert_eq!(listed(&s, scope("conformance@2")).await.len(), 0);
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let tenant = Some(s.tenant().to_owned());
        let query = Query {
            tenant,
            before,
            limit: 2,
            ..Query::default()
        };
        let page = s.store().list(query).await.expect("the store answers");
        assert!(page.records.len() <= 2);
        seen.extend(page.records.iter().map(|r| r.fence));
        before = page.next;
        if before.is_none() {
            break;
        }
    }
    assert_eq!(seen.len(), 9);
    assert!(seen.is_sorted_by(|a, b| a > b), "{seen:?}");
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
