//! Housekeeping: gaps whose time has passed, and what waits under an order that its consumer no longer has.

use std::sync::Arc;

use tokio::time::sleep;

use super::active::{ActiveConsumer, Shared};
use super::stop::Stopping;

/// The most messages that one step changes.
const STEP: usize = 500;

/// Moves the lanes of all consumers on now and then, until it is stopped. Also of those without an order: what waited under an earlier one
/// must not wait for ever.
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
                tracing::warn!(%consumer, %error, "lanes cannot be moved on, trying again");
                return;
            }
        }
    }
}
