//! Many operations at once.

use std::time::Duration;

use semel_core::once::{Answer, BatchItem, Error, Recorded, Refusal, Run};
use semel_core::store::BATCH_MAX;
use semel_core::{Fingerprint, OnFailure, OnUnknown, Once, Policy};

use crate::support::faulty::Fault;
use crate::support::{Effects, Ran, Verb, identity, lease, operation, state, store};

fn item(key: &str, input: u32) -> BatchItem<u32> {
    BatchItem {
        identity: identity(key),
        fingerprint: Fingerprint::of(&input).unwrap(),
        input,
    }
}

fn items(count: u32) -> Vec<BatchItem<u32>> {
    (0..count).map(|n| item(&format!("item-{n}"), n)).collect()
}

/// Inputs that no range of a test reaches.
const FAILS: u32 = u32::MAX;
const PANICS: u32 = u32::MAX - 1;

/// Doubles every input but those two. Counts effects.
async fn double(
    once: &Once,
    items: Vec<BatchItem<u32>>,
    concurrency: usize,
    effects: &Effects,
) -> Vec<Ran> {
    let effects = effects.clone();
    let run = move |_, input: u32| {
        let effects = effects.clone();
        async move {
            effects.begin();
            tokio::time::sleep(Duration::from_millis(10)).await;
            effects.end();
            assert_ne!(input, PANICS);
            match input {
                FAILS => Err("unlucky".to_owned()),
                _ => Ok(input * 2),
            }
        }
    };
    let keep = |_: &String| OnFailure::Keep;
    once.run_batch(items, concurrency, keep, run).await
}

fn values(answers: &[Ran]) -> Vec<u32> {
    let value = |answer: &Ran| answer.as_ref().map(|answer| answer.value).unwrap();
    answers.iter().map(value).collect()
}

fn replayed(answers: &[Ran]) -> Vec<bool> {
    let replayed = |answer: &Answer<u32>| answer.replayed;
    answers.iter().flatten().map(replayed).collect()
}

#[tokio::test(start_paused = true)]
async fn there_is_one_answer_per_item_in_order() {
    let (once, effects) = (Once::on(store()), Effects::default());
    let answers = double(&once, items(10), 4, &effects).await;
    assert_eq!(values(&answers), (0..10).map(|n| n * 2).collect::<Vec<_>>());
    assert_eq!(effects.count(), 10);
    assert!(!replayed(&answers).contains(&true));
}

#[tokio::test(start_paused = true)]
async fn an_empty_batch_has_no_answers_and_asks_nothing() {
    let (store, effects) = (store(), Effects::default());
    let answers = double(&Once::on(store.clone()), Vec::new(), 4, &effects).await;
    assert!(answers.is_empty());
    assert_eq!(store.calls(Verb::Claim), 0);
}

#[tokio::test(start_paused = true)]
async fn items_that_ran_before_are_replayed() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    double(&once, items(5), 4, &effects).await;
    let answers = double(&once, items(8), 4, &effects).await;
    assert_eq!(
        replayed(&answers),
        [true, true, true, true, true, false, false, false]
    );
    assert_eq!((effects.count(), store.calls(Verb::Claim)), (8, 2));
}

