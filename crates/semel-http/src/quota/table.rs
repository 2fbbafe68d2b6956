//! The buckets of all tenants, in bounded memory.
//!
//! Tenants come from callers, so there may be millions of them. A bucket that is full again says nothing and is forgotten when room is needed; while
//! there is none, further tenants share one bucket per shard and rate, which limits them more strictly, never less. Tenants that have limits by name
//! are as many as an operator has written down: they always have buckets of their own.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};

use semel_core::{Scope, Tenant};

use super::bucket::{self, FullAt, Level};
use super::{Exceeded, Limit, Place, Quota, Rate};

/// The most tenants, and tenants at places, that have buckets of their own at once, besides those that have limits by name.
pub const TENANTS_MAX: usize = 65_536;
const SHARDS: usize = 64;
const PER_SHARD: usize = TENANTS_MAX / SHARDS;
/// How often a shard that has no room looks for buckets that are full again.
const LOOK_EVERY: u64 = 10_000_000;

/// One bucket per limit.
type Buckets = [Level; Limit::ALL.len()];

/// Whose buckets count, and by which rates: the tenant's, and the tenant's at the place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Holder {
    of: [(u64, Quota); 2],
    /// Whether the tenant has limits by name.
    is_named: bool,
}

impl Holder {
    /// Whether any bucket counts for a limit.
    pub(super) fn is_limited(&self, limit: Limit) -> bool {
        self.places(limit).next().is_some()
    }

    /// Each bucket that counts for a limit.
    fn places(&self, limit: Limit) -> impl Iterator<Item = Bucket> {
        let (rates, is_named) = (self.of.into_iter(), self.is_named);
        rates.filter_map(move |(name, quota)| {
            let rate = quota.of(limit)?;
            Some(Bucket {
                name,
                limit,
                rate,
                is_named,
            })
        })
    }
}

/// One bucket that counts for a limit.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    name: u64,
    limit: Limit,
    rate: Rate,
    is_named: bool,
}

#[derive(Debug, Default)]
struct Shard {
    own: HashMap<u64, Buckets>,
    /// Those of tenants without room. What one rate takes says nothing about another, so each has its own; there are as many as are configured.
    shared: HashMap<(Limit, Rate), FullAt>,
    looked_at: u64,
}

impl Shard {
    fn full_at(&mut self, of: Bucket, now: u64) -> &mut FullAt {
        let needs_room = !of.is_named && !self.own.contains_key(&of.name);
        let is_crowded = needs_room && self.own.len() >= PER_SHARD;
        if is_crowded && now >= self.looked_at.saturating_add(LOOK_EVERY) {
            self.looked_at = now;
            self.own
                .retain(|_, levels| levels.iter().any(|level| !level.is_full(now)));
            self.shared.retain(|_, full_at| *full_at > now);
        }
        match is_crowded && self.own.len() >= PER_SHARD {
            true => self.shared.entry((of.limit, of.rate)).or_default(),
            false => {
                let levels = self.own.entry(of.name).or_default();
                levels[of.limit as usize].at(of.rate, now)
            }
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

    pub(super) fn holder(
        &self,
        (quota, is_named): (Quota, bool),
        at: Place<'_>,
        tenant: &Tenant,
    ) -> Holder {
        let name = |scope: Option<&Scope>| self.hasher.hash_one((scope, tenant));
        let here = match at.quota.is_empty() {
            true => 0,
            false => name(Some(at.scope)),
        };
        Holder {
            of: [(name(None), quota), (here, *at.quota)],
            is_named,
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
        for (done, of) in holder.places(limit).enumerate() {
            let rate = of.rate;
            let taken = self.with(of, now, |at| bucket::take(at, rate, amount, now));
            if let Err(wait) = taken {
                for of in holder.places(limit).take(done) {
                    self.put_back(of, amount);
                }
                return Err(Exceeded { limit, rate, wait });
            }
        }
        Ok(())
    }

    /// Whether so much could be taken from every bucket that counts.
    pub(super) fn look(
        &self,
        holder: &Holder,
        limit: Limit,
        amount: u64,
        now: u64,
    ) -> Result<(), Exceeded> {
        holder.places(limit).try_for_each(|of| {
            let rate = of.rate;
            let left = self.with(of, now, |at| bucket::look(*at, rate, amount, now));
            left.map_err(|wait| Exceeded { limit, rate, wait })
        })
    }

    /// Takes from every bucket that counts, what is not there too.
    pub(super) fn charge(&self, holder: &Holder, limit: Limit, amount: u64, now: u64) {
        for of in holder.places(limit) {
            self.with(of, now, |at| bucket::charge(at, of.rate, amount, now));
        }
    }

    pub(super) fn give_back(&self, holder: &Holder, limit: Limit, amount: u64) {
        for of in holder.places(limit) {
            self.put_back(of, amount);
        }
    }

    /// What was taken from a shared bucket goes back there only while the tenant has none of its own; a token more or less in a crowd is no harm.
    fn put_back(&self, of: Bucket, amount: u64) {
        let mut shard = self.shard(of.name);
        let shard = &mut *shard;
        if let Some(levels) = shard.own.get_mut(&of.name) {
            levels[of.limit as usize].give_back(amount);
        } else if let Some(full_at) = shard.shared.get_mut(&(of.limit, of.rate)) {
            bucket::give_back(full_at, of.rate, amount);
        }
    }

    fn with<T>(&self, of: Bucket, now: u64, f: impl FnOnce(&mut FullAt) -> T) -> T {
        f(self.shard(of.name).full_at(of, now))
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
