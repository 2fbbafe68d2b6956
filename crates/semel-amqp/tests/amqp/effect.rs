//! A consumer that acknowledges after the effect: a delivery cannot be extended, so it does not wait for the attempts after the first.

use std::time::Duration;

use semel_core::Retention;
use semel_core::inbox::{Query, State};
use semel_inbox::{Ack, Consumer, Done, Engine, Failure, Rule, Source, handler_fn};
use tokio::time::{Instant, sleep};

use crate::conformance::inbox;
use crate::world::World;

#[tokio::test]
async fn a_delivery_is_acknowledged_once_its_first_failure_is_durable() {
    let world = World::new().await;
    let dir = tempfile::tempdir().unwrap();
    let inbox = inbox(&dir.path().join("semel.db"));
    let handler = handler_fn(|_| async {
        let later = Duration::from_secs(3600);
        Err::<Done, _>(Failure::retryable_after(later, "away"))
    });
    let mut policy = Consumer::new("after".parse().unwrap());
    policy.ack = Ack::AfterEffect;
    policy.plan.retention = Retention::delete_after(Duration::from_secs(86_400)).unwrap();
    let source = std::sync::Arc::new(world.source(""));
    let engine = Engine::builder(inbox.clone())
        .consumer(policy, handler)
        .source("after".parse().unwrap(), source, Rule::broker());
    let running = engine.build().unwrap().start();
    world.publish(&["a"]).await;
    let end = Instant::now() + Duration::from_secs(30);
    while running.sources()[0].acked == 0 {
        assert!(Instant::now() < end, "it is not acknowledged");
        sleep(Duration::from_millis(50)).await;
    }
    let query = Query {
        states: vec![State::FailedRetryable],
        ..Query::default()
    };
    let page = inbox.list_messages(query).await.unwrap();
    assert_eq!(page.entries.len(), 1, "the failure is durable before");
    running.shutdown().await;
    // The broker has nothing of it left, ready or open.
    let left = world.open("").await;
    assert_eq!(left.facts().await.unwrap().lag, Some(0));
    world.end().await;
}
