//! Housekeeping of consumers by sequence: gaps whose time has passed.

use std::sync::Arc;

use semel_core::inbox::Order;
use tokio::time::sleep;

use super::active::{ActiveConsumer, Shared};
use super::stop::Stopping;

/// The most messages that one step changes.
const STEP: usize = 500;

/// Tends all consumers by sequence now and then, until it is stopped.
pub(super) async fn run(
    shared: Arc<Shared>,
    consumers: Vec<Arc<ActiveConsumer>>,
    mut stopping: Stopping,
) {
    loop {
        tokio::select! {
            () = stopping.stopped() => return,
            () = sleep(shared.settings.housekeeping) => {}
        }
        for active in &consumers {
            keep_house(active, &stopping).await;
        }
    }
}

/// Whether a consumer needs it.
pub(super) const fn is_needed(order: Order) -> bool {
    matches!(order, Order::Sequence { .. })
}

async fn keep_house(active: &ActiveConsumer, stopping: &Stopping) {
    while !stopping.is_stopped() {
        match active
            .shared
            .inbox
            .advance_lanes(active.policy.plan.clone(), STEP)
            .await
        {
            Ok(changed) if changed >= STEP => {}
            Ok(_) => return,
            Err(error) => {
                let consumer = active.policy.name();
                tracing::warn!(%consumer, %error, "gaps cannot be looked for");
                return;
            }
        }
    }
}
