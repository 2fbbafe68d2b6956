//! What people do by hand.

use semel_core::inbox::operate::SELECT_IDS_MAX;
use semel_core::inbox::{Action, Cause, Finished, Report, Selection, State};

use super::receiving::rich;
use super::seen::{by_ids, duplicate};
use super::subject::Subject;
use super::values::{AWHILE, LONG, id, key, only, parked, retry_after, terminal};

/// One message of each state: `received`, `running`, `done`, `later`, `failed`, `parked`.
async fn one_of_each(s: &Subject) {
    for (id, disposition) in [
        ("done", super::values::completed("done")),
        ("later", retry_after(LONG)),
        ("failed", terminal()),
        ("parked", parked()),
    ] {
        s.received(&[id]).await;
        let job = s.claim_one().await;
        s.finish(&job, disposition).await;
    }
    s.received(&["running"]).await;
    s.claim_one().await;
    s.received(&["received"]).await;
}

const ALL: [&str; 6] = ["received", "running", "done", "later", "failed", "parked"];

async fn states(s: &Subject) -> Vec<State> {
    let mut states = Vec::new();
    for id in ALL {
        states.push(s.entry(id).await.state);
    }
    states
}

/// Attempts are counted anew, in a new generation, and the errors of before are not forgotten.
pub async fn a_retry_by_hand_counts_attempts_anew(s: Subject) {
    for (id, disposition) in [
        ("later", retry_after(LONG)),
        ("failed", terminal()),
        ("parked", parked()),
    ] {
        s.received(&[id]).await;
        let first = s.claim_one().await;
        s.finish(&first, disposition).await;
        assert_eq!(
            s.operate(Action::Retry { new_key: false }, &[id])
                .await
                .changed,
            1
        );
        s.is(id, State::Received).await;
        let again = s.claim_one().await;
        assert_eq!((again.attempt, again.generation), (1, 1));
        assert!(!again.replay);
        assert!(again.claim.fence > first.claim.fence);
        s.complete(&again).await;
        let attempt = only(s.detail(id).await.expect("known").attempts);
        assert_eq!((attempt.generation, attempt.number), (0, 1));
    }
}

/// A dead letter that is replayed is the same message, and no dedup check swallows it.
pub async fn a_dead_letter_runs_again_as_it_arrived(s: Subject) {
    s.stored(vec![rich(&s, "m")]).await;
    let job = s.claim_one().await;
    s.finish(&job, terminal()).await;
    s.operate(Action::Retry { new_key: false }, &["m"]).await;
    assert_eq!(
        s.receive_one(rich(&s, "m")).await,
        duplicate(State::Received)
    );
    let again = s.claim_one().await;
    assert_eq!(*again.message, rich(&s, "m"));
    assert_eq!(again.received_at, job.received_at);
    assert_eq!(s.complete(&again).await, Finished::Done);
    assert_eq!(s.outcome("m").await, "done m");
}

/// Each action changes the states that it is for and leaves the others alone.
pub async fn an_action_changes_only_the_states_it_is_for(s: Subject) {
    for action in [
        Action::Retry { new_key: false },
        Action::Park,
        Action::Unpark,
        Action::Skip,
        Action::Replay { rebuild: false },
    ] {
        let s = s.beside(&format!("-{}", action.name()), 1);
        one_of_each(&s).await;
        let before = states(&s).await;
        let report = s.operate(action, &ALL).await;
        let after = states(&s).await;
        let becomes = match action {
            Action::Park => State::Parked,
            Action::Skip | Action::EraseContents => State::SkippedDuplicate,
            Action::Retry { .. } | Action::Edit { .. } | Action::Unpark | Action::Replay { .. } => {
                State::Received
            }
        };
        let mut changed = 0;
        for (was, is) in before.into_iter().zip(after) {
            let touched = action.states().contains(&was);
            changed += u64::from(touched);
            let expected = if touched { becomes } else { was };
            assert_eq!(is, expected, "{was:?} by {action:?}");
        }
        let counts = (report.matched, report.changed, report.skipped);
        assert_eq!(counts, (6, changed, 6 - changed), "{action:?}");
        assert!(!report.more);
    }
}

/// What a worker is at cannot be taken from under it.
pub async fn a_message_in_progress_is_left_to_its_worker(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    for action in [Action::Retry { new_key: false }, Action::Park, Action::Skip] {
        assert_eq!(s.operate(action, &["m"]).await.changed, 0);
    }
    assert_eq!(s.complete(&job).await, Finished::Done);
}

