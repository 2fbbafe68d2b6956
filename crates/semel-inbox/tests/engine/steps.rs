//! Steps: done once, however often the handler runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use semel_core::inbox::State;
use semel_inbox::{Done, Failure, handler_fn};

use crate::support::{Rig, consumer, identity, message};

#[tokio::test]
async fn a_later_attempt_goes_on_at_the_first_step_that_is_not_done() {
    let rig = Rig::new();
    let charges = Arc::new(AtomicUsize::new(0));
    let counter = charges.clone();
    let handler = handler_fn(move |ctx| {
        let counter = counter.clone();
        async move {
            let charge: usize = ctx
                .step("charge", async || {
                    Ok::<_, Failure>(counter.fetch_add(1, Ordering::SeqCst) + 1)
                })
                .await?;
            let sent: String = ctx
                .step("mail", async || match ctx.attempt() {
                    3 => Ok(format!("mail about charge {charge}")),
                    _ => Err(Failure::retryable("no mail today")),
                })
                .await?;
            Ok(Done::with_body(sent))
        }
    });
    let engine = rig.engine().consumer(consumer("orders"), handler);
    let running = engine.build().unwrap().start();
    rig.receive(message("orders", "o-1", "{}")).await;
    let detail = rig
        .until(&identity("orders", "o-1"), State::Completed)
        .await;
    running.shutdown().await;
    assert_eq!(charges.load(Ordering::SeqCst), 1);
    let outcome = detail.settled.unwrap().outcome;
    assert_eq!(outcome.body.kept().unwrap(), "mail about charge 1");
}

#[tokio::test]
async fn a_step_is_durable_before_it_returns() {
    let rig = Rig::new();
    let store = rig.store.clone();
    let handler = handler_fn(move |ctx| {
        let store = store.clone();
        async move {
            ctx.step("a", async || Ok::<_, Failure>(7)).await?;
            let id = ctx.message().identity().clone();
            let detail = semel_core::Inbox::message(&*store, id).await?;
            let steps = detail.map_or(0, |detail| detail.steps.len());
            Ok(Done::with_body(steps.to_string()))
        }
    });
    let engine = rig.engine().consumer(consumer("orders"), handler);
    let running = engine.build().unwrap().start();
    rig.receive(message("orders", "o-1", "{}")).await;
    let detail = rig
        .until(&identity("orders", "o-1"), State::Completed)
        .await;
    running.shutdown().await;
    assert_eq!(detail.settled.unwrap().outcome.body.kept().unwrap(), "1");
}

#[tokio::test]
async fn a_result_of_another_type_and_too_many_steps_are_clear_errors() {
    let rig = Rig::new();
    let handler = handler_fn(move |ctx| async move {
        if ctx.message().payload() == "types" {
            ctx.step("a", async || Ok::<_, Failure>("text".to_owned()))
                .await?;
            let _: u64 = ctx.step("a", async || Ok::<_, Failure>(1)).await?;
        }
        for n in 0..65 {
            ctx.step(&format!("s{n}"), async || Ok::<_, Failure>(n))
                .await?;
        }
        Ok(Done::new())
    });
    let engine = rig.engine().consumer(consumer("orders"), handler);
    let running = engine.build().unwrap().start();
    for (id, expected) in [
        ("types", "does not have the type"),
        ("many", "at most 64 steps"),
    ] {
        rig.receive(message("orders", id, id)).await;
        let detail = rig
            .until(&identity("orders", id), State::FailedTerminal)
            .await;
        let error = detail.entry.error.unwrap();
        assert!(error.contains(expected), "{error}");
    }
    running.shutdown().await;
}

#[tokio::test]
async fn keys_for_others_are_the_same_in_every_attempt() {
    let rig = Rig::new();
    let handler = handler_fn(move |ctx| async move {
        let keys = format!("{} {}", ctx.idempotency_key(), ctx.step_key("charge"));
        match ctx.attempt() {
            1 => Err(Failure::retryable(keys)),
            _ => Ok(Done::with_body(keys)),
        }
    });
    let engine = rig.engine().consumer(consumer("orders@3"), handler);
    let running = engine.build().unwrap().start();
    rig.receive(message("orders@3", "o-1", "{}")).await;
    let detail = rig
        .until(&identity("orders@3", "o-1"), State::Completed)
        .await;
    running.shutdown().await;
    let expected = "orders@3:o-1 orders@3:o-1:step:charge";
    assert_eq!(detail.attempts[0].error.as_deref(), Some(expected));
    assert_eq!(
        detail.settled.unwrap().outcome.body.kept().unwrap(),
        expected
    );
}
