//! Calls that are the same operation, one after another and at the same time.

use std::collections::HashMap;
use std::time::Duration;

use semel_core::once::{Error, Recorded, Refusal};
use semel_core::{Fingerprint, InProgress, MemoryStore, OnFailure, Once, Policy, Retention};
use tokio::time::Instant;

use crate::support::effects::Gate;
use crate::support::{Effects, Ran, identity, lease, operation, record, state, store};

const MS: fn(u64) -> Duration = Duration::from_millis;

#[tokio::test(start_paused = true)]
async fn a_second_call_replays_the_first() {
    let (once, effects) = (Once::on(store()), Effects::default());
    let call = async || -> Ran {
        let effects = effects.clone();
        let run = async move |_| Ok(effects.happen());
        operation(&once, "k").run(run).await
    };
    let (first, again) = (call().await.unwrap(), call().await.unwrap());
    assert_eq!((first.value, first.replayed), (1, false));
    assert_eq!((again.value, again.replayed), (1, true));
    assert_eq!((again.fence, again.attempt), (first.fence, 1));
    assert_eq!(
        (first.recorded, again.recorded),
        (Recorded::Settled, Recorded::Settled)
    );
    assert_eq!(effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn other_keys_and_other_tenants_run_for_themselves() {
    let (once, effects) = (Once::on(store()), Effects::default());
    for (tenant, scope, key) in [
        ("acme", "payments@1", "a"),
        ("acme", "payments@1", "b"),
        ("acme", "payments@2", "a"),
        ("umbrella", "payments@1", "a"),
    ] {
        let identity = semel_core::Identity::parse(tenant, scope, key).unwrap();
        let effects = effects.clone();
        let run = async move |_| Ok::<_, String>(effects.happen());
        let answer = once.operation(identity, Fingerprint::none()).run(run).await;
        assert!(!answer.unwrap().replayed, "{tenant} {scope} {key}");
    }
    assert_eq!(effects.count(), 4);
}

/// Calls one operation from `callers` tasks at once; the run goes on for a while.
async fn crowd(once: &Once, callers: usize) -> (Vec<Ran>, Effects) {
    let effects = Effects::default();
    let calls = (0..callers).map(|_| {
        let (operation, effects) = (operation(once, "crowd"), effects.clone());
        tokio::spawn(operation.run(async move |_| {
            let number = effects.begin();
            tokio::time::sleep(MS(50)).await;
            effects.end();
            Ok(number)
        }))
    });
    let calls: Vec<_> = calls.collect();
    let mut answers = Vec::with_capacity(callers);
    for call in calls {
        answers.push(call.await.unwrap());
    }
    (answers, effects)
}

fn assert_one_ran(answers: Vec<Ran>, effects: &Effects) {
    let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
    assert!(answers.iter().all(|answer| answer.value == 1));
    assert!(answers.iter().all(|answer| answer.fence.get() == 1));
    assert_eq!(answers.iter().filter(|answer| !answer.replayed).count(), 1);
    assert_eq!(effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn hundreds_of_callers_at_once_cause_one_run_and_all_get_its_result() {
    let (answers, effects) = crowd(&Once::on(store()), 500).await;
    assert_one_ran(answers, &effects);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn hundreds_of_callers_on_many_threads_cause_one_run_and_all_get_its_result() {
    let patient = Policy {
        in_progress: InProgress::Wait(Duration::from_secs(60)),
        ..Policy::default()
    };
    let once = Once::new(MemoryStore::new()).with_policy(patient);
    let (answers, effects) = crowd(&once, 300).await;
    assert_one_ran(answers, &effects);
}

/// Starts a run of `key` that takes `ms`, and returns when it has begun.
async fn begin(once: &Once, key: &str, ms: u64) -> tokio::task::JoinHandle<Ran> {
    let begun = Gate::closed();
    let signal = begun.clone();
    let first = tokio::spawn(operation(once, key).run(async move |_| {
        signal.open();
        tokio::time::sleep(MS(ms)).await;
        Ok(1)
    }));
    begun.pass().await;
    first
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_is_woken_when_the_run_in_its_process_lands() {
    let once = Once::on(store());
    let started = Instant::now();
    let first = begin(&once, "k", 100).await;
    let duplicate: Ran = operation(&once, "k").run(async |_| Ok(2)).await;
    assert_eq!(
        started.elapsed(),
        MS(100),
        "no look at the store in between hits this"
    );
    assert_eq!(duplicate.unwrap().value, 1);
    assert!(!first.await.unwrap().unwrap().replayed);
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_in_another_process_finds_the_result_by_looking() {
    let store = store();
    let (here, elsewhere) = (Once::on(store.clone()), Once::on(store));
    let started = Instant::now();
    let first = begin(&here, "k", 100).await;
    let duplicate: Ran = operation(&elsewhere, "k").run(async |_| Ok(2)).await;
    let duplicate = duplicate.unwrap();
    assert_eq!((duplicate.value, duplicate.replayed), (1, true));
    assert!(
        started.elapsed() <= MS(100 + 250),
        "{:?}",
        started.elapsed()
    );
    first.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_that_may_not_wait_is_refused_at_once() {
    let once = Once::on(store()).with_policy(Policy {
        in_progress: InProgress::Refuse,
        ..Policy::default()
    });
    let first = begin(&once, "k", 100).await;
    let asked = Instant::now();
    let duplicate: Ran = operation(&once, "k").run(async |_| Ok(2)).await;
    let Err(Error::Refused(Refusal::InProgress { retry_after })) = duplicate else {
        panic!("expected a refusal, found {duplicate:?}");
    };
    assert_eq!(asked.elapsed(), Duration::ZERO);
    assert_eq!(retry_after, MS(1_000));
    assert_eq!(first.await.unwrap().unwrap().value, 1);
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_whose_patience_ends_is_told_when_to_ask_again() {
    let once = Once::on(store()).with_policy(Policy {
        in_progress: InProgress::Wait(MS(700)),
        ..lease(400)
    });
    let first = begin(&once, "k", 5_000).await;
    let asked = Instant::now();
    let duplicate: Ran = operation(&once, "k").run(async |_| Ok(2)).await;
    let Err(Error::Refused(Refusal::InProgress { retry_after })) = duplicate else {
        panic!("expected a refusal, found {duplicate:?}");
    };
    assert_eq!(asked.elapsed(), MS(700));
    assert!((MS(5)..=MS(400)).contains(&retry_after), "{retry_after:?}");
    assert_eq!(first.await.unwrap().unwrap().value, 1);
}

#[tokio::test(start_paused = true)]
async fn a_released_run_lets_one_waiting_duplicate_run() {
    let (once, effects) = (Once::on(store()), Effects::default());
    let calls: Vec<_> = (0..10)
        .map(|_| {
            let effects = effects.clone();
            let run = async move |_| {
                tokio::time::sleep(MS(20)).await;
                match effects.happen() {
                    1 => Err("busy".to_owned()),
                    number => Ok(number),
                }
            };
            let released = |_: &String| OnFailure::Release;
            tokio::spawn(operation(&once, "k").run_classified(released, run))
        })
        .collect();
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.unwrap());
    }
    let failed = answers.iter().filter(|answer| answer.is_err()).count();
    let values: Vec<_> = answers.iter().flatten().map(|a| a.value).collect();
    assert_eq!(failed, 1, "only the caller whose run it was");
    assert_eq!(values, [2; 9]);
    assert_eq!(effects.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn another_request_under_the_key_is_refused_in_every_state_and_runs_nothing() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    let running = begin(&once, "running", 60_000).await;
    let settle: Ran = operation(&once, "settled").run(async |_| Ok(1)).await;
    settle.unwrap();
    let undecided = |_: &String| OnFailure::Unknown;
    let fail = async |_| Err::<u32, _>("timed out".to_owned());
    let mark = operation(&once, "unknown").run_classified(undecided, fail);
    mark.await.unwrap_err();

    let other = Fingerprint::of("another request").unwrap();
    for (key, expected) in [
        ("running", "running"),
        ("settled", "succeeded"),
        ("unknown", "unknown"),
    ] {
        let effects = effects.clone();
        let run = async move |_| Ok(effects.happen());
        let refused: Ran = once.operation(identity(key), other).run(run).await;
        assert!(
            matches!(refused, Err(Error::Refused(Refusal::KeyReused))),
            "{key}: {refused:?}"
        );
        assert_eq!(state(store.beneath(), key).await, expected);
    }
    assert_eq!(effects.count(), 0);
    assert_eq!(running.await.unwrap().unwrap().value, 1);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_not_to_be_kept_is_not_replayed_and_not_run_again() {
    let (once, effects) = (Once::on(store()), Effects::default());
    let not_kept = Policy {
        keep_result: false,
        ..Policy::default()
    };
    let too_large = Policy {
        body_bytes_max: 4,
        ..Policy::default()
    };
    for (key, policy) in [("not-kept", not_kept), ("too-large", too_large)] {
        let call = async || {
            let effects = effects.clone();
            let run = async move |_| {
                effects.happen();
                Ok::<_, String>("12345".to_owned())
            };
            operation(&once, key).with_policy(policy).run(run).await
        };
        assert_eq!(call().await.unwrap().value, "12345");
        let again = call().await;
        assert!(matches!(again, Err(Error::NotKept { .. })), "{again:?}");
    }
    assert_eq!(effects.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_just_fits_is_kept() {
    let policy = Policy {
        body_bytes_max: 4,
        ..Policy::default()
    };
    let once = Once::on(store()).with_policy(policy);
    for replayed in [false, true] {
        let run = async |_| Ok::<_, String>("12".to_owned());
        let answer = operation(&once, "k").run(run).await.unwrap();
        assert_eq!((answer.value.as_str(), answer.replayed), ("12", replayed));
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_without_a_json_form_is_not_kept_but_given_to_its_caller() {
    let once = Once::on(store());
    let run = async |_| Ok::<_, String>(HashMap::from([((1_u8, 2_u8), 3_u8)]));
    let first = operation(&once, "k").run(run).await.unwrap();
    assert_eq!(first.value[&(1, 2)], 3);
    let again = operation(&once, "k").run(run).await;
    assert!(matches!(again, Err(Error::NotKept { .. })), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_result_of_another_type_is_an_error_and_not_run_again() {
    let (once, effects) = (Once::on(store()), Effects::default());
    let text = async |_| Ok::<_, String>("text".to_owned());
    operation(&once, "k").run(text).await.unwrap();
    let counted = effects.clone();
    let number: Ran = operation(&once, "k")
        .run(async move |_| Ok(counted.happen()))
        .await;
    assert!(matches!(number, Err(Error::Undecodable(_))), "{number:?}");
    assert_eq!(effects.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_operation_runs_again_when_its_retention_has_ended() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone()).with_policy(Policy {
        retention: Retention::delete_after(MS(1_000)).unwrap(),
        ..Policy::default()
    });
    let call = async || {
        let effects = effects.clone();
        let run = async move |_| Ok::<_, String>(effects.happen());
        operation(&once, "k").run(run).await.unwrap()
    };
    call().await;
    tokio::time::advance(MS(999)).await;
    assert!(call().await.replayed);
    tokio::time::advance(MS(1)).await;
    assert!(record(store.beneath(), "k").await.is_none());
    let again = call().await;
    assert_eq!((again.value, again.replayed, again.attempt), (2, false, 1));
}
