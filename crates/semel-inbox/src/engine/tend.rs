//! Housekeeping of consumers by sequence: gaps whose time has passed.

use std::sync::Arc;

use semel_core::inbox::Order;
use tokio::time::sleep;

use super::post::{Post, Shared};
use super::stop::Stopping;

/// The most messages that one step changes.
const STEP: usize = 500;

/// Tends all consumers by sequence now and then, until it is stopped.
pub(super) async fn run(shared: Arc<Shared>, posts: Vec<Arc<Post>>, mut stopping: Stopping) {
    loop {
        tokio::select! {
            () = stopping.stopped() => return,
            () = sleep(shared.settings.tend) => {}
        }
        for post in &posts {
            tend(post, &stopping).await;
        }
    }
}

/// Whether a consumer needs it.
pub(super) const fn is_needed(order: Order) -> bool {
    matches!(order, Order::Sequence { .. })
}

async fn tend(post: &Post, stopping: &Stopping) {
    while !stopping.is_stopped() {
        match post
            .shared
            .inbox
            .tend(post.consumer.plan.clone(), STEP)
            .await
        {
            Ok(changed) if changed >= STEP => {}
            Ok(_) => return,
            Err(error) => {
                let consumer = post.consumer.name();
                tracing::warn!(%consumer, %error, "gaps cannot be looked for");
                return;
            }
        }
    }
}
