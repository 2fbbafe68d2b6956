//! Where messages that arrive again come from.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use semel_core::duplicate::{Duplicate, Origin};
use semel_core::inbox::{First, Message, State};
use tokio::time::Instant;

use crate::engine::is_settled;
use crate::policy::Consumer;
use crate::source::delivered_before;

/// How long after a part of a source was taken or lost its redeliveries are put down to that.
const WINDOW: Duration = Duration::from_secs(60);

/// When parts of a consumer's sources were last taken or lost by this process.
#[derive(Debug)]
pub(crate) struct Moves {
    began: Instant,
    /// In milliseconds after the beginning, plus one; 0 if it has not happened.
    last: AtomicU64,
}

impl Default for Moves {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            last: AtomicU64::new(0),
        }
    }
}

impl Moves {
    /// A part was taken or lost.
    pub(crate) fn happened(&self) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(ms.saturating_add(1), Ordering::Relaxed);
    }

    /// Whether that was a moment ago.
    fn are_recent(&self) -> bool {
        let since = match self.last.load(Ordering::Relaxed) {
            0 => return false,
            after => Duration::from_millis(after - 1),
        };
        self.began.elapsed().saturating_sub(since) <= WINDOW
    }
}

/// What is reported of a message that was known already.
pub(super) fn duplicate<'a>(
    consumer: &'a Consumer,
    moves: &Moves,
    message: &Message,
    (state, first): (State, First),
) -> Duplicate<'a> {
    let origin = origin(state, before(message), moves.are_recent());
    Duplicate {
        age: first.age,
        settled: first.settled,
        took: first.took,
        retention: Some(consumer.plan.retention.keep()),
        ..Duplicate::of(consumer.name(), origin)
    }
}

/// What a source says about earlier deliveries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    /// It has delivered this before.
    Delivered,
    /// It has not.
    New,
    /// It does not count, but reads from a place that it may have gone back to.
    NotCounted,
}

fn before(message: &Message) -> Before {
    match delivered_before(message.headers()) {
        Some(true) => Before::Delivered,
        Some(false) => Before::New,
        None if message.origin().offset.is_some() => Before::NotCounted,
        None => Before::New,
    }
}

fn origin(first: State, before: Before, has_moved: bool) -> Origin {
    match (before, has_moved) {
        (Before::Delivered | Before::NotCounted, true) => Origin::Rebalance,
        (Before::Delivered, false) => Origin::Redelivery,
        (Before::New, _) | (Before::NotCounted, false) => match is_settled(first) {
            true => Origin::ClientRetry,
            false => Origin::ConcurrentRetry,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_origin_follows_from_the_source_and_from_how_the_first_one_stands() {
        use Before::{Delivered, New, NotCounted};
        let (done, waits) = (State::Completed, State::FailedRetryable);
        let table = [
            (done, New, false, Origin::ClientRetry),
            (done, New, true, Origin::ClientRetry),
            (State::Parked, New, false, Origin::ClientRetry),
            (waits, New, false, Origin::ConcurrentRetry),
            (State::InProgress, New, true, Origin::ConcurrentRetry),
            (done, Delivered, false, Origin::Redelivery),
            (waits, Delivered, false, Origin::Redelivery),
            (done, Delivered, true, Origin::Rebalance),
            (done, NotCounted, true, Origin::Rebalance),
            (done, NotCounted, false, Origin::ClientRetry),
            (State::Received, NotCounted, false, Origin::ConcurrentRetry),
        ];
        for (first, before, has_moved, expected) in table {
            let found = origin(first, before, has_moved);
            assert_eq!(found, expected, "{first:?} {before:?} {has_moved}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_move_is_recent_for_a_minute() {
        let moves = Moves::default();
        assert!(!moves.are_recent());
        tokio::time::advance(WINDOW * 3).await;
        moves.happened();
        assert!(moves.are_recent());
        tokio::time::advance(WINDOW).await;
        assert!(moves.are_recent());
        tokio::time::advance(Duration::from_millis(2)).await;
        assert!(!moves.are_recent());
    }
}
