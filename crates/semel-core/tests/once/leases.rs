//! Leases: renewed while the run goes on, and lost when they cannot be.

use std::time::Duration;

use semel_core::once::{Error, Recorded, Run};
use semel_core::{EventKind, OnFailure, OnUnknown, Once, Policy, State, Store};

use crate::support::effects::Gate;
use crate::support::faulty::Fault;
use crate::support::{Effects, Verb, identity, lease, operation, record, state, store};

async fn sleep(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_while_the_run_goes_on() {
    let store = store();
    let once = Once::on(store.clone()).with_policy(lease(100));
    let call = tokio::spawn(operation(&once, "k").run(async |run: Run| {
        sleep(600).await;
        Ok::<_, String>(run.is_lost())
    }));
    for _ in 0..59 {
        sleep(10).await;
        assert_eq!(state(store.beneath(), "k").await, "running");
    }
    let answer = call.await.unwrap().unwrap();
    assert_eq!((answer.value, answer.recorded), (false, Recorded::Settled));
    assert!(store.calls(Verb::Renew) >= 15, "every third of the lease");
    assert_eq!(store.history(identity("k")).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_short_run_renews_nothing() {
    let store = store();
    let once = Once::on(store.clone()).with_policy(lease(300));
    let run = async |_| {
        sleep(99).await;
        Ok::<_, String>(())
    };
    operation(&once, "k").run(run).await.unwrap();
    assert_eq!(store.calls(Verb::Renew), 0);
}

#[tokio::test(start_paused = true)]
async fn a_lease_survives_one_renewal_that_fails() {
    let store = store();
    let once = Once::on(store.clone()).with_policy(lease(300));
    store.set(Verb::Renew, Fault::Away);
    let call = tokio::spawn(operation(&once, "k").run(async |run: Run| {
        sleep(1_000).await;
        Ok::<_, String>(run.is_lost())
    }));
    store.called(Verb::Renew, 1).await;
    store.heal(Verb::Renew);
    let answer = call.await.unwrap().unwrap();
    assert_eq!((answer.value, answer.recorded), (false, Recorded::Settled));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_lost_its_lease_is_told_and_its_result_is_late() {
    let store = store();
    let once = Once::on(store.clone()).with_policy(lease(90));
    store.set(Verb::Renew, Fault::Away);
    let end = Gate::closed();
    let call = {
        let end = end.clone();
        tokio::spawn(operation(&once, "k").run(async move |run: Run| {
            end.pass().await;
            Ok::<_, String>(run.is_lost())
        }))
    };
    sleep(200).await;
    assert_eq!(state(store.beneath(), "k").await, "unknown");
    end.open();

    let answer = call.await.unwrap().unwrap();
    assert!(answer.value, "the run was told");
    assert_eq!(answer.recorded, Recorded::Late);
    assert_eq!(state(store.beneath(), "k").await, "unknown");
    let history = store.history(identity("k")).await.unwrap();
    assert!(matches!(
        history.last().unwrap().kind,
        EventKind::LateOutcome(_)
    ));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_was_taken_over_changes_nothing_any_more() {
    let (store, effects) = (store(), Effects::default());
    let rerun = Policy {
        on_unknown: OnUnknown::Rerun,
        ..lease(90)
    };
    let once = Once::on(store.clone()).with_policy(rerun);
    for meaning in [OnFailure::Keep, OnFailure::Release, OnFailure::Unknown] {
        let key = format!("{meaning:?}");
        let (begun, end) = (Gate::closed(), Gate::closed());
        store.set(Verb::Renew, Fault::Away);
        let slow = {
            let (begun, end) = (begun.clone(), end.clone());
            let run = async move |_| {
                begun.open();
                end.pass().await;
                Err::<u32, _>("slow".to_owned())
            };
            tokio::spawn(operation(&once, &key).run_classified(move |_| meaning, run))
        };
        begun.pass().await;
        sleep(100).await;
        store.heal(Verb::Renew);
        let counted = effects.clone();
        let run = async move |_| Ok::<_, String>(counted.happen());
        let second = operation(&once, &key).run(run).await.unwrap();
        assert_eq!((second.attempt, second.recorded), (2, Recorded::Settled));

        end.open();
        let Err(Error::Failed { recorded, .. }) = slow.await.unwrap() else {
            panic!("expected the slow run's own error");
        };
        assert_eq!(recorded, Recorded::Late, "{key}");
        let record = record(store.beneath(), &key).await.unwrap();
        assert_eq!(
            (record.fence, record.state.name()),
            (second.fence, "succeeded")
        );
    }
    assert_eq!(effects.count(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_settled_record_says_how_long_it_is_kept() {
    let store = store();
    let once = Once::on(store.clone());
    operation(&once, "k")
        .run(async |_| Ok::<_, String>(()))
        .await
        .unwrap();
    let record = record(store.beneath(), "k").await.unwrap();
    let State::Settled(settled) = &record.state else {
        panic!("expected a settled record, found {record:?}");
    };
    let kept = settled.expires_at.since(settled.at);
    assert_eq!(kept, Policy::default().retention.keep());
}
