//! Waits for the messages of open deliveries to be dealt with, and then acknowledges them.

use std::sync::Arc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use semel_core::inbox::Inbox;
use tokio::sync::mpsc;

use super::open::{Open, Ref};
use crate::engine::{Stopping, Waiter};

/// A delivery that stays open until its message has come to rest.
pub(super) struct Kept {
    pub(super) open: Ref,
    pub(super) waiter: Waiter,
}

/// Acknowledges until it is stopped, or all senders are gone and nothing is left to wait for.
pub(super) async fn run(
    inbox: Arc<dyn Inbox>,
    open: Arc<Open>,
    mut kept: mpsc::UnboundedReceiver<Kept>,
    mut stopping: Stopping,
) {
    let mut waiting = FuturesUnordered::new();
    let mut is_closed = false;
    while !(is_closed && waiting.is_empty()) {
        tokio::select! {
            biased;
            () = stopping.stopped() => break,
            next = kept.recv(), if !is_closed => match next {
                Some(next) => waiting.push(settled(inbox.clone(), next)),
                None => is_closed = true,
            },
            Some(first) = waiting.next(), if !waiting.is_empty() => {
                let mut all = vec![first];
                // Whatever else has come to rest meanwhile goes along.
                while let Some(Some(more)) = futures_util::FutureExt::now_or_never(waiting.next()) {
                    all.push(more);
                }
                open.ack(all).await;
            }
        }
    }
}

async fn settled(inbox: Arc<dyn Inbox>, kept: Kept) -> Ref {
    kept.waiter.settled(&*inbox).await;
    kept.open
}
