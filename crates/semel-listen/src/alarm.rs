//! A timer that costs nothing until somebody has to wait.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep, sleep_until};

/// Wakes a task at a deadline that keeps moving. Made when first needed; a later deadline does not touch
/// it, because a task that is woken early just looks again.
#[derive(Debug, Default)]
pub struct Alarm(Option<Pin<Box<Sleep>>>);

impl Alarm {
    /// Whether `deadline` has passed; if not, the task of `cx` is woken by then.
    pub fn has_passed(&mut self, deadline: Instant, cx: &mut Context<'_>) -> bool {
        if Instant::now() >= deadline {
            return true;
        }
        let sleep = self
            .0
            .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if deadline < sleep.deadline() {
            sleep.as_mut().reset(deadline);
        }
        if sleep.as_mut().poll(cx) == Poll::Pending {
            return false;
        }
        // It was set for an earlier deadline that does not count any more.
        sleep.as_mut().reset(deadline);
        sleep.as_mut().poll(cx).is_ready()
    }
}
