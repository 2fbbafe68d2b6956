//! The buckets of all tenants, in bounded memory.
//!
//! Tenants come from callers, so there may be millions of them. A bucket that is full again says nothing and is forgotten when room is needed; while
//! there is none, further tenants share one bucket per shard, which limits them more strictly, never less.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use semel_core::{Scope, Tenant};

use super::bucket::{self, FullAt};
use super::{Exceeded, Limit, Place, Quota, Rate};

/// The most tenants, and tenants at places, that have buckets of their own at once.
pub const TENANTS_MAX: usize = 65_536;
const SHARDS: usize = 64;
const PER_SHARD: usize = TENANTS_MAX / SHARDS;
/// How often a shard that has no room looks for buckets that are full again.
const LOOK_EVERY: u64 = 10_000_000;

/// One bucket per limit.
type Buckets = [FullAt; Limit::ALL.len()];

/// Whose buckets count, and by which rates: the tenant's, and the tenant's at the place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Holder {
    of: [(u64, Quota); 2],
}

impl Holder {
    /// Each bucket that counts for a limit.
    fn rates(&self, limit: Limit) -> impl Iterator<Item = (u64, Rate)> {
        let rates = self.of.into_iter();
        rates.filter_map(move |(name, quota)| quota.of(limit).map(|rate| (name, rate)))
    }
}

#[derive(Debug, Default)]
struct Shard {
    own: HashMap<u64, Buckets>,
    shared: Buckets,
    looked_at: u64,
}

impl Shard {
    fn buckets(&mut self, name: u64, now: u64) -> &mut Buckets {
        let is_crowded = self.own.len() >= PER_SHARD && !self.own.contains_key(&name);
        if is_crowded && now >= self.looked_at.saturating_add(LOOK_EVERY) {
            self.looked_at = now;
            self.own
                .retain(|_, full_at| full_at.iter().any(|at| *at > now));
        }
        match is_crowded && self.own.len() >= PER_SHARD {
            true => &mut self.shared,
            false => self.own.entry(name).or_default(),
        }
    }
}

/// All buckets. A name is a hash with a random key of the process: what collides shares a bucket, and callers cannot make it collide.
pub(super) struct Table {
    hasher: RandomState,
    // Plain locks, held for arithmetic.
    shards: [Mutex<Shard>; SHARDS],
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            hasher: RandomState::new(),
            shards: std::array::from_fn(|_| Mutex::default()),
        }
    }

    pub(super) fn holder(&self, quota: Quota, at: Place<'_>, tenant: &Tenant) -> Holder {
        let name = |scope: Option<&Scope>| self.hasher.hash_one((scope, tenant));
        let here = match at.quota.is_empty() {
            true => 0,
            false => name(Some(at.scope)),
        };
        Holder {
            of: [(name(None), quota), (here, *at.quota)],
        }
    }

    pub(super) fn len(&self) -> usize {
        let shards = self.shards.iter();
        shards.map(|shard| locked(shard).own.len()).sum()
    }

    /// Takes from every bucket that counts, or from none.
    pub(super) fn take(
        &self,
        holder: &Holder,
        limit: Limit,
        amount: u64,
        now: u64,
    ) -> Result<(), Exceeded> {
        for (done, (name, rate)) in holder.rates(limit).enumerate() {
            let taken = self.with(name, now, limit, |at| bucket::take(at, rate, amount, now));
            if let Err(wait) = taken {
                for (name, rate) in holder.rates(limit).take(done) {
                    self.put_back(name, limit, rate, amount);
                }
                return Err(Exceeded { limit, rate, wait });
            }
        }
        Ok(())
    }

    /// Whether every bucket that counts has something left.
    pub(super) fn look(&self, holder: &Holder, limit: Limit, now: u64) -> Result<(), Exceeded> {
        holder.rates(limit).try_for_each(|(name, rate)| {
            let left = self.with(name, now, limit, |at| bucket::look(*at, rate, now));
            left.map_err(|wait| Exceeded { limit, rate, wait })
        })
    }

    /// Takes from every bucket that counts, what is not there too.
    pub(super) fn charge(&self, holder: &Holder, limit: Limit, amount: u64, now: u64) {
        for (name, rate) in holder.rates(limit) {
            self.with(name, now, limit, |at| bucket::charge(at, rate, amount, now));
        }
    }

    pub(super) fn give_back(&self, holder: &Holder, limit: Limit, amount: u64) {
        for (name, rate) in holder.rates(limit) {
            self.put_back(name, limit, rate, amount);
        }
    }

    /// What was taken from a shared bucket goes back there only while the tenant has none of its own; a token more or less in a crowd is no harm.
    fn put_back(&self, name: u64, limit: Limit, rate: Rate, amount: u64) {
        let mut shard = self.shard(name);
        let shard = &mut *shard;
        let buckets = shard.own.get_mut(&name).unwrap_or(&mut shard.shared);
        bucket::give_back(&mut buckets[limit as usize], rate, amount);
    }

    fn with<T>(&self, name: u64, now: u64, limit: Limit, f: impl FnOnce(&mut FullAt) -> T) -> T {
        f(&mut self.shard(name).buckets(name, now)[limit as usize])
    }

    fn shard(&self, name: u64) -> MutexGuard<'_, Shard> {
        let index = usize::try_from(name % SHARDS as u64).expect("there are few shards");
        locked(&self.shards[index])
    }
}

fn locked(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    // The numbers are whole after every statement, so a poisoned lock protects nothing.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
