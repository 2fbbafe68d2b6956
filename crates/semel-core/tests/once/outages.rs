//! A store that is away, or whose answers are lost: nothing runs twice, and callers are told the truth.

use std::sync::Arc;
use std::time::Duration;

use semel_core::once::{Error, Recorded, Refusal};
use semel_core::record::{Event, EventKind};
use semel_core::store::{Answers, Batch, Layer, SettleAnswer, SettleRequest, each_fails};
use semel_core::{Kind, MemoryStore, OnFailure, Once, Store};
use tokio::time::Instant;

use crate::support::effects::Gate;
use crate::support::faulty::Fault;
use crate::support::{Effects, Ran, Verb, identity, operation, settled, state, store};

async fn call(once: &Once, effects: &Effects) -> Ran {
    let effects = effects.clone();
    let run = async move |_| Ok(effects.happen());
    operation(once, "k").run(run).await
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_while_the_store_is_away() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    store.set(Verb::Claim, Fault::Away);
    let refused = call(&once, &effects).await;
    let Err(Error::Refused(Refusal::Store(error))) = refused else {
        panic!("expected a refusal, found {refused:?}");
    };
    assert_eq!(error.kind(), Kind::Unavailable);
    assert_eq!(
        (effects.count(), state(store.beneath(), "k").await),
        (0, "absent")
    );

    store.heal(Verb::Claim);
    assert_eq!(call(&once, &effects).await.unwrap().value, 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_when_the_answer_to_the_claim_is_lost() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    store.set(Verb::Claim, Fault::AnswerLost);
    let refused = call(&once, &effects).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::Store(_)))));
    assert_eq!(effects.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_slow_store_is_waited_for() {
    let (store, effects) = (store(), Effects::default());
    let second = Duration::from_secs(1);
    store.set(Verb::Claim, Fault::Slow(second));
    store.set(Verb::Settle, Fault::Slow(second));
    let asked = Instant::now();
    let answer = call(&Once::on(store.clone()), &effects).await.unwrap();
    assert_eq!((answer.value, answer.recorded), (1, Recorded::Settled));
    assert_eq!(asked.elapsed(), 2 * second);
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_that_waits_is_refused_when_the_store_goes_away() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    let end = Gate::closed();
    let first = {
        let (end, effects) = (end.clone(), effects.clone());
        tokio::spawn(operation(&once, "k").run(async move |_| {
            end.pass().await;
            Ok::<_, String>(effects.happen())
        }))
    };
    store.called(Verb::Claim, 1).await;
    store.set(Verb::LookUp, Fault::Away);
    let refused = call(&once, &effects).await;
    assert!(matches!(refused, Err(Error::Refused(Refusal::Store(_)))));
    end.open();
    assert_eq!(first.await.unwrap().unwrap().value, 1);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_comes_back_soon_settles_and_the_caller_waits_for_it() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    store.set(Verb::Settle, Fault::Away);
    let caller = {
        let (once, effects) = (once.clone(), effects.clone());
        tokio::spawn(async move { call(&once, &effects).await })
    };
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(state(store.beneath(), "k").await, "running");
    store.heal(Verb::Settle);
    let answer = caller.await.unwrap().unwrap();
    assert_eq!((answer.value, answer.recorded), (1, Recorded::Settled));
    assert_eq!(state(store.beneath(), "k").await, "succeeded");
    assert!(call(&once, &effects).await.unwrap().replayed);
    assert_eq!(effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_patience_ends_is_told_and_the_result_is_settled_later() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    store.set(Verb::Settle, Fault::Away);
    let asked = Instant::now();
    let answer = call(&once, &effects).await.unwrap();
    assert_eq!((answer.value, answer.recorded), (1, Recorded::NotYet));
    let seconds = asked.elapsed().as_secs_f64();
    assert!((5.0..7.0).contains(&seconds), "{seconds}");
    assert_eq!(state(store.beneath(), "k").await, "running");

    store.heal(Verb::Settle);
    settled(store.beneath(), "k").await;
    let again = call(&once, &effects).await.unwrap();
    assert_eq!((again.value, again.replayed), (1, true));
}

#[tokio::test(start_paused = true)]
async fn a_settle_whose_answer_is_lost_is_sent_again_and_counts_once() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    store.set(Verb::Settle, Fault::AnswerLost);
    let caller = {
        let (once, effects) = (once.clone(), effects.clone());
        tokio::spawn(async move { call(&once, &effects).await })
    };
    store.called(Verb::Settle, 3).await;
    assert_eq!(state(store.beneath(), "k").await, "succeeded");
    store.heal(Verb::Settle);
    let answer = caller.await.unwrap().unwrap();
    assert_eq!((answer.value, answer.recorded), (1, Recorded::Settled));
}

#[tokio::test(start_paused = true)]
async fn a_mark_whose_answer_is_lost_is_sent_again_and_counts_once() {
    let store = store();
    let once = Once::on(store.clone());
    store.set(Verb::MarkUnknown, Fault::AnswerLost);
    let caller = tokio::spawn({
        let fail = async |_| Err::<u32, _>("timed out".to_owned());
        operation(&once, "k").run_classified(|_| OnFailure::Unknown, fail)
    });
    store.called(Verb::MarkUnknown, 2).await;
    store.heal(Verb::MarkUnknown);
    let Err(Error::Failed { recorded, .. }) = caller.await.unwrap() else {
        panic!("expected the run's error");
    };
    assert_eq!(recorded, Recorded::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_stays_away_leaves_the_outcome_unknown_and_nothing_runs_again() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    store.set(Verb::Settle, Fault::Away);
    assert_eq!(
        call(&once, &effects).await.unwrap().recorded,
        Recorded::NotYet
    );
    tokio::time::sleep(Duration::from_secs(4_000)).await;
    assert_eq!(state(store.beneath(), "k").await, "unknown");
    store.heal(Verb::Settle);
    let held = call(&once, &effects).await;
    assert!(matches!(held, Err(Error::Refused(Refusal::Unknown { .. }))));
    assert_eq!(once.drain(Duration::from_secs(60)).await, 0);
    let history = store.beneath().history(identity("k")).await.unwrap();
    let is_late = |event: &Event| matches!(event.kind, EventKind::LateOutcome(_));
    assert!(history.iter().any(is_late), "the audit has it: {history:?}");
    assert_eq!(effects.count(), 1);
}

/// Every kind of error that a store can give for a while, in a failover for example.
const KINDS: [Kind; 8] = [
    Kind::Limit,
    Kind::Unavailable,
    Kind::Locked,
    Kind::DiskFull,
    Kind::Damaged,
    Kind::NewerVersion,
    Kind::ReadOnly,
    Kind::Internal,
];

#[tokio::test(start_paused = true)]
async fn no_kind_of_error_ends_the_recording_of_what_has_happened() {
    for kind in KINDS {
        for (verb, meaning, expected) in [
            (Verb::Settle, OnFailure::Keep, Recorded::Settled),
            (Verb::Release, OnFailure::Release, Recorded::Released),
            (Verb::MarkUnknown, OnFailure::Unknown, Recorded::Unknown),
        ] {
            let store = store();
            store.set(verb, Fault::Fails(kind));
            let fail = async |_| Err::<u32, _>("no".to_owned());
            let run =
                operation(&Once::on(store.clone()), "k").run_classified(move |_| meaning, fail);
            let run = tokio::spawn(run);
            tokio::time::sleep(Duration::from_secs(3)).await;
            store.heal(verb);
            let Err(Error::Failed { recorded, .. }) = run.await.unwrap() else {
                panic!("expected the run's own error");
            };
            assert_eq!(recorded, expected, "{kind:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_outcome_that_the_store_cannot_hold_is_recorded_without_its_body() {
    let store = Arc::new(Picky(MemoryStore::new()));
    let once = Once::on(store.clone());
    let answer = operation(&once, "k")
        .run(async |_| Ok::<_, String>(1))
        .await;
    assert_eq!(answer.unwrap().recorded, Recorded::Settled);
    let again: Ran = operation(&once, "k").run(async |_| Ok(2)).await;
    assert!(matches!(again, Err(Error::NotKept { .. })), "{again:?}");
}

/// Refuses every body, though its limits do not say so.
#[derive(Debug)]
struct Picky(MemoryStore);

impl Layer for Picky {
    fn beneath(&self) -> &dyn Store {
        &self.0
    }

    fn settle(&self, items: Batch<SettleRequest>) -> Answers<'_, SettleAnswer> {
        match items.iter().any(|item| item.outcome.body.kept().is_some()) {
            true => {
                Box::pin(
                    async move { each_fails(items.len(), &semel_core::Error::invalid("a body")) },
                )
            }
            false => self.0.settle(items),
        }
    }
}
