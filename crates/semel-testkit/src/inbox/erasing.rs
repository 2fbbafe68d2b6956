//! Contents that are erased on request: nothing of them is left, and nothing runs twice because of it.

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{
    Action, Cause, Disposition, Edit, Finished, Job, Operation, Selection, State,
};
use semel_core::record::Claim;
use semel_core::store::{Actor, Resolution, ResolveAnswer, ResolveRequest, StoreExt};
use semel_core::{Headers, State as RecordState};

use super::receiving::rich;
use super::seen::{by_ids, duplicate};
use super::subject::Subject;
use super::values::{AWHILE, LONG, only, parked, retry_after, short_retention, terminal};

const ERASE: Action = Action::EraseContents;

/// Payload, headers, edits, errors and answers are gone; identity, fingerprint and history stay.
pub async fn nothing_is_left_of_contents_that_were_erased(s: Subject) {
    s.stored(vec![rich(&s, "m")]).await;
    let job = s.claim_one().await;
    let error = ErrorText::new("secret error").with_answer(&"secret answer".into());
    s.finish(&job, Disposition::Terminal { error }).await;
    let tenant = Some(s.identity("m").tenant().to_string());
    let edit = Operation {
        edit: Some(Edit::new("secret edit", Headers::default()).expect("small")),
        ..s.operation(
            Action::Edit { new_key: false },
            Selection {
                tenant,
                ..by_ids(&["m"])
            },
        )
    };
    assert_eq!(s.operate_as(edit).await.changed, 1);
    let job = s.claim_one().await;
    s.step(&job, "charge").await;
    s.finish(&job, terminal()).await;
    assert_eq!(s.operate(ERASE, &["m"]).await.changed, 1);
    let detail = s.detail("m").await.expect("known");
    assert!(detail.erased_at.is_some());
    assert_eq!(detail.message, None);
    assert_eq!((detail.edits.len(), detail.steps.len()), (0, 0));
    assert_eq!(detail.entry.payload_bytes, None);
    assert_eq!(detail.entry.error, None);
    assert_eq!(detail.attempts.len(), 2);
    for attempt in &detail.attempts {
        assert_eq!((&attempt.error, &attempt.answer), (&None, &None));
    }
    let said = format!("{:?}", detail.transitions);
    assert!(
        said.contains("the suite") && !said.contains("secret"),
        "{said}"
    );
    assert_eq!(s.audit().await[0].action, "erase-contents");
}

/// What is sent again is a duplicate, whatever was erased, and another payload under its id is a conflict.
pub async fn a_redelivery_of_what_was_erased_is_a_duplicate(s: Subject) {
    s.processed(&["done"]).await;
    s.received(&["failed"]).await;
    let job = s.claim_one().await;
    s.finish(&job, terminal()).await;
    for (id, state) in [
        ("done", State::Completed),
        ("failed", State::SkippedDuplicate),
    ] {
        assert_eq!(s.operate(ERASE, &[id]).await.changed, 1, "{id}");
        s.is(id, state).await;
        assert_eq!(s.receive_one(s.message(id)).await, duplicate(state), "{id}");
        let record = s.record(id).await.expect("a record");
        assert!(matches!(record.state, RecordState::Settled(_)), "{id}");
        assert_eq!(record.fingerprint, s.message(id).fingerprint(), "{id}");
        let detail = s.detail(id).await.expect("known");
        assert_eq!(detail.fingerprint, record.fingerprint, "{id}");
    }
    s.nothing_is_due().await;
}

/// What still runs by itself keeps its contents; an operator parks it first.
pub async fn what_still_runs_keeps_its_contents(s: Subject) {
    s.received(&["running"]).await;
    let running = s.claim_one().await;
    s.received(&["later"]).await;
    let later = s.claim_one().await;
    s.finish(&later, retry_after(LONG)).await;
    s.received(&["received"]).await;
    for id in ["running", "later", "received"] {
        let report = s.operate(ERASE, &[id]).await;
        assert_eq!((report.changed, report.skipped), (0, 1), "{id}");
        assert!(s.detail(id).await.expect("known").message.is_some(), "{id}");
    }
    s.complete(&running).await;
    s.operate(Action::Park, &["later"]).await;
    assert_eq!(s.operate(ERASE, &["later"]).await.changed, 1);
    assert_eq!(s.process_all().await, ["received"]);
}

