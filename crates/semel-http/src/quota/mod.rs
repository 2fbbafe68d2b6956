//! Rate limits and quotas per tenant: how many requests, new keys and stored bytes one caller may bring.
//!
//! Each limit is a token bucket that refills evenly. A **request** counts whatever it leads to. A **new key** counts when its claim is granted: its
//! token is taken before the claim and given back as soon as the store knows the operation already, so that replays and duplicates that wait cost
//! requests only. **Stored bytes** are checked before anything runs and charged when an outcome is stored, so a tenant may overdraw its quota by
//! what is under way; it waits until its limit has made up for that, but for [`DEBT_MAX`] at most. What is refused has run nothing and stored nothing.
//!
//! - `terms` is what the limits are, `bucket` how one fills, `table` keeps the buckets of all tenants in bounded memory.
//! - `ticket` is the right to use a new key, `refusal` the 429 of one who has none left.
//!
//! Buckets are in the memory of the process: several gateways on one store allow each its own limits. There is no state to share and nothing to
//! wait for, and a limit is there to stop abuse, not to bill.

mod bucket;
mod refusal;
mod table;
mod terms;
mod ticket;

pub use bucket::DEBT_MAX;
pub use refusal::Exceeded;
pub use table::TENANTS_MAX;
pub use terms::{Limit, Quota, Rate, Terms};
pub use ticket::Ticket;

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use semel_core::{Outcome, Scope, Tenant};
use tokio::time::Instant;

use crate::problem::Problem;
use table::{Holder, Table};

/// How often the log names refusals at most.
const LOG_EVERY: Duration = Duration::from_secs(1);

/// Sees what is refused. Called on the request's own path: it must be quick and must not block.
pub trait QuotaObserver: Send + Sync + 'static {
    /// A request was refused by a limit. `scope` is the route's, the consumer or the API, never what a caller chose.
    fn limited(&self, limit: Limit, scope: &Scope);
}

/// The limits of all doors of a process. Cheap to clone; clones share their buckets.
#[derive(Clone)]
pub struct Quotas(Arc<Inner>);

struct Inner {
    /// Whether the terms set any limit: without one a request costs one load.
    is_set: AtomicBool,
    // Plain locks: held for the clone of one pointer, and never across an await.
    terms: RwLock<Arc<Terms>>,
    table: Table,
    began: Instant,
    watch: Option<Arc<dyn QuotaObserver>>,
    logged: Mutex<Logged>,
}

/// Refusals since the log last named one.
#[derive(Debug, Default)]
struct Logged {
    at: Option<Instant>,
    since: u64,
}

/// Where a request came in: a route, a consumer or an API, with limits of its own.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Its name, for metrics and for buckets of its own.
    pub scope: &'a Scope,
    /// What holds here besides the tenant's limits.
    pub quota: &'a Quota,
}

impl<'a> Place<'a> {
    /// A place without limits of its own.
    pub const fn plain(scope: &'a Scope) -> Self {
        const NONE: Quota = Quota::NONE;
        Self {
            scope,
            quota: &NONE,
        }
    }
}

impl Default for Quotas {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Quotas {
    /// No limits until [`Quotas::set`].
    pub fn new(watch: Option<Arc<dyn QuotaObserver>>) -> Self {
        Self(Arc::new(Inner {
            is_set: AtomicBool::new(false),
            terms: RwLock::default(),
            table: Table::new(),
            began: Instant::now(),
            watch,
            logged: Mutex::default(),
        }))
    }

    /// Takes other limits, from the next request on. What was used stays used.
    pub fn set(&self, terms: Terms) {
        let is_set = !terms.is_empty();
        let mut place = self.0.terms.write().unwrap_or_else(PoisonError::into_inner);
        *place = Arc::new(terms);
        drop(place);
        self.0.is_set.store(is_set, Ordering::Release);
    }

    /// Counts a request.
    pub fn request(&self, at: Place<'_>, tenant: &Tenant) -> Result<(), Exceeded> {
        self.requests(at, tenant, 1)
    }

    /// Counts requests that come as one: all of them, or none. More of them than the limit lets in at once are let in by a full bucket, which then
    /// owes the rest.
    pub fn requests(&self, at: Place<'_>, tenant: &Tenant, count: u64) -> Result<(), Exceeded> {
        match self.holder(at, tenant) {
            Some(holder) => self.take(&holder, Limit::Requests, count),
            None => Ok(()),
        }
    }

    /// Counts requests no longer that turned out to be part of one refusal.
    pub fn uncount(&self, at: Place<'_>, tenant: &Tenant, count: u64) {
        if let Some(holder) = self.holder(at, tenant) {
            self.give_back(&holder, Limit::Requests, count);
        }
    }

    /// The right to use a key that the store does not know, if the tenant has one and may store more. It is given back with the ticket, unless
    /// the ticket is used.
    pub fn new_key(&self, at: Place<'_>, tenant: &Tenant) -> Result<Ticket, Exceeded> {
        self.new_keys(at, tenant, 1)
    }

