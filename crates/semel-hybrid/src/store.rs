//! The hybrid itself: two stores behind one [`Store`].

use std::sync::Arc;

use semel_core::record::{Claim, Event};
use semel_core::store::{
    Answer, Answers, AuditEntry, Batch, ClaimAnswer, ClaimRequest, Limits, MarkAnswer, MarkRequest,
    OutcomeStore, Page, Query, ReleaseAnswer, RenewAnswer, RenewRequest, ResolveAnswer,
    ResolveRequest, SettleAnswer, SettleRequest, Stats, Swept,
};
use semel_core::{Fingerprint, Identity, Record, Store, Timestamp};

/// Claims in a fast store, outcomes in a durable one.
///
/// ```
/// use std::sync::Arc;
/// use semel_core::{MemoryStore, Once};
/// use semel_hybrid::Hybrid;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("outcomes.db");
/// let fast = Arc::new(MemoryStore::new());
/// let durable = Arc::new(semel_sqlite::Config::new(path).open()?);
/// let once = Once::new(Hybrid::new(fast, durable));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Hybrid {
    pub(crate) fast: Arc<dyn Store>,
    pub(crate) durable: Arc<dyn OutcomeStore>,
}

impl Hybrid {
    /// Claims in `fast`, keeps outcomes in `durable`. All who share one use the same two.
    pub fn new(fast: Arc<dyn Store>, durable: Arc<dyn OutcomeStore>) -> Self {
        Self { fast, durable }
    }
}

impl Store for Hybrid {
    fn limits(&self) -> Limits {
        self.fast.limits().and(self.durable.limits())
    }

    /// Retention is the durable store's business; leases are judged by the fast one alone.
    fn now(&self) -> Timestamp {
        self.durable.now()
    }

    fn claim(&self, items: Batch<ClaimRequest>) -> Answers<'_, ClaimAnswer> {
        Box::pin(self.claim_all(items))
    }

    fn cached(&self, identity: &Identity, fingerprint: Fingerprint) -> Option<Arc<Record>> {
        let durable = self.durable.cached(identity, fingerprint);
        durable.or_else(|| self.fast.cached(identity, fingerprint))
    }

    fn renew(&self, items: Batch<RenewRequest>) -> Answers<'_, RenewAnswer> {
        self.fast.renew(items)
    }

    fn settle(&self, items: Batch<SettleRequest>) -> Answers<'_, SettleAnswer> {
        Box::pin(self.settle_all(items))
    }

    fn release(&self, items: Batch<Claim>) -> Answers<'_, ReleaseAnswer> {
        self.fast.release(items)
    }

    fn mark_unknown(&self, items: Batch<MarkRequest>) -> Answers<'_, MarkAnswer> {
        self.fast.mark_unknown(items)
    }

    fn resolve(&self, items: Batch<ResolveRequest>) -> Answers<'_, ResolveAnswer> {
        Box::pin(self.resolve_all(items))
    }

    fn look_up(&self, identities: Batch<Identity>) -> Answers<'_, Option<Arc<Record>>> {
        Box::pin(self.look_up_all(identities))
    }

    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>> {
        Box::pin(self.merged_history(identity))
    }

    fn list(&self, query: Query) -> Answer<'_, Page> {
        Box::pin(self.merged_list(query))
    }

    fn sweep(&self, limit: usize) -> Answer<'_, Swept> {
        Box::pin(self.sweep_both(limit))
    }

    fn stats(&self) -> Answer<'_, Stats> {
        Box::pin(self.merged_stats())
    }

    fn audit(&self, limit: usize) -> Answer<'_, Vec<AuditEntry>> {
        Box::pin(self.merged_audit(limit))
    }
}
