//! Outcomes that nobody knows: held, run again, or asked about.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use semel_core::once::{Error, Reconciled, Refusal};
use semel_core::record::{Resolved, UnknownCause};
use semel_core::store::{ClaimAnswer, ClaimRequest, Takeover};
use semel_core::{
    EventKind, Fingerprint, LeaseTerm, OnFailure, OnUnknown, Once, Outcome, Policy, Store, StoreExt,
};

use crate::support::effects::Gate;
use crate::support::faulty::Fault;
use crate::support::{Effects, FaultyStore, Ran, Verb, identity, operation, state, store};

/// Leaves `key` with an unknown outcome under fence 1.
async fn undecided(store: &Arc<FaultyStore>, key: &str) {
    let once = Once::on(store.clone());
    let fail = async |_| Err::<u32, _>("timed out".to_owned());
    let unknown = |_: &String| OnFailure::Unknown;
    let failed = operation(&once, key).run_classified(unknown, fail).await;
    failed.unwrap_err();
    assert_eq!(state(store.beneath(), key).await, "unknown");
}

/// Claims `key` as an owner that dies: nothing renews or settles the claim.
async fn dead_owner(store: &Arc<FaultyStore>, key: &str, lease: Duration) {
    let request = ClaimRequest {
        identity: identity(key),
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::new(lease).unwrap(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    };
    let answer = store.beneath().claim_one(request).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Granted(_)));
}

