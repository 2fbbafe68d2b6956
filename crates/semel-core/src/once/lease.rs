//! What the owner of a claim knows of its lease, and how the lease is kept alive.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{sleep, timeout};

use crate::clock::Moment;
use crate::policy::LeaseTerm;
use crate::record::Claim;
use crate::store::{RenewAnswer, RenewRequest, Store, StoreExt};

/// A lease as its owner can judge it: by its own clocks, and by what the store said last.
#[derive(Debug)]
pub(super) struct LeaseLife {
    term: LeaseTerm,
    /// The lease lasts at least a term from here: when it was last asked for and then given. A std mutex: it is
    /// held for a copy only.
    asked: Mutex<Moment>,
    /// The store has said that the lease is lost, or its owner lets it end.
    lost: AtomicBool,
}

impl LeaseLife {
    /// A lease of `term` that was asked for at `asked`.
    pub(super) fn new(term: LeaseTerm, asked: Moment) -> Arc<Self> {
        Arc::new(Self {
            term,
            asked: Mutex::new(asked),
            lost: AtomicBool::new(false),
        })
    }

    fn asked(&self) -> Moment {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn renewed(&self, asked: Moment) {
        *self.asked.lock().unwrap_or_else(PoisonError::into_inner) = asked;
    }

    /// Whether the lease is known, or must be taken, to be lost.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed) || self.asked().elapsed() >= self.term.get()
    }

    /// Lets the lease end: it is not renewed any more.
    pub(super) fn let_end(&self) {
        self.lost.store(true, Ordering::Relaxed);
    }

    /// Whether something may begin under it now. A process that stood still, because it was stopped, swapped out or
    /// its machine suspended, must ask this right before it begins.
    pub(super) fn may_begin(&self) -> bool {
        !self.lost.load(Ordering::Relaxed) && self.asked().elapsed_with_suspend() < self.term.get()
    }

    /// Does `work` while the lease is renewed at a third of its term.
    ///
    /// Both are polled by one task: most work ends long before its first renewal, and a task of its own
    /// would cost more than the renewal itself. The work must therefore not block.
    pub(super) async fn kept_during<T>(
        &self,
        store: Arc<dyn Store>,
        claim: Claim,
        work: impl Future<Output = T>,
    ) -> T {
        tokio::select! {
            biased;
            done = work => done,
            () = async {
                self.renew_until_lost(store, claim).await;
                std::future::pending().await
            } => unreachable!("pending never ends"),
        }
    }

    /// Returns when the lease is lost. A whole term without a renewal most likely
    /// means the same; but an answer may only have been late, so asking goes on.
    async fn renew_until_lost(&self, store: Arc<dyn Store>, claim: Claim) {
        let term = self.term.get();
        let mut pause = (term / 3).saturating_sub(self.asked().elapsed());
        loop {
            sleep(pause).await;
            if self.lost.load(Ordering::Relaxed) {
                return;
            }
            let asked = Moment::now();
            let request = RenewRequest {
                claim: claim.clone(),
                lease: self.term,
            };
            // A store that hangs or is away gets more chances before the lease ends.
            pause = match timeout(term / 6, store.renew_one(request)).await {
                Ok(Ok(RenewAnswer::Renewed(_))) => {
                    self.renewed(asked);
                    term / 3
                }
                Ok(Ok(RenewAnswer::Lost)) => return self.let_end(),
                Ok(Err(_)) | Err(_) => (term / 12).min(Duration::from_secs(1)),
            };
        }
    }
}
