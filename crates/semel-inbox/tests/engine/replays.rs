//! Replays: the handler knows, and intents are suppressed and counted unless the policy lets them pass.

use semel_core::Inbox;
use semel_core::duplicate::Origin;
use semel_core::inbox::{Action, Operation, Selection, State};
use semel_core::store::Actor;
use semel_inbox::Consumer;
use semel_inbox::intents::Target;
use semel_inbox::policy::replay::SideEffects;
use semel_inbox::{Done, handler_fn};

use crate::providers::Provider;
use crate::support::{Rig, consumer, eventually, identity, message, quick};

/// Completes an order with one charge, replays it, and returns what was sent and suppressed.
async fn replayed(change: impl FnOnce(&mut Consumer)) -> (usize, usize) {
    let (rig, provider) = (Rig::new(), Provider::start(|_| None).await);
    let handler = handler_fn(|ctx| async move {
        ctx.intent("pay", "charge", "{}")?;
        let seen = format!("{} {}", ctx.is_replay(), ctx.generation());
        Ok(Done::with_body(seen))
    });
    let mut policy = consumer("orders");
    change(&mut policy);
    let plan = policy.plan.clone();
    let target = Target::new("pay", &provider.server.url("/charges")).unwrap();
    let engine = rig.engine().target(target.retry(quick(3)));
    let running = engine.consumer(policy, handler).build().unwrap().start();
    rig.receive(message("orders", "o-1", "{}")).await;
    let charge = identity("intent:pay", "orders@1:o-1:charge");
    rig.until(&charge, State::Completed).await;
    let operation = Operation {
        plan,
        select: Selection::default(),
        action: Action::Replay { rebuild: false },
        by: Actor::new("ada").unwrap(),
        reason: None,
        verb: "replay",
        dry_run: false,
        edit: None,
    };
    assert_eq!(rig.store.operate(operation).await.unwrap().changed, 1);
    let again = async || {
        let finished = rig.seen.finished.lock().unwrap();
        (finished.iter().filter(|(id, _)| id == "o-1").count() == 2).then_some(())
    };
    eventually("the order has run twice", again).await;
    rig.until(&identity("orders", "o-1"), State::Completed)
        .await;
    running.shutdown().await;
    let suppressed = *rig.seen.suppressed.lock().unwrap();
    (provider.server.requests().len(), suppressed)
}

#[tokio::test]
async fn the_intents_of_a_replay_are_suppressed_and_counted() {
    assert_eq!(replayed(|_| {}).await, (1, 1));
}

#[tokio::test]
async fn where_side_effects_are_allowed_those_that_were_sent_are_duplicates_of_themselves() {
    let allow = |policy: &mut Consumer| policy.replay.side_effects = SideEffects::Allow;
    assert_eq!(replayed(allow).await, (1, 0));
}

#[tokio::test]
async fn a_replay_is_reported_as_our_own() {
    let rig = Rig::new();
    let handler = handler_fn(|_| async { Ok(Done::new()) });
    let running = rig.engine().consumer(consumer("mailer"), handler);
    let running = running.build().unwrap().start();
    rig.receive(message("mailer", "m-1", "hi")).await;
    let id = identity("mailer", "m-1");
    rig.until(&id, State::Completed).await;
    assert!(rig.seen.repeated.lock().unwrap().is_empty());
    let operation = Operation {
        plan: consumer("mailer").plan,
        select: Selection::default(),
        action: Action::Replay { rebuild: false },
        by: Actor::new("ada").unwrap(),
        reason: None,
        verb: "replay",
        edit: None,
        dry_run: false,
    };
    assert_eq!(rig.store.operate(operation).await.unwrap().changed, 1);
    let told = async || rig.seen.repeated.lock().unwrap().first().copied();
    let told = eventually("the replay is reported", told).await;
    assert_eq!((told.origin, told.age), (Origin::OwnReplay, None));
    running.shutdown().await;
}
