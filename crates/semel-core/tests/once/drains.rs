//! A service that shuts down waits for runs whose callers have left.

use std::time::Duration;

use semel_core::Once;

use crate::support::effects::Gate;
use crate::support::faulty::Fault;
use crate::support::{Verb, operation, state, store};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_runs_whose_callers_have_left() {
    let store = store();
    let once = Once::on(store.clone());
    let end = Gate::closed();
    let call = {
        let end = end.clone();
        tokio::spawn(operation(&once, "k").run(async move |_| {
            end.pass().await;
            Ok::<_, String>(1)
        }))
    };
    store.called(Verb::Claim, 1).await;
    call.abort();
    assert_eq!(once.drain(MINUTE).await, 1, "the run has not ended");
    end.open();
    assert_eq!(once.clone().drain(MINUTE).await, 0);
    assert_eq!(state(store.beneath(), "k").await, "succeeded");
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_outcomes_that_are_not_on_record_yet() {
    let store = store();
    let once = Once::on(store.clone());
    store.set(Verb::Settle, Fault::Away);
    let answer = operation(&once, "k")
        .run(async |_| Ok::<_, String>(1))
        .await;
    answer.unwrap();
    assert_eq!(once.drain(Duration::from_secs(1)).await, 1);
    store.heal(Verb::Settle);
    assert_eq!(once.drain(MINUTE).await, 0);
    assert_eq!(state(store.beneath(), "k").await, "succeeded");
}

#[tokio::test(start_paused = true)]
async fn a_drain_of_nothing_ends_at_once() {
    let once = Once::on(store());
    assert_eq!(once.drain(Duration::ZERO).await, 0);
}