/// Nothing runs without its contents: not once more, and not by a rebuild.
pub async fn what_was_erased_is_never_replayed(s: Subject) {
    s.processed(&["m"]).await;
    s.operate(ERASE, &["m"]).await;
    for rebuild in [false, true] {
        let report = s.operate(Action::Replay { rebuild }, &["m"]).await;
        assert_eq!((report.changed, report.gone, report.skipped), (0, 1, 0));
    }
    assert_eq!(s.operate(ERASE, &["m"]).await.changed, 0);
    s.nothing_is_due().await;
}

/// A record that has ended or was purged leaves contents behind: they are erased by id and by tenant like all others, and the id stays new.
pub async fn what_is_left_without_a_record_is_erased_too(s: Subject) {
    let brief = s.clone().retaining(short_retention());
    brief.processed(&["expired", "expired too"]).await;
    s.processed(&["purged"]).await;
    purge(&s, "purged").await;
    s.pass(AWHILE).await;
    for id in ["expired", "purged"] {
        let report = s.operate(ERASE, &[id]).await;
        assert_eq!((report.matched, report.changed), (1, 1), "{id}");
    }
    for (matched, changed) in [(1, 1), (0, 0)] {
        let select = Selection {
            tenant: Some("public".to_owned()),
            ..Selection::default()
        };
        let report = s.operate_as(s.operation(ERASE, select)).await;
        assert_eq!((report.matched, report.changed), (matched, changed));
    }
    s.received(&["expired", "purged"]).await;
    let jobs = s.claim().await;
    let message = |job: &Job| job.message.payload().clone();
    let payloads: Vec<_> = jobs.iter().map(message).collect();
    assert_eq!(payloads, ["payload of expired", "payload of purged"]);
}

async fn purge(s: &Subject, id: &str) {
    let record = s.record(id).await.expect("a record");
    let request = ResolveRequest {
        claim: Claim {
            identity: s.identity(id),
            fence: record.fence,
        },
        by: Actor::new("the suite").expect("a short name"),
        reason: None,
        resolution: Resolution::Erase,
    };
    let answer = s.store().resolve_one(request).await;
    assert_eq!(answer.expect("the store answers"), ResolveAnswer::Resolved);
}

/// A worker that was given up may still say how its attempt ended: that it did is kept, what it says is not.
pub async fn a_late_attempt_brings_no_contents_back(s: Subject) {
    s.received(&["m"]).await;
    let late = only(s.claim_briefly().await);
    s.pass(AWHILE).await;
    s.process_all().await;
    assert_eq!(s.operate(ERASE, &["m"]).await.changed, 1);
    let error = ErrorText::new("secret error").with_answer(&"secret answer".into());
    let end = Disposition::Terminal { error };
    assert_eq!(s.finish(&late, end).await, Finished::Lost);
    let attempts = s.detail("m").await.expect("known").attempts;
    let attempt = attempts.iter().find(|attempt| attempt.late);
    let attempt = attempt.expect("a late attempt is kept");
    assert_eq!(attempt.state, State::FailedTerminal);
    assert_eq!((&attempt.error, &attempt.answer), (&None, &None));
}

/// A tenant's contents go in one act, what was erased before is not met again, and no other tenant's go with them.
pub async fn contents_of_one_tenant_are_erased_together(s: Subject) {
    let other = s.clone().of_tenant("globex");
    s.processed(&["done", "before"]).await;
    s.operate(ERASE, &["before"]).await;
    other.processed(&["done"]).await;
    s.received(&["failed"]).await;
    let job = s.claim_one().await;
    s.finish(&job, terminal()).await;
    s.received(&["waiting"]).await;
    let select = Selection {
        tenant: Some("public".to_owned()),
        ..Selection::default()
    };
    let report = s.operate_as(s.operation(ERASE, select)).await;
    assert_eq!((report.matched, report.changed), (2, 2), "{report:?}");
    for (s, id, is_erased) in [
        (&s, "done", true),
        (&s, "failed", true),
        (&s, "waiting", false),
        (&other, "done", false),
    ] {
        let detail = s.detail(id).await.expect("known");
        assert_eq!(detail.message.is_none(), is_erased, "{id}");
    }
}

/// What waited for it goes on, as after a skip.
pub async fn a_lane_goes_on_past_what_was_erased(s: Subject) {
    let on_terminal = semel_core::inbox::OnTerminal::Park;
    let s = s.ordered(semel_core::inbox::Order::Arrival { on_terminal });
    s.stored(vec![s.in_lane("x", "head")]).await;
    let job = s.claim_one().await;
    s.finish(&job, parked()).await;
    s.receive_one(s.in_lane("x", "next")).await;
    s.is_parked("next", Cause::BehindFailed).await;
    assert_eq!(s.operate(ERASE, &["head"]).await.changed, 1);
    assert_eq!(s.process_all().await, ["next"]);
}
