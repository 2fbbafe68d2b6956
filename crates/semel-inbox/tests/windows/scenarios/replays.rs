//! What runs again by hand or by time: dead letters, replays, and ids that are no longer remembered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use semel_core::Retention;
use semel_core::inbox::{Action, Receipt, State};
use semel_inbox::Consumer;
use semel_inbox::policy::replay::SideEffects;
use semel_inbox::{Done, Failure, handler_fn};

use crate::outside::{CALLS, INTENTS, Outside};
use crate::stage::Stage;
use crate::workshop::{
    CHARGE, ID, PAY, charge, engine, eventually, message, order, policy, target,
};

/// The handler has its effects and then fails for good; replayed from the dead letters it has them again, under the same keys.
pub(super) async fn a_dead_letter_replayed_with_the_same_id_has_one_effect(stage: &Stage) {
    let outside = Outside::start().await;
    let (place, url) = (stage.place.clone(), outside.provider(CALLS));
    let client = semel_inbox::client_builder().build().unwrap();
    let handler = handler_fn(move |ctx| {
        let (place, call) = (place.clone(), client.post(&url));
        async move {
            let call = call.header("idempotency-key", ctx.idempotency_key());
            call.send().await?.error_for_status()?;
            ctx.intent(PAY, CHARGE, "{}")?;
            let is_first = ctx.generation() == 0;
            let end = move || match is_first {
                true => Err(Failure::terminal("what is wrong is not wrong with time")),
                false => Ok(()),
            };
            place.apply(&ctx, Box::new(end)).await
        }
    });
    let engine = engine(stage.inbox.clone()).consumer(policy(), handler);
    let engine = engine.target(target(&outside.provider(INTENTS)));
    let running = engine.build().unwrap().start();
    let plan = policy().plan;
    stage.receive(&plan, message(ID)).await;
    stage.until(&order(ID), State::FailedTerminal).await;
    assert!(stage.place.rows().await.is_empty());
    // A duplicate of a dead letter does not wake it.
    let state = State::FailedTerminal;
    let receipt = stage.receive(&plan, message(ID)).await;
    assert_eq!(receipt.brief(), Receipt::duplicate(state));
    stage
        .operate(&plan, ID, Action::Retry { new_key: false })
        .await;
    stage.until(&order(ID), State::Completed).await;
    stage.until(&charge(ID), State::Completed).await;
    stage.rest().await;
    running.shutdown().await;
    assert_eq!((outside.requests(CALLS), outside.effects(CALLS)), (2, 1));
    assert_eq!(outside.requests(INTENTS), 1);
    assert_eq!(stage.place.rows().await, [ID]);
}

/// Suppressed by default; where they are allowed, those that were sent are duplicates of themselves.
pub(super) async fn a_replay_suppresses_side_effects_where_required(stage: &Stage) {
    for (consumer, side_effects) in [
        ("projection", SideEffects::Suppress),
        ("notifier", SideEffects::Allow),
    ] {
        let mut policy = policy();
        policy.plan.consumer = consumer.parse().unwrap();
        policy.replay.side_effects = side_effects;
        replayed_with_one_effect(stage, policy).await;
    }
}

async fn replayed_with_one_effect(stage: &Stage, policy: Consumer) {
    let outside = Outside::start().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let (count, allows) = (
        runs.clone(),
        policy.replay.side_effects == SideEffects::Allow,
    );
    let handler = handler_fn(move |ctx| {
        let count = count.clone();
        async move {
            // One intent as ever, and one that only a replay wants, which shows whether it may send anything.
            ctx.intent(PAY, CHARGE, "{}")?;
            if ctx.is_replay() {
                ctx.intent(PAY, "correction", "{}")?;
            }
            count.fetch_add(1, Ordering::SeqCst);
            Ok(Done::new())
        }
    });
    let plan = policy.plan.clone();
    let name = plan.consumer.name().to_owned();
    let engine = engine(stage.inbox.clone()).consumer(policy, handler);
    let engine = engine.target(target(&outside.provider(INTENTS)));
    let running = engine.build().unwrap().start();
    let id = crate::workshop::identity(&name, ID);
    let first = semel_core::inbox::Message::new(id.clone(), "{}").unwrap();
    stage.receive(&plan, first).await;
    stage.until(&id, State::Completed).await;
    stage.rest().await;
    assert_eq!(outside.requests(INTENTS), 1);
    stage
        .operate(&plan, ID, Action::Replay { rebuild: false })
        .await;
    let again = async || (runs.load(Ordering::SeqCst) == 2).then_some(());
    eventually("the handler has run again", again).await;
    stage.until(&id, State::Completed).await;
    stage.rest().await;
    running.shutdown().await;
    let expected = if allows { 2 } else { 1 };
    assert_eq!(outside.requests(INTENTS), expected);
    assert_eq!(outside.effects(INTENTS), expected);
}

/// What is no longer remembered is new, and takes effect again: retention must outlast the source's patience.
pub(super) async fn after_retention_has_ended_the_same_id_is_new(stage: &Stage) {
    let keep = Duration::from_millis(1_500);
    let mut policy = policy();
    policy.plan.retention = Retention::delete_after(keep).unwrap();
    let (plan, place) = (policy.plan.clone(), stage.place.clone());
    let handler = handler_fn(move |ctx| {
        let place = place.clone();
        async move { place.apply(&ctx, Box::new(|| Ok(()))).await }
    });
    let engine = engine(stage.inbox.clone()).consumer(policy, handler);
    let running = engine.build().unwrap().start();
    stage.receive(&plan, message(ID)).await;
    let first = stage.until(&order(ID), State::Completed).await;
    let settled_at = first.settled.unwrap().at;
    // As long as it is remembered it is a duplicate and changes nothing.
    let look = async || match stage.receive(&plan, message(ID)).await {
        Receipt::Stored { state } => Some(state),
        Receipt::Duplicate { state, .. } => {
            assert_eq!(state, State::Completed);
            assert_eq!(stage.place.rows().await, [ID]);
            None
        }
        Receipt::Conflict => panic!("expected the same payload, found a conflict"),
    };
    let state = eventually("the id is new", look).await;
    assert_eq!(state, State::Received);
    let rows = async || (stage.place.rows().await == [ID, ID]).then_some(());
    eventually("it has taken effect again", rows).await;
    running.shutdown().await;
    let second = stage.detail(&order(ID)).await.unwrap();
    let passed = second.entry.received_at.since(settled_at);
    assert!(passed >= keep, "it was new after {passed:?}");
}
