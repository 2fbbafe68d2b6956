//! Runs that fail, cannot tell, or panic.

use semel_core::once::{Error, Finished, Recorded, Refusal, Reply, Run, Settlement};
use semel_core::record::UnknownCause;
use semel_core::{EventKind, OnFailure, Once, Outcome, State, Store};

use crate::support::{Effects, Ran, identity, operation, record, state, store};

/// Fails once and classifies the failure; the record's state and the second call's answer tell the rest.
async fn fail(once: &Once, meaning: OnFailure, effects: &Effects) -> (Recorded, Ran) {
    let call = async || -> Ran {
        let effects = effects.clone();
        let run = async move |_| match effects.happen() {
            1 => Err("declined".to_owned()),
            number => Ok(number),
        };
        let operation = operation(once, "k");
        operation.run_classified(move |_| meaning, run).await
    };
    let Err(Error::Failed {
        error,
        replayed,
        recorded,
    }) = call().await
    else {
        panic!("expected the run's error");
    };
    assert_eq!((error.as_str(), replayed), ("declined", false));
    (recorded, call().await)
}

#[tokio::test(start_paused = true)]
async fn a_kept_failure_is_replayed() {
    let (store, effects) = (store(), Effects::default());
    let (recorded, again) = fail(&Once::on(store.clone()), OnFailure::Keep, &effects).await;
    assert_eq!(recorded, Recorded::Settled);
    assert_eq!(state(store.beneath(), "k").await, "failed");
    let Err(Error::Failed {
        error,
        replayed,
        recorded,
    }) = again
    else {
        panic!("expected the failure, found {again:?}");
    };
    assert_eq!((error.as_str(), replayed), ("declined", true));
    assert_eq!((recorded, effects.count()), (Recorded::Settled, 1));
}

#[tokio::test(start_paused = true)]
async fn a_released_failure_lets_the_next_call_run_as_the_first() {
    let (store, effects) = (store(), Effects::default());
    let (recorded, again) = fail(&Once::on(store.clone()), OnFailure::Release, &effects).await;
    assert_eq!(recorded, Recorded::Released);
    let again = again.unwrap();
    assert_eq!((again.value, again.replayed, again.attempt), (2, false, 1));
    assert_eq!(again.fence.get(), 2);
    let history = store.history(identity("k")).await.unwrap();
    assert_eq!(history.len(), 1);
    assert_eq!(history[0].kind, EventKind::Released);
}

#[tokio::test(start_paused = true)]
async fn an_undecided_failure_is_held() {
    let (store, effects) = (store(), Effects::default());
    let (recorded, again) = fail(&Once::on(store.clone()), OnFailure::Unknown, &effects).await;
    assert_eq!(recorded, Recorded::Unknown);
    let Err(Error::Refused(Refusal::Unknown { fence, cause, .. })) = again else {
        panic!("expected a refusal, found {again:?}");
    };
    assert_eq!((fence.get(), cause), (1, UnknownCause::RunUndecided));
    assert_eq!(effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_panic_leaves_an_unknown_outcome_and_the_caller_is_told() {
    let store = store();
    let once = Once::on(store.clone());
    let before_the_first_await = |_| -> std::future::Ready<Result<u32, String>> { panic!("oh") };
    let later = async |_| -> Result<u32, String> {
        tokio::task::yield_now().await;
        panic!("oh")
    };
    let answers = [
        (
            "early",
            operation(&once, "early").run(before_the_first_await).await,
        ),
        ("late", operation(&once, "late").run(later).await),
    ];
    for (key, answer) in answers {
        assert!(matches!(answer, Err(Error::Refused(Refusal::Panicked))));
        let record = record(store.beneath(), key).await.unwrap();
        let State::Unknown { cause, .. } = record.state else {
            panic!("expected an unknown outcome, found {record:?}");
        };
        assert_eq!(cause, UnknownCause::RunPanicked);

        let again: Ran = operation(&once, key).run(async |_| Ok(1)).await;
        assert!(matches!(
            again,
            Err(Error::Refused(Refusal::Unknown {
                cause: UnknownCause::RunPanicked,
                ..
            }))
        ));
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_the_classifier_counts_as_one_of_the_run() {
    let store = store();
    let once = Once::on(store.clone());
    let fail = async |_| Err::<u32, _>("declined".to_owned());
    let answer = operation(&once, "k")
        .run_classified(|_| panic!("oh"), fail)
        .await;
    assert!(matches!(answer, Err(Error::Refused(Refusal::Panicked))));
    assert_eq!(state(store.beneath(), "k").await, "unknown");
}

#[tokio::test(start_paused = true)]
async fn a_run_knows_its_claim() {
    let once = Once::on(store());
    let run = async |run: semel_core::once::Run| {
        assert_eq!(run.claim().identity, identity("k"));
        assert!(!run.is_lost());
        Ok::<_, String>((run.fence().get(), run.attempt()))
    };
    let answer = operation(&once, "k").run(run).await.unwrap();
    assert_eq!(answer.value, (1, 1));
    assert_eq!((answer.fence.get(), answer.attempt), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_untyped_layer_records_what_the_run_says() {
    let store = store();
    let once = Once::on(store.clone());
    for (key, settlement, recorded, left) in [
        (
            "a",
            Settlement::Settle(Outcome::failed("no")),
            Recorded::Settled,
            "failed",
        ),
        ("b", Settlement::Release, Recorded::Released, "absent"),
        ("c", Settlement::Unknown(None), Recorded::Unknown, "unknown"),
    ] {
        let run = async move |_| Finished {
            value: "for the caller",
            settlement,
        };
        let reply = operation(&once, key).run_raw(run).await.unwrap();
        let Reply::Ran {
            value,
            recorded: found,
            ..
        } = reply
        else {
            panic!("expected a run, found {reply:?}");
        };
        assert_eq!((value, found), ("for the caller", recorded));
        assert_eq!(state(store.beneath(), key).await, left);
    }
    let again = operation(&once, "a").run_raw(async |_| Finished {
        value: "",
        settlement: Settlement::Release,
    });
    let Reply::Replayed(record) = again.await.unwrap() else {
        panic!("expected a replay");
    };
    assert_eq!(record.state.name(), "failed");
}

#[tokio::test(start_paused = true)]
async fn a_panic_before_the_run_s_future_exists_counts_as_one_of_the_run() {
    let store = store();
    let once = Once::on(store.clone());
    let f = |_: Run| -> std::future::Ready<Finished<()>> { panic!("no future") };
    let reply = operation(&once, "k").run_raw(f).await;
    assert!(matches!(reply, Err(Refusal::Panicked)), "{reply:?}");
    let record = record(store.beneath(), "k").await.unwrap();
    let State::Unknown { cause, .. } = record.state else {
        panic!("expected unknown, found {record:?}");
    };
    assert_eq!(cause, UnknownCause::RunPanicked);
}
