//! Alerts: told when they begin and when they end.

use semel_core::Inbox;
use semel_core::inbox::order::{Baseline, OnGap};
use semel_core::inbox::{Action, Arrivals, OnTerminal, Operation, Order, Selection, State};
use semel_core::store::Actor;
use semel_inbox::Consumer;
use semel_inbox::{Done, Failure, handler_fn};

use crate::support::{Rig, consumer, eventually, identity, message};

/// What was told of an alert.
fn all(rig: &Rig, alert: &'static str) -> Vec<bool> {
    let alerts = rig.seen.alerts.lock().unwrap();
    let of_it = alerts.iter().filter(|told| told.1 == alert);
    of_it.map(|told| told.2).collect()
}

/// Until this is what was told last.
async fn told(rig: &Rig, alert: &'static str, firing: bool) {
    let look = async || {
        let last = all(rig, alert).last().copied();
        (last == Some(firing)).then_some(())
    };
    eventually(&format!("{alert} {firing}"), look).await;
}

#[tokio::test]
async fn dead_letters_and_age_are_told_and_taken_back() {
    let rig = Rig::new();
    let handler = handler_fn(|_| async { Err(Failure::terminal("bad")) });
    let policy = consumer("mail");
    let plan = policy.plan.clone();
    let running = rig.engine().consumer(policy, handler).build().unwrap();
    let running = running.start();
    rig.receive(message("mail", "m-1", "hi")).await;
    rig.until(&identity("mail", "m-1"), State::FailedTerminal)
        .await;
    told(&rig, "parked", true).await;
    let skip = Operation {
        plan,
        select: Selection::default(),
        action: Action::Skip,
        by: Actor::new("ada").unwrap(),
        reason: None,
        verb: "inbox skip",
        dry_run: false,
        edit: None,
    };
    rig.store.operate(skip).await.unwrap();
    told(&rig, "parked", false).await;
    running.shutdown().await;
    let parked = all(&rig, "parked");
    assert!(
        parked.ends_with(&[true, false]) && parked.len() <= 3,
        "{parked:?}"
    );
    // What never fired is told once, because an engine before this one may have said that it does.
    assert_eq!(all(&rig, "pending-age"), [false]);
}

#[tokio::test]
async fn a_missing_version_and_many_duplicates_are_told() {
    let rig = Rig::new();
    let mut policy: Consumer = consumer("index");
    policy.plan.order = Order::Sequence {
        baseline: Baseline::After(0),
        on_gap: OnGap::default(),
        on_terminal: OnTerminal::Park,
    };
    let plan = policy.plan.clone();
    let handler = handler_fn(|_| async { Ok(Done::new()) });
    let running = rig.engine().consumer(policy, handler).build().unwrap();
    let running = running.start();
    let version = |n: u64| {
        let message = message("index", &format!("v-{n}"), "{}");
        let message = message.with_lane("o-1".parse().unwrap());
        message.with_sequence(n).unwrap()
    };
    let arrivals = |messages| Arrivals {
        plan: plan.clone(),
        messages,
        positions: Vec::new(),
    };
    rig.store.receive(arrivals(vec![version(2)])).await.unwrap();
    told(&rig, "sequence-gap", true).await;
    let receiver = running.receiver(&"index".parse().unwrap()).unwrap();
    for _ in 0..12 {
        receiver.receive(version(1)).await.unwrap();
    }
    told(&rig, "sequence-gap", false).await;
    told(&rig, "duplicate-spike", true).await;
    assert!(all(&rig, "circuit-open").iter().all(|firing| !firing));
    rig.until(&identity("index", "v-2"), State::Completed).await;
    running.shutdown().await;
}

#[tokio::test]
async fn what_waits_for_too_long_is_told() {
    let (rig, clock) = Rig::with_clock();
    let handler = handler_fn(|_| async { std::future::pending().await });
    let engine = rig.engine().clock(clock.clone());
    let running = engine.consumer(consumer("mail"), handler).build().unwrap();
    let _running = running.start();
    rig.receive(message("mail", "m-1", "hi")).await;
    rig.until(&identity("mail", "m-1"), State::InProgress).await;
    clock.advance(std::time::Duration::from_secs(301));
    told(&rig, "pending-age", true).await;
}
