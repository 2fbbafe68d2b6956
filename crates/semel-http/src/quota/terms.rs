//! What the limits are.

use std::collections::HashMap;
use std::time::Duration;

use semel_core::Tenant;

/// What is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Limit {
    /// Requests, whatever they lead to.
    Requests,
    /// Keys that the store did not know.
    NewKeys,
    /// Bytes of what is kept: bodies and headers of outcomes, payloads and headers of messages.
    StoredBytes,
}

impl Limit {
    /// Every limit.
    pub const ALL: [Self; 3] = [Self::Requests, Self::NewKeys, Self::StoredBytes];

    /// The name used in the file, in metrics, in logs and in refusals.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::NewKeys => "new_keys",
            Self::StoredBytes => "stored_bytes",
        }
    }
}

/// So much in such a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    /// How much …
    pub amount: u64,
    /// … in how long; the bucket refills evenly.
    pub per: Duration,
    /// How much at once, from a full bucket.
    pub burst: u64,
}

impl Rate {
    /// So much in such a time, all of it at once if it must be.
    pub const fn new(amount: u64, per: Duration) -> Self {
        Self {
            amount,
            per,
            burst: amount,
        }
    }

    /// With another size of the bucket.
    #[must_use]
    pub const fn burst(mut self, burst: u64) -> Self {
        self.burst = burst;
        self
    }
}

/// The limits of one tenant, or of one tenant at one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Quota {
    /// Requests, whatever they lead to.
    pub requests: Option<Rate>,
    /// Keys that the store did not know.
    pub new_keys: Option<Rate>,
    /// Bytes of what is kept.
    pub stored_bytes: Option<Rate>,
}

impl Quota {
    /// No limit.
    pub const NONE: Self = Self {
        requests: None,
        new_keys: None,
        stored_bytes: None,
    };

    /// Whether nothing is limited.
    pub const fn is_empty(&self) -> bool {
        self.requests.is_none() && self.new_keys.is_none() && self.stored_bytes.is_none()
    }

    /// One of the limits.
    pub const fn of(&self, limit: Limit) -> Option<Rate> {
        match limit {
            Limit::Requests => self.requests,
            Limit::NewKeys => self.new_keys,
            Limit::StoredBytes => self.stored_bytes,
        }
    }

    /// These limits where there are any, the others of `general`.
    #[must_use]
    pub const fn or(self, general: &Self) -> Self {
        const fn first(own: Option<Rate>, general: Option<Rate>) -> Option<Rate> {
            match own {
                Some(rate) => Some(rate),
                None => general,
            }
        }
        Self {
            requests: first(self.requests, general.requests),
            new_keys: first(self.new_keys, general.new_keys),
            stored_bytes: first(self.stored_bytes, general.stored_bytes),
        }
    }
}

/// The limits of all tenants.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Terms {
    /// What holds for each tenant …
    pub each: Quota,
    /// … that is not named here.
    pub named: HashMap<Tenant, Quota>,
}

impl Terms {
    /// Whether no tenant has a limit.
    pub fn is_empty(&self) -> bool {
        self.each.is_empty() && self.named.values().all(Quota::is_empty)
    }

    /// What holds for a tenant.
    pub fn of(&self, tenant: &Tenant) -> &Quota {
        self.named.get(tenant).unwrap_or(&self.each)
    }
}
