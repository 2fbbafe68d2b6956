//! Waits for the messages of open deliveries to be dealt with, and then acknowledges them.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;

use super::open::{Open, Ref};
use crate::engine::{Stopping, Waiter};

/// A delivery that stays open until its message has come to rest.
pub(super) struct Kept {
    pub(super) open: Ref,
    pub(super) waiter: Waiter,
}

/// Acknowledges until all senders are gone and nothing is left to wait for, or nothing more will be dealt with here: a handler that drains while the
/// engine stops still has its delivery acknowledged.
pub(super) async fn run(
    open: Arc<Open>,
    mut kept: mpsc::UnboundedReceiver<Kept>,
    mut drained: Stopping,
) {
    let mut waiting = FuturesUnordered::new();
    let mut is_closed = false;
    while !(is_closed && waiting.is_empty()) {
        tokio::select! {
            biased;
            next = kept.recv(), if !is_closed => match next {
                Some(next) => waiting.push(settled(next)),
                None => is_closed = true,
            },
            Some(first) = waiting.next(), if !waiting.is_empty() => {
                let mut all = vec![first];
                // Whatever else has come to rest meanwhile goes along.
                while let Some(Some(more)) = waiting.next().now_or_never() {
                    all.push(more);
                }
                open.ack(all).await;
            }
            // Last, so that what has come to rest by then is acknowledged first.
            () = drained.stopped() => break,
        }
    }
}

async fn settled(kept: Kept) -> Ref {
    kept.waiter.settled().await;
    kept.open
}
