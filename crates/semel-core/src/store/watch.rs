//! What a store does beneath its verbs, told to whoever measures it.

use std::fmt;
use std::time::Duration;

use super::Swept;
use crate::clock::Doubt;
use crate::error::Error;
use crate::record::Claim;

/// Somebody who wants to know what a store does by itself.
///
/// Most of what happens shows in the answers of the verbs, and whoever wraps a store sees it there.
/// Four things do not: whether the clock can be believed, how many calls share one commit, which leases were found to have ended
/// (any verb or sweep may be the first to see it), and what the store's own sweep does. A store
/// that batches or sweeps reports them here, after they are durable; one that does neither
/// calls nothing. The calls come from the store's threads: they must be quick and not block.
pub trait StoreObserver: Send + Sync + 'static {
    /// One commit or round trip carried this many calls.
    fn committed(&self, calls: usize, took: Duration);

    /// A lease had ended without an outcome, and that is now on record.
    fn lease_ended(&self, claim: &Claim);

    /// The store's own sweep took a step, or could not.
    fn swept(&self, step: Result<&Swept, &Error>);

    /// The same of one share of the store, by its number, where the sweep goes share by share: what became of one says nothing about the others.
    fn swept_share(&self, _share: usize, step: Result<&Swept, &Error>) {
        self.swept(step);
    }

    /// Nothing was left for the store's own sweep, because other processes of the same store have swept it lately. Only a store whose processes
    /// share the work says so.
    fn swept_elsewhere(&self) {}

    /// The machine's clock has jumped ahead and the jump is doubted, or is no longer; only a store that
    /// has no server's time says so. [`crate::clock`] has the rule.
    fn clock_doubted(&self, _doubt: Option<Doubt>) {}
}

impl fmt::Debug for dyn StoreObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreObserver")
    }
}