    /// The same for keys that come as one: all of them, or none, as with [`Quotas::requests`].
    pub fn new_keys(&self, at: Place<'_>, tenant: &Tenant, count: u64) -> Result<Ticket, Exceeded> {
        let Some(holder) = self.holder(at, tenant) else {
            return Ok(Ticket::default());
        };
        self.look(&holder, Limit::StoredBytes, 1)?;
        self.take(&holder, Limit::NewKeys, count)?;
        Ok(Ticket::new(self.clone(), holder, count))
    }

    /// Whether [`Quotas::new_keys`] would be granted at this moment. Nothing is taken.
    pub fn would_allow(&self, at: Place<'_>, tenant: &Tenant, count: u64) -> Result<(), Exceeded> {
        let Some(holder) = self.holder(at, tenant) else {
            return Ok(());
        };
        self.look(&holder, Limit::StoredBytes, 1)?;
        self.look(&holder, Limit::NewKeys, count)
    }

    /// A ticket for what is on record: it holds no token for a new key. Should its claim be granted all the same, that and what is stored with it are
    /// charged.
    pub fn on_record(&self, at: Place<'_>, tenant: &Tenant) -> Ticket {
        match self.holder(at, tenant) {
            Some(holder) => Ticket::new(self.clone(), holder, 0),
            None => Ticket::default(),
        }
    }

    /// Charges what was stored on behalf of a tenant, whether it has so much left or not: the effect has happened.
    pub fn stored(&self, at: Place<'_>, tenant: &Tenant, bytes: u64) {
        if let Some(holder) = self.holder(at, tenant) {
            self.charge(&holder, Limit::StoredBytes, bytes);
        }
    }

    /// Whether a limit of this kind holds for a tenant there.
    pub fn limits(&self, at: Place<'_>, tenant: &Tenant, limit: Limit) -> bool {
        let holder = self.holder(at, tenant);
        holder.is_some_and(|holder| holder.is_limited(limit))
    }

    /// The refusal of a request that is over a limit. It is counted, and the log names it now and then.
    pub fn refuse(&self, exceeded: Exceeded, at: Place<'_>, tenant: &Tenant) -> Problem {
        if let Some(watch) = &self.0.watch {
            watch.limited(exceeded.limit, at.scope);
        }
        if let Some(refused) = self.due_in_log() {
            tracing::warn!(
                target: "semel::limits",
                limit = exceeded.limit.name(),
                scope = %at.scope,
                %tenant,
                refused,
                "requests over a limit were refused, this is the last of them"
            );
        }
        exceeded.problem()
    }

    /// How many tenants and places have buckets that are not full, or were not when last looked at.
    pub fn held(&self) -> usize {
        self.0.table.len()
    }

    /// How many refusals there were since the log last named one, if it is to name one now.
    fn due_in_log(&self) -> Option<u64> {
        let now = Instant::now();
        let mut logged = self.0.logged.lock().unwrap_or_else(PoisonError::into_inner);
        logged.since += 1;
        match logged.at {
            Some(at) if now.duration_since(at) < LOG_EVERY => None,
            _ => {
                logged.at = Some(now);
                Some(std::mem::take(&mut logged.since))
            }
        }
    }

    /// Whose buckets count; `None` if there is no limit.
    fn holder(&self, at: Place<'_>, tenant: &Tenant) -> Option<Holder> {
        let is_set = self.0.is_set.load(Ordering::Acquire);
        if !is_set && at.quota.is_empty() {
            return None;
        }
        let terms = self.0.terms.read().unwrap_or_else(PoisonError::into_inner);
        let named = terms.named.get(tenant);
        let quota = (*named.unwrap_or(&terms.each), named.is_some());
        drop(terms);
        Some(self.0.table.holder(quota, at, tenant))
    }

    /// Nanoseconds since these buckets were made.
    fn now(&self) -> u64 {
        u64::try_from(self.0.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn take(&self, holder: &Holder, limit: Limit, amount: u64) -> Result<(), Exceeded> {
        let now = self.now();
        self.0.table.take(holder, limit, amount, now)
    }

    fn look(&self, holder: &Holder, limit: Limit, amount: u64) -> Result<(), Exceeded> {
        let now = self.now();
        self.0.table.look(holder, limit, amount, now)
    }

    fn charge(&self, holder: &Holder, limit: Limit, amount: u64) {
        let now = self.now();
        self.0.table.charge(holder, limit, amount, now);
    }

    fn give_back(&self, holder: &Holder, limit: Limit, amount: u64) {
        self.0.table.give_back(holder, limit, amount);
    }
}

impl fmt::Debug for Quotas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Quotas")
    }
}

/// What an outcome takes in the store, in bytes: its body and its headers.
pub fn bytes_of(outcome: &Outcome) -> u64 {
    let headers = outcome.headers.iter();
    let headers: usize = headers.map(|(name, value)| name.len() + value.len()).sum();
    let body = outcome.body.kept().map_or(0, |body| body.len());
    (headers + body) as u64
}

#[cfg(test)]
mod tests;
