//! Lanes when plans change, workers are lost under `hold`, and failures have many behind them.

use semel_core::inbox::lanes::STEP_MAX;
use semel_core::inbox::order::GapThen;
use semel_core::inbox::{
    Action, Baseline, Cause, Finished, OnGap, OnTerminal, Order, Selection, State, UnknownPolicy,
};

use super::subject::Subject;
use super::values::{AWHILE, LONG, only, short_lease, terminal};

const fn by_arrival(on_terminal: OnTerminal) -> Order {
    Order::Arrival { on_terminal }
}

const fn by_sequence(on_terminal: OnTerminal) -> Order {
    Order::Sequence {
        baseline: Baseline::After(0),
        on_gap: OnGap {
            deadline: LONG,
            then: GapThen::Hold,
        },
        on_terminal,
    }
}

async fn versions(s: &Subject, versions: &[u64]) {
    s.receive(versions.iter().map(|n| s.version("a", *n)).collect())
        .await;
}

/// When a file gives up the order, nothing that was acknowledged stays behind.
pub async fn an_order_that_is_given_up_strands_nothing(s: Subject) {
    for (suffix, order) in [
        ("-arrival", by_arrival(OnTerminal::Park)),
        ("-sequence", by_sequence(OnTerminal::Park)),
    ] {
        let s = s.beside(suffix, 1).ordered(order);
        versions(&s, &[1, 2, 5]).await;
        let head = s.claim_one().await;
        s.finish(&head, terminal()).await;
        let s = s.ordered(Order::None);
        while s.advance_lanes().await > 0 {}
        let mut ran = s.process_all().await;
        ran.sort_unstable();
        assert_eq!(ran, ["a-2", "a-5"], "{suffix}");
    }
}

/// When a consumer that went by versions goes by arrival, no version is missing any more.
pub async fn versions_that_waited_run_when_arrival_decides(s: Subject) {
    let s = s.ordered(by_sequence(OnTerminal::Park));
    versions(&s, &[3, 2, 5]).await;
    s.nothing_is_due().await;
    let s = s.ordered(by_arrival(OnTerminal::Park));
    while s.advance_lanes().await > 0 {}
    assert_eq!(s.process_all().await, ["a-2", "a-3", "a-5"]);
}

/// A lost head that is held stops its lane, or its lane goes on without it, also in order of arrival.
pub async fn a_lost_head_that_is_held_stops_or_passes_its_lane(s: Subject) {
    for (suffix, order) in [
        ("-arrival-park", by_arrival(OnTerminal::Park)),
        ("-arrival-advance", by_arrival(OnTerminal::Advance)),
        ("-sequence-park", by_sequence(OnTerminal::Park)),
        ("-sequence-advance", by_sequence(OnTerminal::Advance)),
    ] {
        let s = s.beside(suffix, 1).ordered(order);
        versions(&s, &[1, 2]).await;
        let mut ask = s.ask(10);
        (ask.lease, ask.on_unknown) = (short_lease(), UnknownPolicy::Hold);
        only(s.claim_as(ask.clone()).await.jobs);
        s.pass(AWHILE).await;
        let mut next = s.claim_as(ask.clone()).await.jobs;
        s.is_parked("a-1", Cause::Unknown).await;
        s.advance_lanes().await;
        next.extend(s.claim_as(ask).await.jobs);
        match order.on_terminal() {
            OnTerminal::Park => {
                assert!(next.is_empty(), "{suffix}");
                s.is_parked("a-2", Cause::BehindFailed).await;
            }
            OnTerminal::Advance => assert_eq!(super::values::id(&only(next)), "a-2", "{suffix}"),
        }
    }
}

/// The owner of a message that was held knows what happened after all, and its lane goes on.
pub async fn an_owner_whose_message_was_held_may_finish(s: Subject) {
    let s = s.ordered(by_arrival(OnTerminal::Park));
    versions(&s, &[1, 2]).await;
    let mut ask = s.ask(10);
    (ask.lease, ask.on_unknown) = (short_lease(), UnknownPolicy::Hold);
    let lost = only(s.claim_as(ask.clone()).await.jobs);
    s.pass(AWHILE).await;
    assert!(s.claim_as(ask).await.jobs.is_empty());
    s.is_parked("a-1", Cause::Unknown).await;
    assert_eq!(s.complete(&lost).await, Finished::Done);
    s.is("a-1", State::Completed).await;
    assert_eq!(s.process_all().await, ["a-2"]);
}

