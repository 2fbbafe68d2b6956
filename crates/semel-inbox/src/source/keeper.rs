//! Waits for the messages of open deliveries to be dealt with, and then acknowledges them.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::SourceLease;
use super::open::{Open, Ref};
use crate::engine::{Stopping, Waiter};

/// A delivery that stays open until its messages have come to rest.
pub(super) struct Kept {
    pub(super) open: Ref,
    pub(super) waiters: Vec<Waiter>,
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
                Some(next) => waiting.push(may_ack(&open, next)),
                None => is_closed = true,
            },
            Some(first) = waiting.next(), if !waiting.is_empty() => {
                let mut all = vec![first];
                // Whatever else has come to rest meanwhile goes along.
                while let Some(Some(more)) = waiting.next().now_or_never() {
                    all.push(more);
                }
                open.ack(&all).await;
            }
            // Last, so that what has come to rest by then is acknowledged first.
            () = drained.stopped() => break,
        }
    }
}

/// Waits until a delivery may be acknowledged: its messages have come to rest. The broker's patience may end before that; its messages are in the
/// inbox, which goes on with them, so it is acknowledged then, and, if it cannot be extended, as soon as a failure is durable. A delivery that
/// is lost is not waited for.
async fn may_ack(all: &Open, kept: Kept) -> Ref {
    let Kept { open, waiters } = kept;
    let lease = all.lease();
    let waits = match lease {
        Some(SourceLease { extendable, .. }) if !extendable => {
            join_all(waiters.into_iter().map(|w| w.tried().boxed())).left_future()
        }
        _ => join_all(waiters.into_iter().map(|w| w.settled().boxed())).right_future(),
    };
    let longest = lease.and_then(|lease| lease.total_max);
    // The broker counts from the delivery on.
    let since = all.since(open).unwrap_or_else(Instant::now);
    let end = longest.map(|longest| since + longest / 4 * 3);
    tokio::select! {
        _ = waits => {}
        () = all.is_lost(open) => {}
        () = sleep_until(end.unwrap_or_else(Instant::now)), if end.is_some() => {}
    }
    open
}