/// Set aside and given back, a message goes on as it was.
pub async fn an_unparked_message_goes_on_with_the_attempts_it_had(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    s.finish(&job, retry_after(LONG)).await;
    s.operate(Action::Park, &["m"]).await;
    s.is_parked("m", Cause::Operator).await;
    s.nothing_is_due().await;
    s.operate(Action::Unpark, &["m"]).await;
    let again = s.claim_one().await;
    assert_eq!((again.attempt, again.generation), (2, 0));
}

/// A person's word that there is nothing to do settles the record.
pub async fn a_message_skipped_by_hand_is_dealt_with(s: Subject) {
    one_of_each(&s).await;
    for id in ["received", "later", "failed", "parked"] {
        assert_eq!(s.operate(Action::Skip, &[id]).await.changed, 1, "{id}");
        let skipped = State::SkippedDuplicate;
        assert_eq!(s.state(id).await, (skipped, Some(Cause::Operator)));
        let record = s.record(id).await.expect("a record");
        assert!(matches!(record.state, semel_core::State::Settled(_)));
        assert_eq!(record.fingerprint, s.message(id).fingerprint());
        assert_eq!(s.receive_one(s.message(id)).await, duplicate(skipped));
    }
    s.nothing_is_due().await;
}

/// A dry run says what would happen, and nothing does.
pub async fn a_dry_run_predicts_and_changes_nothing(s: Subject) {
    one_of_each(&s).await;
    s.receive_one(s.message_of("done", "another payload")).await;
    let before = states(&s).await;
    for action in [
        Action::Park,
        Action::Replay { rebuild: false },
        Action::Unpark,
        Action::Retry { new_key: false },
        Action::Skip,
    ] {
        let mut operation = s.operation(action, Selection::default());
        operation.dry_run = true;
        let told = s.operate_as(operation).await;
        assert_eq!(states(&s).await, before, "{action:?}");
        assert!(told.changed > 0, "{action:?}");
        assert_eq!(told.sample.len() as u64, told.changed.min(10));
    }
    assert_eq!(s.audit().await, []);
    let mut operation = s.operation(Action::Retry { new_key: false }, Selection::default());
    operation.dry_run = true;
    let mut told = s.operate_as(operation.clone()).await;
    operation.dry_run = false;
    let mut done = s.operate_as(operation).await;
    for report in [&mut told, &mut done] {
        report
            .sample
            .sort_by_key(|identity| identity.key().to_string());
    }
    assert_eq!(told, done);
    assert_eq!((done.changed, done.conflicts), (4, 1));
}

/// Who did what to which messages, and why.
pub async fn every_operation_leaves_a_line_in_the_audit(s: Subject) {
    s.received(&["a", "b"]).await;
    s.operate(Action::Park, &["a", "b"]).await;
    s.operate(Action::Unpark, &["a"]).await;
    let [unpark, park] = <[_; 2]>::try_from(s.audit().await).expect("two lines");
    assert_eq!(
        (park.by.as_str(), park.verb.as_str()),
        ("the suite", "inbox test")
    );
    assert_eq!(
        (park.action.as_str(), unpark.action.as_str()),
        ("park", "unpark")
    );
    assert_eq!((park.changed, unpark.changed), (2, 1));
    assert_eq!(park.reason.as_deref(), Some("INC-7"));
    assert_eq!(park.selection, by_ids(&["a", "b"]).describe());
    assert!(park.at <= unpark.at);
    assert_eq!(s.store().audit(1).await.expect("an answer").len(), 1);
}

/// A message's own history says who decided.
pub async fn an_operators_hand_is_in_the_history_of_the_message(s: Subject) {
    s.received(&["m"]).await;
    s.operate(Action::Park, &["m"]).await;
    let transitions = s.detail("m").await.expect("known").transitions;
    let parked = transitions.iter().find(|t| t.to == State::Parked);
    let parked = parked.expect("a transition");
    assert_eq!(parked.cause, Some(Cause::Operator));
    let by = parked.detail.as_deref().unwrap_or_default();
    assert!(by.contains("the suite"), "{by:?}");
}