async fn call(once: &Once, effects: &Effects) -> Ran {
    let effects = effects.clone();
    let run = async move |_| Ok(effects.happen());
    operation(once, "k").run(run).await
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_is_held_by_default() {
    let (store, effects) = (store(), Effects::default());
    undecided(&store, "k").await;
    let answer = call(&Once::on(store.clone()), &effects).await;
    assert!(matches!(
        answer,
        Err(Error::Refused(Refusal::Unknown { .. }))
    ));
    assert_eq!(effects.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_outcome_of_a_dead_owner_is_unknown_when_its_lease_has_ended() {
    let (store, effects) = (store(), Effects::default());
    dead_owner(&store, "k", Duration::from_millis(500)).await;
    // The default patience is longer than the lease: the duplicate waits until the lease ends.
    let answer = call(&Once::on(store.clone()), &effects).await;
    let Err(Error::Refused(Refusal::Unknown { fence, cause, .. })) = answer else {
        panic!("expected a refusal, found {answer:?}");
    };
    assert_eq!((fence.get(), cause), (1, UnknownCause::LeaseEnded));
    assert_eq!(effects.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn rerun_takes_over_with_the_next_attempt_and_a_higher_fence() {
    let (store, effects) = (store(), Effects::default());
    dead_owner(&store, "k", Duration::from_millis(500)).await;
    let once = Once::on(store.clone()).with_policy(Policy {
        on_unknown: OnUnknown::Rerun,
        ..Policy::default()
    });
    let answer = call(&once, &effects).await.unwrap();
    assert_eq!((answer.value, answer.replayed), (1, false));
    assert_eq!((answer.fence.get(), answer.attempt), (2, 2));
    assert!(call(&once, &effects).await.unwrap().replayed);
}

/// A `Once` whose reconciler always says `says`, and how often it was asked.
fn asking(store: &Arc<FaultyStore>, says: Reconciled) -> (Once, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let counter = asked.clone();
    let once = Once::on(store.clone()).reconcile_with(move |about, fence: semel_core::Fence| {
        assert_eq!((about, fence.get()), (identity("k"), 1));
        counter.fetch_add(1, Ordering::SeqCst);
        std::future::ready(says.clone())
    });
    (once, asked)
}

#[tokio::test(start_paused = true)]
async fn what_happened_according_to_the_reconciler_is_replayed() {
    let (store, effects) = (store(), Effects::default());
    undecided(&store, "k").await;
    let (once, asked) = asking(&store, Reconciled::Happened(Outcome::succeeded("7")));
    for _ in 0..2 {
        let answer = call(&once, &effects).await.unwrap();
        assert_eq!((answer.value, answer.replayed), (7, true));
        assert_eq!((answer.fence.get(), answer.attempt), (1, 1));
    }
    assert_eq!((effects.count(), asked.load(Ordering::SeqCst)), (0, 1));
    let history = store.history(identity("k")).await.unwrap();
    let by = "reconciler".to_owned();
    let how = Resolved::Settled;
    assert_eq!(
        history.last().unwrap().kind,
        EventKind::Resolved {
            by,
            how,
            reason: None
        }
    );
}

#[tokio::test(start_paused = true)]
async fn what_did_not_happen_according_to_the_reconciler_is_run() {
    let (store, effects) = (store(), Effects::default());
    undecided(&store, "k").await;
    let (once, asked) = asking(&store, Reconciled::DidNotHappen);
    let answer = call(&once, &effects).await.unwrap();
    assert_eq!((answer.value, answer.replayed), (1, false));
    assert_eq!((answer.fence.get(), answer.attempt), (2, 2));
    assert!(call(&once, &effects).await.unwrap().replayed);
    assert_eq!((effects.count(), asked.load(Ordering::SeqCst)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn what_the_reconciler_cannot_tell_stays_unknown() {
    let (store, effects) = (store(), Effects::default());
    undecided(&store, "k").await;
    let (once, asked) = asking(&store, Reconciled::CannotTell);
    let answer = call(&once, &effects).await;
    assert!(matches!(
        answer,
        Err(Error::Refused(Refusal::Unknown { .. }))
    ));
    assert_eq!(state(store.beneath(), "k").await, "unknown");
    assert_eq!((effects.count(), asked.load(Ordering::SeqCst)), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn the_reconciler_is_not_asked_about_what_is_known() {
    let (store, effects) = (store(), Effects::default());
    let (once, asked) = asking(&store, Reconciled::CannotTell);
    assert!(!call(&once, &effects).await.unwrap().replayed);
    assert!(call(&once, &effects).await.unwrap().replayed);
    assert_eq!((effects.count(), asked.load(Ordering::SeqCst)), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_reconciler_is_not_asked_under_another_policy() {
    let (store, effects) = (store(), Effects::default());
    undecided(&store, "k").await;
    let (once, asked) = asking(&store, Reconciled::DidNotHappen);
    let counted = effects.clone();
    let run = async move |_| Ok(counted.happen());
    let holding = operation(&once, "k").with_policy(Policy::default());
    let answer: Ran = holding.run(run).await;
    assert!(matches!(
        answer,
        Err(Error::Refused(Refusal::Unknown { .. }))
    ));
    assert_eq!((effects.count(), asked.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn two_reconcilers_that_agree_cause_one_run() {
    let (store, effects) = (store(), Effects::default());
    undecided(&store, "k").await;
    // Both have their answer before either can act on it.
    let asked = Arc::new(tokio::sync::Barrier::new(2));
    let callers: Vec<_> = (0..2)
        .map(|_| {
            let asked = asked.clone();
            let once = Once::on(store.clone()).reconcile_with(move |_, _| {
                let asked = asked.clone();
                async move {
                    asked.wait().await;
                    Reconciled::DidNotHappen
                }
            });
            let effects = effects.clone();
            tokio::spawn(async move {
                let run = async move |_| {
                    let number = effects.begin();
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    effects.end();
                    Ok::<_, String>(number)
                };
                operation(&once, "k").run(run).await.unwrap()
            })
        })
        .collect();
    let mut replayed = Vec::new();
    for caller in callers {
        let answer = caller.await.unwrap();
        assert_eq!((answer.value, answer.fence.get()), (1, 2));
        replayed.push(answer.replayed);
    }
    replayed.sort_unstable();
    assert_eq!(replayed, [false, true]);
    assert_eq!(effects.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_reconciler_that_comes_too_late_does_not_undo_a_decision() {
    let (store, effects) = (store(), Effects::default());
    undecided(&store, "k").await;
    let (asked, answer) = (Gate::closed(), Gate::closed());
    let slow = {
        let (asked, answer) = (asked.clone(), answer.clone());
        Once::on(store.clone()).reconcile_with(move |_, _| {
            let (asked, answer) = (asked.clone(), answer.clone());
            async move {
                asked.open();
                answer.pass().await;
                Reconciled::Happened(Outcome::succeeded("99"))
            }
        })
    };
    let late = {
        let effects = effects.clone();
        tokio::spawn(async move { call(&slow, &effects).await })
    };
    asked.pass().await;
    let (quick, _) = asking(&store, Reconciled::Happened(Outcome::succeeded("7")));
    assert_eq!(call(&quick, &effects).await.unwrap().value, 7);
    answer.open();
    assert_eq!(late.await.unwrap().unwrap().value, 7);
    assert_eq!(effects.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_cannot_be_recorded_is_a_refusal_and_nothing_runs() {
    let (store, effects) = (store(), Effects::default());
    undecided(&store, "k").await;
    store.set(Verb::Resolve, Fault::Away);
    let (once, _) = asking(&store, Reconciled::Happened(Outcome::succeeded("7")));
    let answer = call(&once, &effects).await;
    assert!(matches!(answer, Err(Error::Refused(Refusal::Store(_)))));
    assert_eq!(state(store.beneath(), "k").await, "unknown");
    assert_eq!(effects.count(), 0);
}
