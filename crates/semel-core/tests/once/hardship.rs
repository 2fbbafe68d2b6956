//! Stores that hang, answer into the void or come back late, and callers that are told the truth.

use std::sync::Arc;
use std::time::Duration;

use semel_core::once::{BatchItem, Error, Recorded, Refusal, Run};
use semel_core::{Fingerprint, InProgress, MemoryStore, OnFailure, Once, Policy};
use tokio::time::Instant;

use crate::support::effects::Gate;
use crate::support::faulty::Fault;
use crate::support::{FaultyStore, Ran, Verb, identity, lease, operation, store};

const MS: fn(u64) -> Duration = Duration::from_millis;

#[tokio::test(start_paused = true)]
async fn the_caller_of_a_panicked_run_is_told_within_its_patience() {
    let store = store();
    store.set(Verb::MarkUnknown, Fault::Away);
    let once = Once::on(store.clone());
    let asked = Instant::now();
    let answer: Ran = operation(&once, "k").run(async |_| panic!("oh")).await;
    assert!(matches!(answer, Err(Error::Refused(Refusal::Panicked))));
    assert!(
        asked.elapsed() < Duration::from_secs(10),
        "{:?}",
        asked.elapsed()
    );
}

#[tokio::test(start_paused = true)]
async fn the_caller_is_told_within_its_patience_when_the_settle_hangs() {
    let store = store();
    store.set(Verb::Settle, Fault::Gated(Gate::closed()));
    let once = Once::on(store.clone());
    let call = operation(&once, "k").run(async |_| Ok::<_, String>(1));
    let answer = tokio::time::timeout(Duration::from_secs(600), call).await;
    assert!(answer.is_ok(), "no answer after ten minutes");
}

