//! Callers that go away: what they began is finished, what they did not begin never happens.

use std::time::Duration;

use semel_core::once::BatchItem;
use semel_core::{Fingerprint, InProgress, OnFailure, Once, Policy};

use crate::support::effects::Gate;
use crate::support::faulty::Fault;
use crate::support::{Effects, Ran, Verb, identity, operation, settled, state, store};

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_does_not_cancel_the_run_it_began() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    let (begun, end) = (Gate::closed(), Gate::closed());
    let caller = {
        let (begun, end, effects) = (begun.clone(), end.clone(), effects.clone());
        tokio::spawn(operation(&once, "k").run(async move |_| {
            begun.open();
            end.pass().await;
            Ok::<_, String>(effects.happen())
        }))
    };
    begun.pass().await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    assert_eq!(state(store.beneath(), "k").await, "running");

    end.open();
    settled(store.beneath(), "k").await;
    let again: Ran = operation(&once, "k").run(async |_| Ok(99)).await;
    let again = again.unwrap();
    assert_eq!((again.value, again.replayed), (1, true));
    assert_eq!(effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_run_whose_caller_went_away_is_renewed() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone()).with_policy(crate::support::lease(100));
    let begun = Gate::closed();
    let caller = {
        let (begun, effects) = (begun.clone(), effects.clone());
        tokio::spawn(operation(&once, "k").run(async move |_| {
            begun.open();
            tokio::time::sleep(Duration::from_millis(900)).await;
            Ok::<_, String>(effects.happen())
        }))
    };
    begun.pass().await;
    caller.abort();
    let record = settled(store.beneath(), "k").await;
    assert_eq!((record.attempt, effects.count()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_while_claiming_leaves_no_stuck_lease() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    let gate = Gate::closed();
    store.set(Verb::Claim, Fault::Gated(gate.clone()));
    let caller = {
        let effects = effects.clone();
        tokio::spawn(operation(&once, "k").run(async move |_| Ok::<_, String>(effects.happen())))
    };
    store.called(Verb::Claim, 1).await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    assert_eq!(state(store.beneath(), "k").await, "absent");

    gate.open();
    settled(store.beneath(), "k").await;
    assert_eq!(effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_when_its_claim_fails_leaves_nothing() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    store.set(Verb::Claim, Fault::Away);
    let caller = {
        let effects = effects.clone();
        tokio::spawn(operation(&once, "k").run(async move |_| Ok::<_, String>(effects.happen())))
    };
    store.called(Verb::Claim, 1).await;
    caller.abort();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(state(store.beneath(), "k").await, "absent");
    assert_eq!((effects.count(), store.calls(Verb::Claim)), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_never_awaited_claims_nothing() {
    let store = store();
    let once = Once::on(store.clone());
    drop(operation(&once, "k").run(async |_| Ok::<_, String>(1)));
    tokio::task::yield_now().await;
    assert_eq!(store.calls(Verb::Claim), 0);
}

#[tokio::test(start_paused = true)]
async fn a_duplicate_that_goes_away_while_waiting_disturbs_nobody() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone()).with_policy(Policy {
        in_progress: InProgress::Wait(Duration::from_secs(60)),
        ..Policy::default()
    });
    let call = |end: Gate| {
        let effects = effects.clone();
        let run = async move |_| {
            let number = effects.happen();
            end.pass().await;
            Ok::<_, String>(number)
        };
        tokio::spawn(operation(&once, "k").run(run))
    };
    let end = Gate::closed();
    let first = call(end.clone());
    store.called(Verb::Claim, 1).await;
    let (gone, waiting) = (call(end.clone()), call(end.clone()));
    store.called(Verb::LookUp, 2).await;
    gone.abort();
    end.open();
    assert_eq!(first.await.unwrap().unwrap().value, 1);
    assert!(waiting.await.unwrap().unwrap().replayed);
    assert_eq!(effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_batch_whose_caller_goes_away_is_finished() {
    let (store, effects) = (store(), Effects::default());
    let once = Once::on(store.clone());
    let items = (0..20).map(|number| BatchItem {
        identity: identity(&format!("item-{number}")),
        fingerprint: Fingerprint::none(),
        input: (),
    });
    let items: Vec<_> = items.collect();
    let (begun, end) = (Gate::closed(), Gate::closed());
    let caller = {
        let (once, begun, end) = (once.clone(), begun.clone(), end.clone());
        let effects = effects.clone();
        tokio::spawn(async move {
            let keep = |_: &String| OnFailure::Keep;
            let run = move |_, ()| {
                let (begun, end, effects) = (begun.clone(), end.clone(), effects.clone());
                async move {
                    begun.open();
                    end.pass().await;
                    Ok::<_, String>(effects.happen())
                }
            };
            once.run_batch(items, 2, keep, run).await
        })
    };
    begun.pass().await;
    caller.abort();
    end.open();
    for number in 0..20 {
        settled(store.beneath(), &format!("item-{number}")).await;
    }
    assert_eq!(effects.count(), 20);
}
