//! From the source into the inbox.

use std::sync::Arc;

use semel_core::inbox::{Action, Arrivals, Operation, Receipt, Selection};
use semel_core::store::Actor;
use tokio::sync::mpsc::UnboundedReceiver;

use super::Point;
use super::job::{Kind, kind_of};
use super::worker::{Order, Worker, next_orders, patiently};
use crate::killing::say;

/// Receives what is delivered, many messages with one write, and replays what is to be replayed.
pub(super) async fn serve(worker: Arc<Worker>, mut incoming: UnboundedReceiver<Order>) {
    loop {
        let mut delivered = Vec::new();
        for order in next_orders(&mut incoming).await {
            match order {
                Order::Deliver(id) => delivered.push(id),
                Order::Replay(id) => replay(&worker, &id).await,
            }
        }
        if delivered.is_empty() {
            // A source that was not told in time delivers again.
            delivered = worker.owed().iter().cloned().collect();
        }
        receive(&worker, delivered).await;
    }
}

async fn receive(worker: &Worker, ids: Vec<String>) {
    for id in &ids {
        worker.stops.reach(id, Point::BeforeReceive).await;
    }
    let before_claim = |id: &&String| worker.stops.is(id, Point::BeforeClaim);
    let stopping = ids.iter().find(before_claim);
    // Held until the process is killed: nobody claims what stands still before its claim.
    let _nobody_claims = match stopping {
        Some(_) => Some(worker.claiming.lock().await),
        None => None,
    };
    if ids.is_empty() {
        return;
    }
    let arrivals = Arrivals {
        plan: worker.job.orders(),
        messages: ids.iter().map(|id| worker.job.message(id)).collect(),
        positions: Vec::new(),
    };
    let receipts = patiently(|| worker.inbox.receive(arrivals.clone())).await;
    for (id, receipt) in ids.iter().zip(receipts) {
        let is_final = match receipt {
            Receipt::Stored { .. } => false,
            Receipt::Duplicate { state, .. } => state.is_final(),
            Receipt::Conflict => panic!("{id} arrived with another payload"),
        };
        if is_final || kind_of(id) != Kind::Late {
            worker.ack(id).await;
        }
        if is_final {
            say(&format!("done {id}"));
        }
    }
    if let Some(id) = stopping {
        worker.stops.reach(id, Point::BeforeClaim).await;
    }
}

async fn replay(worker: &Worker, id: &str) {
    let key = semel_core::Key::new(id).expect("ids of messages are valid keys");
    let operation = Operation {
        plan: worker.job.orders(),
        select: Selection {
            ids: vec![key],
            ..Selection::default()
        },
        action: Action::Replay { rebuild: false },
        by: Actor::new("the supervisor").expect("a short name"),
        reason: None,
        verb: "replay",
        dry_run: false,
        edit: None,
    };
    let report = patiently(|| worker.inbox.operate(operation.clone())).await;
    if report.changed == 1 {
        say(&format!("replaying {id}"));
    }
}