#[tokio::test(start_paused = true)]
async fn a_release_whose_answer_is_lost_is_still_a_release() {
    let store = store();
    store.set(Verb::Release, Fault::AnswerLost);
    let once = Once::on(store.clone());
    let call = tokio::spawn(operation(&once, "k").run_classified(
        |_: &String| OnFailure::Release,
        async |_| Err::<u32, _>("busy".to_owned()),
    ));
    store.called(Verb::Release, 1).await;
    store.heal(Verb::Release);
    let Err(Error::Failed { recorded, .. }) = call.await.unwrap() else {
        panic!()
    };
    assert_eq!(recorded, Recorded::Released);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_back_before_the_lease_ends_settles() {
    let store = store();
    store.set(Verb::Settle, Fault::Away);
    let once = Once::on(store.clone()).with_policy(lease(1_000));
    let call = tokio::spawn(operation(&once, "k").run(async |_| Ok::<_, String>(1)));
    tokio::time::sleep(MS(650)).await; // 350 ms are left
    store.heal(Verb::Settle);
    assert_eq!(call.await.unwrap().unwrap().recorded, Recorded::Settled);
}

#[tokio::test(start_paused = true)]
async fn the_lease_is_renewed_while_the_result_waits_to_be_settled() {
    let store = store();
    store.set(Verb::Settle, Fault::Away);
    let once = Once::on(store.clone()).with_policy(lease(1_000));
    let call = tokio::spawn(operation(&once, "k").run(async |_| Ok::<_, String>(1)));
    tokio::time::sleep(MS(3_000)).await;
    store.heal(Verb::Settle);
    assert_eq!(call.await.unwrap().unwrap().recorded, Recorded::Settled);
}

#[tokio::test(start_paused = true)]
async fn a_short_outage_does_not_end_a_wait() {
    let store = store();
    let once = Once::on(store.clone());
    let first = tokio::spawn(operation(&once, "k").run(async |_| {
        tokio::time::sleep(MS(1_000)).await;
        Ok::<_, String>(1)
    }));
    store.called(Verb::Claim, 1).await;
    store.set(Verb::LookUp, Fault::Away);
    let second = tokio::spawn(operation(&once, "k").run(async |_| Ok::<_, String>(2)));
    store.called(Verb::LookUp, 1).await;
    store.heal(Verb::LookUp);
    first.await.unwrap().unwrap();
    let second = second.await.unwrap();
    assert!(second.is_ok(), "{second:?}");
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_took_most_of_the_lease_is_renewed_in_time() {
    let store = store();
    store.set(Verb::Claim, Fault::Slow(MS(80)));
    let once = Once::on(store.clone()).with_policy(lease(100));
    let run = async |run: Run| {
        tokio::time::sleep(MS(300)).await;
        Ok::<_, String>(run.is_lost())
    };
    let answer = operation(&once, "k").run(run).await.unwrap();
    assert_eq!((answer.value, answer.recorded), (false, Recorded::Settled));
}

#[tokio::test]
async fn a_grant_that_came_too_late_does_not_hold_the_operation() {
    let store = FaultyStore::new(Arc::new(MemoryStore::new()));
    store.set(Verb::Claim, Fault::Slow(MS(60)));
    let once = Once::on(store.clone()).with_policy(lease(30));
    let call = tokio::spawn(operation(&once, "k").run(async |_| Ok::<_, String>(1)));
    store.called(Verb::Claim, 1).await;
    store.heal(Verb::Claim);
    let answer = call.await.unwrap();
    assert!(answer.is_ok(), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_hangs_gets_another_chance_before_the_lease_ends() {
    let store = store();
    store.set(Verb::Renew, Fault::Gated(Gate::closed()));
    let once = Once::on(store.clone()).with_policy(lease(300));
    let run = async |run: Run| {
        tokio::time::sleep(MS(1_000)).await;
        Ok::<_, String>(run.is_lost())
    };
    let call = tokio::spawn(operation(&once, "k").run(run));
    store.called(Verb::Renew, 1).await;
    store.heal(Verb::Renew); // only the first one hangs
    let answer = call.await.unwrap().unwrap();
    assert_eq!((answer.value, answer.recorded), (false, Recorded::Settled));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_renewal_does_not_delay_the_answer() {
    let store = store();
    store.set(Verb::Renew, Fault::Gated(Gate::closed()));
    let once = Once::on(store.clone()); // 30 s
    let asked = Instant::now();
    let run = async |_| {
        tokio::time::sleep(MS(10_100)).await;
        Ok::<_, String>(1)
    };
    operation(&once, "k").run(run).await.unwrap();
    assert!(asked.elapsed() < MS(10_500), "{:?}", asked.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_renew_for_a_whole_lease_is_told() {
    let store = store();
    store.set(Verb::Renew, Fault::Away);
    let once = Once::on(store.clone()).with_policy(lease(100));
    let run = async |run: Run| {
        tokio::time::sleep(MS(1_000)).await;
        Ok::<_, String>(run.is_lost())
    };
    let answer = operation(&once, "k").run(run).await.unwrap();
    assert_eq!(answer.recorded, Recorded::Late);
    assert!(
        answer.value,
        "is_lost() after ten times the lease without a renewal"
    );
}

#[tokio::test(start_paused = true)]
async fn the_second_of_two_equal_items_gets_the_result_whatever_the_patience() {
    for policy in [
        Policy {
            in_progress: InProgress::Refuse,
            ..Policy::default()
        },
        Policy::default(),
    ] {
        let once = Once::on(store()).with_policy(policy);
        let item = || BatchItem {
            identity: identity("a"),
            fingerprint: Fingerprint::none(),
            input: (),
        };
        let run = |_: Run, ()| async {
            tokio::time::sleep(MS(3_000)).await;
            Ok::<_, String>(1)
        };
        let answers = once
            .run_batch(vec![item(), item()], 4, |_: &String| OnFailure::Keep, run)
            .await;
        assert!(
            answers[1].is_ok(),
            "{:?}: {:?}",
            policy.in_progress,
            answers[1]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_was_not_kept_is_told_from_a_success() {
    let once = Once::on(store()).with_policy(Policy {
        keep_result: false,
        ..Policy::default()
    });
    let _: Ran = operation(&once, "k")
        .run(async |_| Err("declined".to_owned()))
        .await;
    let again: Ran = operation(&once, "k").run(async |_| Ok(1)).await;
    let shown = again.unwrap_err().to_string();
    assert!(shown.contains("fail"), "the caller is told: {shown}");
}

#[tokio::test(start_paused = true)]
async fn the_order_of_builders_does_not_matter() {
    let store = store();
    let once = Once::on(store.clone());
    let _ = operation(&once, "k")
        .run_classified(
            |_: &String| OnFailure::Unknown,
            async |_| Err::<u32, _>("?".to_owned()),
        )
        .await;
    let ask = |_, _| std::future::ready(semel_core::once::Reconciled::DidNotHappen);
    let once = once.reconcile_with(ask).with_policy(lease(1_000));
    let answer: Ran = operation(&once, "k").run(async |_| Ok(1)).await;
    assert!(answer.is_ok(), "{answer:?}");
}

#[tokio::test(start_paused = true)]
async fn a_waiting_duplicate_uses_all_its_patience() {
    let once = Once::on(store()).with_policy(Policy {
        in_progress: InProgress::Wait(Duration::from_secs(3_600)),
        ..Policy::default()
    });
    let calls: Vec<_> = (0..40)
        .map(|_| {
            tokio::spawn(operation(&once, "k").run_classified(
                |_: &String| OnFailure::Release,
                async |_| {
                    tokio::time::sleep(MS(10)).await;
                    Err::<u32, _>("busy".to_owned())
                },
            ))
        })
        .collect();
    let mut refused = 0;
    for call in calls {
        if let Err(Error::Refused(_)) = call.await.unwrap() {
            refused += 1;
        }
    }
    assert_eq!(refused, 0, "refused with an hour of patience left");
}

#[tokio::test(start_paused = true)]
async fn slow_and_hanging_looks_count_as_patience() {
    for fault in [Fault::Slow(MS(1_500)), Fault::Gated(Gate::closed())] {
        let store = store();
        let once = Once::on(store.clone()); // 2 s of patience
        let first = tokio::spawn(operation(&once, "k").run(async |_| {
            tokio::time::sleep(MS(60_000)).await;
            Ok::<_, String>(1)
        }));
        store.called(Verb::Claim, 1).await;
        store.set(Verb::LookUp, fault);
        let asked = Instant::now();
        let second: Ran = operation(&once, "k").run(async |_| Ok(2)).await;
        assert!(matches!(second, Err(Error::Refused(_))), "{second:?}");
        assert!(asked.elapsed() < MS(2_500), "{:?}", asked.elapsed());
        first.abort();
    }
}
