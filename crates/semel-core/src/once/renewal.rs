//! Keeps a lease alive until its flight has landed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use crate::policy::LeaseTerm;
use crate::record::Claim;
use crate::store::{RenewAnswer, RenewRequest, Store, StoreExt};

/// Whether a lease is known, or must be taken, to be lost.
pub(super) type Lost = Arc<AtomicBool>;

/// Does `work` while `claim`, which was asked for at `asked`, is renewed at a third of its term.
///
/// Both are polled by one task: most work ends long before its first renewal, and a task of its own
/// would cost more than the renewal itself. The work must therefore not block.
pub(super) async fn renewed<T>(
    store: Arc<dyn Store>,
    claim: Claim,
    term: LeaseTerm,
    asked: Instant,
    work: impl AsyncFnOnce(Lost) -> T,
) -> T {
    let lost = Lost::default();
    let renewer = Renewer {
        store,
        claim,
        term,
        alive_from: asked,
        lost: lost.clone(),
    };
    tokio::select! {
        biased;
        done = work(lost) => done,
        () = async {
            renewer.renew_until_lost().await;
            std::future::pending().await
        } => unreachable!("pending never ends"),
    }
}

struct Renewer {
    store: Arc<dyn Store>,
    claim: Claim,
    term: LeaseTerm,
    /// The lease lasts at least a term from here: when it was last asked for and then given.
    alive_from: Instant,
    lost: Lost,
}

impl Renewer {
    /// Returns when the store says that the lease is lost. A whole term without a renewal most likely
    /// means the same, and the run is told; but an answer may only have been late, so asking goes on.
    async fn renew_until_lost(mut self) {
        let term = self.term.get();
        let mut pause = (term / 3).saturating_sub(self.alive_from.elapsed());
        loop {
            sleep(pause).await;
            let asked = Instant::now();
            // A store that hangs or is away gets more chances before the lease ends.
            pause = match timeout(term / 6, self.ask()).await {
                Ok(Ok(RenewAnswer::Renewed(_))) => {
                    self.alive_from = asked;
                    term / 3
                }
                Ok(Ok(RenewAnswer::Lost)) => return self.lost.store(true, Ordering::Relaxed),
                Ok(Err(_)) | Err(_) => (term / 12).min(Duration::from_secs(1)),
            };
            let lost = self.alive_from.elapsed() >= term;
            self.lost.store(lost, Ordering::Relaxed);
        }
    }

    async fn ask(&self) -> crate::Result<RenewAnswer> {
        let request = RenewRequest {
            claim: self.claim.clone(),
            lease: self.term,
        };
        self.store.renew_one(request).await
    }
}