#[tokio::test(start_paused = true)]
async fn of_two_items_with_one_identity_the_first_runs_and_the_second_gets_its_result() {
    let (once, effects) = (Once::on(store()), Effects::default());
    let twice = vec![
        item("a", 1),
        item("b", 2),
        item("a", 1),
        item("b", 2),
        item("a", 1),
    ];
    let answers = double(&once, twice, 1, &effects).await;
    assert_eq!(values(&answers), [2, 4, 2, 4, 2]);
    assert_eq!(replayed(&answers), [false, false, true, true, true]);
    assert_eq!(effects.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_failure_one_panic_and_one_mismatch_do_not_sink_the_rest() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    let mixed = vec![
        item("fine", 1),
        item("fails", FAILS),
        item("panics", PANICS),
        item("fine", 2),
        item("also-fine", 3),
    ];
    let answers = double(&once, mixed, 8, &effects).await;
    assert_eq!(answers.len(), 5);
    assert_eq!(answers[0].as_ref().unwrap().value, 2);
    let Err(Error::Failed {
        error, recorded, ..
    }) = &answers[1]
    else {
        panic!("expected a failure, found {:?}", answers[1]);
    };
    assert_eq!((error.as_str(), *recorded), ("unlucky", Recorded::Settled));
    assert!(matches!(
        &answers[2],
        Err(Error::Refused(Refusal::Panicked))
    ));
    assert!(matches!(
        &answers[3],
        Err(Error::Refused(Refusal::KeyReused))
    ));
    assert_eq!(answers[4].as_ref().unwrap().value, 6);
    assert_eq!(effects.count(), 4);
    for (key, expected) in [
        ("fine", "succeeded"),
        ("fails", "failed"),
        ("panics", "unknown"),
        ("also-fine", "succeeded"),
    ] {
        assert_eq!(state(store.beneath(), key).await, expected, "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_gives_its_place_to_the_next_item() {
    let (once, effects) = (Once::on(store()), Effects::default());
    let answers = double(
        &once,
        vec![item("panics", PANICS), item("fine", 1)],
        1,
        &effects,
    )
    .await;
    assert!(matches!(
        &answers[0],
        Err(Error::Refused(Refusal::Panicked))
    ));
    assert_eq!(answers[1].as_ref().unwrap().value, 2);
}

#[tokio::test(start_paused = true)]
async fn no_more_items_run_at_once_than_asked_for() {
    for (concurrency, at_once) in [(1, 1), (3, 3), (1_000, 40), (0, 1)] {
        let (once, effects) = (Once::on(store()), Effects::default());
        let answers = double(&once, items(40), concurrency, &effects).await;
        assert_eq!(values(&answers).len(), 40);
        assert_eq!(effects.at_once_max(), at_once, "{concurrency}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_leases_of_items_that_wait_for_their_turn_are_renewed() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone()).with_policy(crate::support::lease(60));
    let answers = double(&once, items(50), 1, &effects).await;
    let settled = |answer: &Answer<u32>| answer.recorded == Recorded::Settled;
    assert!(answers.iter().flatten().all(settled));
    assert_eq!((values(&answers).len(), effects.count()), (50, 50));
}

#[tokio::test(start_paused = true)]
async fn a_batch_above_the_store_s_limit_is_claimed_in_parts() {
    let (store, effects) = (store(), Effects::default());
    let count = u32::try_from(BATCH_MAX).unwrap() * 2 + 1;
    let answers = double(&Once::on(store.clone()), items(count), 500, &effects).await;
    let expected: Vec<_> = (0..count).map(|n| n * 2).collect();
    assert_eq!(values(&answers), expected);
    assert_eq!((effects.count(), store.calls(Verb::Claim)), (count, 3));
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_refused_as_a_whole_when_the_store_is_away() {
    let (store, effects) = (store(), Effects::default());
    store.set(Verb::Claim, Fault::Away);
    let answers = double(&Once::on(store), items(3), 4, &effects).await;
    assert_eq!(answers.len(), 3);
    let refused = |answer: &Ran| matches!(answer, Err(Error::Refused(Refusal::Store(_))));
    assert!(answers.iter().all(refused));
    assert_eq!(effects.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_batch_and_a_single_call_share_their_operations() {
    let (once, effects) = (Once::on(store()), Effects::default());
    let batch = {
        let (once, effects) = (once.clone(), effects.clone());
        tokio::spawn(async move { double(&once, vec![item("a", 1)], 4, &effects).await })
    };
    let fingerprint = Fingerprint::of(&1_u32).unwrap();
    tokio::time::sleep(Duration::from_millis(5)).await;
    let single = once.operation(identity("a"), fingerprint);
    let single: Ran = single.run(async |_| Ok(99)).await;
    let single = single.unwrap();
    assert_eq!((single.value, single.replayed), (2, true));
    assert_eq!(values(&batch.await.unwrap()), [2]);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_lost_its_lease_while_it_waited_for_its_turn_is_not_run() {
    let store = store();
    store.set(Verb::Renew, Fault::Away);
    let once = Once::on(store.clone()).with_policy(lease(100));
    let item = |key: &str| BatchItem {
        identity: identity(key),
        fingerprint: Fingerprint::none(),
        input: key.to_owned(),
    };
    let effects = Effects::default();
    let counted = effects.clone();
    let run = move |_: Run, key: String| {
        let effects = counted.clone();
        async move {
            match key.as_str() {
                "slow" => tokio::time::sleep(Duration::from_secs(1)).await,
                _ => drop(effects.happen()),
            }
            Ok::<_, String>(key)
        }
    };
    let items = vec![item("slow"), item("waiting")];
    let batch = tokio::spawn(async move {
        let keep = |_: &String| OnFailure::Keep;
        once.run_batch(items, 1, keep, run).await
    });
    // Somebody else finds the lease ended, takes over and is done before the turn comes.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let policy = Policy {
        on_unknown: OnUnknown::Rerun,
        ..lease(10_000)
    };
    let rival = Once::on(store.clone()).with_policy(policy);
    let other = operation(&rival, "waiting").run(async |_| Ok::<_, String>("rival".to_owned()));
    assert_eq!(other.await.unwrap().value, "rival");
    let answers = batch.await.unwrap();
    assert_eq!(effects.count(), 0, "the item ran without a lease");
    assert_eq!(answers[1].as_ref().unwrap().value, "rival");
}