/// An old version that is rebuilt leaves its lane where it is: the next version does not wait for those between.
pub async fn a_rebuild_of_an_old_version_leaves_its_lane_where_it_is(s: Subject) {
    let s = s.ordered(Order::Sequence {
        baseline: Baseline::After(9),
        on_gap: OnGap::default(),
        on_terminal: OnTerminal::Park,
    });
    versions(&s, &[10, 11, 12]).await;
    assert_eq!(s.process_all().await.len(), 3);
    let rebuild = Action::Replay { rebuild: true };
    assert_eq!(s.operate(rebuild, &["a-10"]).await.changed, 1);
    assert_eq!(s.process_all().await, ["a-10"]);
    versions(&s, &[13]).await;
    assert_eq!(s.process_all().await, ["a-13"]);
}

/// A dead letter that its lane went on without stays, and the report says why.
pub async fn a_version_that_its_lane_passed_stays_and_says_why(s: Subject) {
    let s = s.ordered(by_sequence(OnTerminal::Advance));
    versions(&s, &[1, 2]).await;
    let head = s.claim_one().await;
    s.finish(&head, terminal()).await;
    assert_eq!(s.process_all().await, ["a-2"]);
    for action in [Action::Retry { new_key: false }, Action::Unpark] {
        let report = s.operate(action, &["a-1"]).await;
        let older = u64::from(action != Action::Unpark);
        assert_eq!(
            (report.changed, report.skipped, report.older),
            (0, 1, older)
        );
    }
    assert_eq!(s.operate(Action::Skip, &["a-1"]).await.changed, 1);
}

/// One commit parks a bounded number of those behind a failure; the rest follows by itself, and all go when the head does.
pub async fn many_behind_a_failure_are_parked_in_bounded_steps(s: Subject) {
    let many = u64::try_from(STEP_MAX).expect("a small number") * 2;
    let s = s.ordered(by_arrival(OnTerminal::Park));
    let messages: Vec<_> = (0..=many).map(|n| s.version("a", n)).collect();
    for batch in messages.chunks(500) {
        s.receive(batch.to_vec()).await;
    }
    let head = s.claim_one().await;
    s.finish(&head, terminal()).await;
    let parked = s.counts().await.parked;
    assert!(parked <= many / 2, "{parked} changed at once");
    while s.advance_lanes().await > 0 {}
    assert_eq!(s.counts().await.parked, many);
    s.nothing_is_due().await;
    s.operate(Action::Retry { new_key: false }, &["a-0"]).await;
    while s.advance_lanes().await > 0 {}
    assert_eq!(s.counts().await.parked, 0);
    assert_eq!(only(s.claim_ids().await), "a-0");
}

/// Retried together, a failed head and a message that ran before its turn run in their order.
pub async fn a_head_is_retried_together_with_what_ran_before_its_turn(s: Subject) {
    let s = s.ordered(by_arrival(OnTerminal::Park));
    versions(&s, &[1, 2, 3]).await;
    let head = s.claim_one().await;
    s.finish(&head, terminal()).await;
    s.operate(Action::Unpark, &["a-2"]).await;
    let early = s.claim_one().await;
    s.finish(&early, super::values::retry_after(LONG)).await;
    let retry = s.operation(Action::Retry { new_key: false }, Selection::default());
    assert!(s.operate_as(retry).await.changed >= 2);
    assert_eq!(s.process_all().await, ["a-1", "a-2", "a-3"]);
}

/// What the owner of a held message brings after a person has skipped it is late, kept, and changes nothing.
pub async fn an_owner_whose_held_message_was_skipped_is_late(s: Subject) {
    s.received(&["m"]).await;
    let mut ask = s.ask(10);
    (ask.lease, ask.on_unknown) = (short_lease(), UnknownPolicy::Hold);
    let lost = only(s.claim_as(ask.clone()).await.jobs);
    s.pass(AWHILE).await;
    assert!(s.claim_as(ask).await.jobs.is_empty());
    s.operate(Action::Skip, &["m"]).await;
    assert_eq!(s.complete(&lost).await, Finished::Lost);
    let attempts = s.detail("m").await.expect("known").attempts;
    assert!(attempts.iter().any(|attempt| attempt.late), "{attempts:?}");
}
