//! How much waits: a full backlog leaves messages with their source, and a paused consumer keeps them.

use std::sync::Arc;

use semel_core::Inbox;
use semel_core::inbox::State;
use semel_core::store::Actor;
use semel_inbox::{Done, Rule, handler_fn};
use tokio::sync::Semaphore;

use crate::acks::{delivery, queue};
use crate::support::{Rig, consumer, eventually, identity, message};

#[tokio::test]
async fn a_full_backlog_leaves_the_rest_with_the_source_until_some_of_it_is_done() {
    let (rig, (queue, send, told)) = (Rig::new(), queue(None));
    let gate = Arc::new(Semaphore::new(0));
    let waits = gate.clone();
    let handler = handler_fn(move |_| {
        let waits = waits.clone();
        async move {
            waits.acquire().await?.forget();
            Ok(Done::new())
        }
    });
    let mut policy = consumer("mail");
    policy.backlog_max = Some(5);
    for tag in 0..12 {
        send.send(delivery(tag, Some(&format!("m-{tag}")))).unwrap();
    }
    let engine = rig.engine().consumer(policy, handler);
    let engine = engine.source("mail".parse().unwrap(), queue, Rule::default());
    let running = engine.build().unwrap().start();
    let acked = async |expected: usize| {
        let all = async || (told.acked.lock().unwrap().len() == expected).then_some(());
        eventually(&format!("{expected} are taken"), all).await;
    };
    acked(5).await;
    rig.until(&identity("mail", "m-4"), State::InProgress).await;
    assert_eq!(told.acked.lock().unwrap().len(), 5);
    gate.add_permits(3);
    acked(8).await;
    gate.add_permits(20);
    acked(12).await;
    rig.until(&identity("mail", "m-11"), State::Completed).await;
    running.shutdown().await;
}

#[tokio::test]
async fn a_paused_consumer_keeps_its_messages_and_goes_on_when_it_is_resumed() {
    let rig = Rig::new();
    let handler = handler_fn(|_| async { Ok(Done::new()) });
    let running = rig.engine().consumer(consumer("mail"), handler);
    let running = running.build().unwrap().start();
    let set = |paused| {
        let (by, name) = (Actor::new("ada").unwrap(), "mail".parse().unwrap());
        rig.store
            .set_paused(name, paused, by, Some("a test".into()))
    };
    assert!(set(true).await.unwrap());
    rig.receive(message("mail", "m-1", "hi")).await;
    let told = async |firing| {
        let look = async || {
            let alerts = rig.seen.alerts.lock().unwrap();
            let last = alerts.iter().rfind(|told| told.1 == "paused");
            last.filter(|told| told.2 == firing).map(drop)
        };
        eventually("the alert", look).await;
    };
    told(true).await;
    rig.until(&identity("mail", "m-1"), State::Received).await;
    assert!(set(false).await.unwrap());
    rig.until(&identity("mail", "m-1"), State::Completed).await;
    told(false).await;
    running.shutdown().await;
}
