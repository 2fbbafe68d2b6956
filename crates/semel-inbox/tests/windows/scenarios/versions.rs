//! Versions of an aggregate: older ones are ignored, later ones wait for those between.

use semel_core::Key;
use semel_core::inbox::{Baseline, Cause, Message, OnGap, OnTerminal, Order, Receipt, State};
use semel_inbox::Consumer;
use semel_inbox::{Running, handler_fn};

use crate::stage::Stage;
use crate::workshop::{engine, message, order, policy};

/// A consumer whose messages run by their versions.
fn versioned() -> Consumer {
    let mut consumer = policy();
    consumer.plan.order = Order::Sequence {
        baseline: Baseline::After(0),
        on_gap: OnGap::default(),
        on_terminal: OnTerminal::Park,
    };
    consumer
}

fn projecting(stage: &Stage) -> Running {
    let place = stage.place.clone();
    let handler = handler_fn(move |ctx| {
        let place = place.clone();
        async move { place.apply(&ctx, Box::new(|| Ok(()))).await }
    });
    let engine = engine(stage.inbox.clone()).consumer(versioned(), handler);
    engine.build().unwrap().start()
}

/// Version `sequence` of the one account.
fn version(id: &str, sequence: u64) -> Message {
    let lane = Key::new("account-7").unwrap();
    message(id).with_lane(lane).with_sequence(sequence).unwrap()
}

pub(super) async fn an_old_version_is_ignored(stage: &Stage) {
    let running = projecting(stage);
    let plan = versioned().plan;
    for (id, sequence) in [("v-1", 1), ("v-2", 2)] {
        stage.receive(&plan, version(id, sequence)).await;
        stage.until(&order(id), State::Completed).await;
    }
    // The first version once more, under an id that nobody has seen.
    let receipt = stage.receive(&plan, version("v-1-again", 1)).await;
    let state = State::SkippedDuplicate;
    assert_eq!(receipt, Receipt::Stored { state });
    stage.rest().await;
    running.shutdown().await;
    let detail = stage.detail(&order("v-1-again")).await.unwrap();
    assert_eq!(detail.entry.state, state);
    assert_eq!(detail.entry.cause, Some(Cause::OlderVersion));
    assert_eq!(stage.place.rows().await, ["v-1", "v-2"]);
}

pub(super) async fn a_future_version_is_a_gap(stage: &Stage) {
    let running = projecting(stage);
    let plan = versioned().plan;
    stage.receive(&plan, version("v-1", 1)).await;
    stage.until(&order("v-1"), State::Completed).await;
    let receipt = stage.receive(&plan, version("v-3", 3)).await;
    let state = State::Parked;
    assert_eq!(receipt, Receipt::Stored { state });
    let detail = stage.detail(&order("v-3")).await.unwrap();
    assert_eq!(detail.entry.cause, Some(Cause::Gap));
    let gaps = stage.inbox.gaps(plan.consumer.clone(), 10).await.unwrap();
    let missing: Vec<_> = gaps.iter().map(|gap| gap.missing.clone()).collect();
    assert_eq!(missing, [[(2, 2)]]);
    assert_eq!(stage.place.rows().await, ["v-1"]);
    // The missing one fills the gap, and both run in their order.
    stage.receive(&plan, version("v-2", 2)).await;
    stage.until(&order("v-3"), State::Completed).await;
    running.shutdown().await;
    assert_eq!(stage.place.rows().await, ["v-1", "v-2", "v-3"]);
    let gaps = stage.inbox.gaps(plan.consumer.clone(), 10).await.unwrap();
    assert!(gaps.is_empty(), "{gaps:?}");
}