/// Everything that a selection sets must hold.
pub async fn a_selection_narrows_by_everything_it_sets(s: Subject) {
    let other = s.clone().of_tenant("another");
    s.stored(vec![s.in_lane("x", "a"), s.in_lane("y", "b")])
        .await;
    s.pass(std::time::Duration::from_millis(20)).await;
    other.stored(vec![other.in_lane("x", "c")]).await;
    let jobs = s.claim().await;
    s.finish(&jobs[0], parked()).await;
    s.finish(&jobs[1], terminal()).await;
    s.finish(&jobs[2], terminal()).await;
    for (select, expected) in selections(jobs[2].received_at) {
        let mut operation = s.operation(Action::Retry { new_key: false }, select);
        operation.dry_run = true;
        let words = operation.select.describe();
        let report: Report = s.operate_as(operation).await;
        assert_eq!(report.changed, expected, "{words}");
    }
}

/// Selections of two messages of one tenant and, since this moment, one of another; and how many each means.
fn selections(since: semel_core::Timestamp) -> Vec<(Selection, u64)> {
    let all = Selection::default();
    vec![
        (
            Selection {
                tenant: Some("another".to_owned()),
                ..all.clone()
            },
            1,
        ),
        (
            Selection {
                lane: Some(key("x")),
                ..all.clone()
            },
            2,
        ),
        (
            Selection {
                cause: Some(Cause::Terminal),
                ..all.clone()
            },
            2,
        ),
        (
            Selection {
                states: vec![State::Parked],
                ..all.clone()
            },
            1,
        ),
        (
            Selection {
                from: Some(since),
                ..all.clone()
            },
            1,
        ),
        (
            Selection {
                until: Some(since),
                ..all.clone()
            },
            2,
        ),
        (
            Selection {
                lane: Some(key("x")),
                until: Some(since),
                ..all.clone()
            },
            1,
        ),
        (
            Selection {
                ids: vec![key("a")],
                lane: Some(key("y")),
                ..all.clone()
            },
            0,
        ),
        (all, 3),
    ]
}

/// What arrived or changed after the look is left alone, also if it stands as it did then.
pub async fn what_changed_after_the_look_is_left_alone(s: Subject) {
    s.processed(&["done"]).await;
    for id in ["again", "before"] {
        park(&s, id).await;
    }
    s.received(&["ran"]).await;
    let look = s.entry("ran").await.received_at;
    s.pass(AWHILE).await;
    s.process_all().await;
    s.operate(Action::Retry { new_key: false }, &["again"])
        .await;
    let job = s.claim_one().await;
    s.finish(&job, parked()).await;
    park(&s, "after").await;
    let all = ["done", "ran", "before", "again", "after"];
    for (action, ids, expected) in [
        (Action::Replay { rebuild: false }, &[][..], "done"),
        (Action::Replay { rebuild: false }, &all[..], "done"),
        (Action::Retry { new_key: false }, &[][..], "before"),
        (Action::Retry { new_key: false }, &all[2..], "before"),
    ] {
        let select = Selection {
            unchanged_since: Some(look),
            ..by_ids(ids)
        };
        let mut operation = s.operation(action, select);
        operation.dry_run = true;
        let report = s.operate_as(operation).await;
        assert_eq!(report.sample, [s.identity(expected)], "{action:?}");
    }
}

async fn park(s: &Subject, id: &str) {
    s.received(&[id]).await;
    let job = s.claim_one().await;
    s.finish(&job, parked()).await;
}

/// Another consumer's messages are none of its business.
pub async fn an_operation_touches_only_its_own_consumer(s: Subject) {
    let other = s.beside("-other", 1);
    for s in [&s, &other] {
        s.received(&["m"]).await;
    }
    s.operate_as(s.operation(Action::Park, Selection::default()))
        .await;
    s.is("m", State::Parked).await;
    other.is("m", State::Received).await;
}

/// An id that nobody knows changes nothing and is no error; more ids than the limit are.
pub async fn a_selection_of_ids_is_bounded(s: Subject) {
    let report = s
        .operate(Action::Retry { new_key: false }, &["nobody"])
        .await;
    assert_eq!(report, Report::default());
    let ids = (0..=SELECT_IDS_MAX).map(|n| key(&format!("m-{n}")));
    let select = Selection {
        ids: ids.collect(),
        ..Selection::default()
    };
    let refused = s
        .inbox()
        .operate(s.operation(Action::Retry { new_key: false }, select))
        .await;
    refused.expect_err("one id too many");
}

/// Retried by hand before its time, a message does not wait for it.
pub async fn a_retry_by_hand_does_not_wait(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    s.finish(&job, retry_after(LONG)).await;
    s.operate(Action::Retry { new_key: false }, &["m"]).await;
    assert_eq!(id(&s.claim_one().await), "m");
}
