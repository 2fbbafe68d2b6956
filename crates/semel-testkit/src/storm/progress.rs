//! How far a storm is: what a fault waits for, so that it strikes in the middle.
//!
//! A fast store would be done before a fault strikes, so half of the operations wait for it. They come
//! when the fault says that it has struck, when it waits for the second time, or when it has returned.

use std::sync::Arc;

use tokio::sync::watch;

/// The storm as the fault sees it.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    seen: Arc<watch::Sender<Seen>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    answers: usize,
    refused: usize,
    effects: usize,
    /// How often the fault has waited.
    waits: usize,
    /// The fault is in force; those who wait for it may come.
    struck: bool,
    /// Everything works again.
    calm: bool,
    /// Every caller that does not wait for the fault has an end.
    ahead_over: bool,
    over: bool,
}

impl Progress {
    /// The fault is in force: the other half of the operations comes now.
    pub fn struck(&self) {
        self.seen.send_modify(|seen| seen.struck = true);
    }

    /// Waits until callers were answered `count` times, refusals included, or nobody is on the way.
    pub async fn answers(&self, count: usize) {
        self.until(|seen| seen.answers >= count).await;
    }

    /// Waits until the store was reported unavailable `count` times, or nobody is on the way.
    pub async fn refused(&self, count: usize) {
        self.until(|seen| seen.refused >= count).await;
    }

    /// Waits until there were `count` effects, or nobody is on the way.
    pub async fn effects(&self, count: usize) {
        self.until(|seen| seen.effects >= count).await;
    }

    /// Whether every caller has an end.
    pub fn is_over(&self) -> bool {
        self.seen.borrow().over
    }

    async fn until(&self, reached: impl Fn(&Seen) -> bool) {
        self.seen.send_modify(|seen| {
            seen.struck |= seen.waits > 0;
            seen.waits += 1;
        });
        let nobody = |seen: &Seen| seen.over || (seen.ahead_over && !seen.struck);
        self.wait_for(|seen| nobody(seen) || reached(seen)).await;
    }

    async fn wait_for(&self, reached: impl FnMut(&Seen) -> bool) {
        let mut seen = self.seen.subscribe();
        let waited = seen.wait_for(reached).await;
        waited.expect("this value keeps the other end");
    }

    /// Waits until the fault has struck.
    pub(super) async fn strike(&self) {
        self.wait_for(|seen| seen.struck).await;
    }

    pub(super) fn is_calm(&self) -> bool {
        self.seen.borrow().calm
    }

    pub(super) fn calm(&self) {
        self.seen.send_modify(|seen| {
            seen.struck = true;
            seen.calm = true;
        });
    }

    pub(super) fn ahead_over(&self) {
        self.seen.send_modify(|seen| seen.ahead_over = true);
    }

    pub(super) fn over(&self) {
        self.seen.send_modify(|seen| seen.over = true);
    }

    pub(super) fn answered(&self, refused: bool) {
        self.seen.send_modify(|seen| {
            seen.answers += 1;
            seen.refused += usize::from(refused);
        });
    }

    pub(super) fn took_effect(&self) {
        self.seen.send_modify(|seen| seen.effects += 1);
    }
}
