//! Deliveries: the first, the second, and those around a crash.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use semel_core::inbox::{Receipt, State};
use semel_inbox::{Done, Failure, Running, handler_fn};

use crate::kills::{killed, own_transaction};
use crate::outside::{CALLS, INTENTS, Outside};
use crate::process::Window;
use crate::stage::Stage;
use crate::workshop::{CHARGE, ID, PAY, charge, engine, message, order, policy, target};

/// An engine whose handler writes a row and an intent in its own transaction.
fn applying(stage: &Stage, outside: &Outside) -> Running {
    let place = stage.place.clone();
    let handler = handler_fn(move |ctx| {
        let place = place.clone();
        async move {
            ctx.intent(PAY, CHARGE, "{}")?;
            place.apply(&ctx, Box::new(|| Ok(()))).await
        }
    });
    let engine = engine(stage.inbox.clone()).consumer(policy(), handler);
    let engine = engine.target(target(&outside.provider(INTENTS)));
    engine.build().unwrap().start()
}

async fn applied_once(stage: &Stage, outside: &Outside) {
    stage.until(&order(ID), State::Completed).await;
    stage.until(&charge(ID), State::Completed).await;
    stage.rest().await;
    assert_eq!(stage.place.rows().await, [ID]);
    assert_eq!(outside.requests(INTENTS), 1);
}

pub(super) async fn first_delivery_applies_the_effect(stage: &Stage) {
    let outside = Outside::start().await;
    let running = applying(stage, &outside);
    assert!(stage.place.rows().await.is_empty());
    let receipt = stage.receive(&policy().plan, message(ID)).await;
    let state = State::Received;
    assert_eq!(receipt, Receipt::Stored { state });
    applied_once(stage, &outside).await;
    running.shutdown().await;
}

pub(super) async fn a_duplicate_after_success_has_no_second_effect(stage: &Stage) {
    let outside = Outside::start().await;
    let running = applying(stage, &outside);
    stage.receive(&policy().plan, message(ID)).await;
    applied_once(stage, &outside).await;
    for _ in 0..3 {
        let receipt = stage.receive(&policy().plan, message(ID)).await;
        let state = State::Completed;
        assert_eq!(receipt.brief(), Receipt::duplicate(state));
    }
    applied_once(stage, &outside).await;
    running.shutdown().await;
    assert_eq!(stage.place.rows().await, [ID]);
}

/// The dead process had committed, its source was not told, and delivers again.
pub(super) async fn a_crash_after_the_commit_before_the_ack_is_skipped_on_redelivery(
    stage: &Stage,
) {
    killed(stage, own_transaction(Window::AfterCommit)).await;
    // Nothing ran again: the death left no claim behind that somebody else had to take over.
    let detail = stage.detail(&order(ID)).await.unwrap();
    assert!(detail.attempts.is_empty(), "{:?}", detail.attempts);
}

/// The dead process had written everything and committed nothing.
pub(super) async fn a_crash_before_the_commit_is_processed_on_redelivery(stage: &Stage) {
    killed(stage, own_transaction(Window::BeforeCommit)).await;
}

/// The provider has done it, and the transaction with the row and the message's end fails.
pub(super) async fn an_external_effect_before_a_marker_that_failed_is_not_doubled_by_the_provider(
    stage: &Stage,
) {
    let outside = Outside::start().await;
    let (place, url) = (stage.place.clone(), outside.provider(CALLS));
    let client = semel_inbox::client_builder().build().unwrap();
    let has_failed = Arc::new(AtomicBool::new(false));
    let handler = handler_fn(move |ctx| {
        let (place, has_failed) = (place.clone(), has_failed.clone());
        let call = client.post(&url);
        async move {
            let call = call.header("idempotency-key", ctx.idempotency_key());
            call.send().await?.error_for_status()?;
            let fails_once = move || match has_failed.swap(true, Ordering::SeqCst) {
                true => Ok(()),
                false => Err(Failure::retryable("the commit fails")),
            };
            let done: Result<Done, Failure> = place.apply(&ctx, Box::new(fails_once)).await;
            done
        }
    });
    let engine = engine(stage.inbox.clone()).consumer(policy(), handler);
    let running = engine.build().unwrap().start();
    stage.receive(&policy().plan, message(ID)).await;
    stage.until(&order(ID), State::Completed).await;
    running.shutdown().await;
    assert_eq!((outside.requests(CALLS), outside.effects(CALLS)), (2, 1));
    assert_eq!(stage.place.rows().await, [ID]);
}
