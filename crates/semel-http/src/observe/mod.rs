//! Watching before acting: everything passes, and what the guard would have seen is recorded.
//!
//! Observations live in the same store as claims, under scopes of their own (`observe:` in front), so
//! that several gateways share them and none of them can ever replay or refuse anything. The store
//! is asked beside the request, not before it: a slow or absent store costs an observed request nothing.

mod admit;
mod recent;
mod report;
mod underway;

pub use report::{Client, Report, Seen, Tally};

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::StatusCode;
use semel_core::store::{ClaimAnswer, ClaimRequest, SettleRequest, StoreExt, Takeover};
use semel_core::{
    Body, Fingerprint, Headers, Identity, LeaseTerm, Once, Outcome, Retention, Scope, Store,
    Verdict,
};
use tokio::sync::{Semaphore, oneshot};

use crate::rules::Rules;
use recent::Recent;
use underway::{Running, UnderWay};

/// The most requests that are observed at once; the rest pass unobserved.
const OBSERVED_MAX: usize = 1_024;
/// How long an observation may take at the store.
const STORE_PATIENCE: Duration = Duration::from_secs(5);

/// What the guard would have seen in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Finding {
    /// The first with its key: it would have run.
    First,
    /// A duplicate of one that has ended: it would have been replayed.
    Duplicate,
    /// A duplicate of one that is still running: it would have waited or been refused.
    Concurrent,
    /// Another request with a key that was used before: it would have been refused.
    Mismatch,
    /// The same request of the same caller as one moments ago, with a new key: a client that makes a
    /// new key for every retry cannot be helped by any guard.
    SuspiciousKey,
    /// No key where one is required, or no key at all.
    KeyMissing,
    /// A key that would have been refused.
    KeyInvalid,
    /// A caller that cannot be told.
    TenantMissing,
    /// A body above the limits of size or time.
    BodyTooLarge,
    /// Not looked at: the store was away, or too much was going on.
    Unobserved,
}

impl Finding {
    /// Every finding.
    pub const ALL: [Self; 10] = [
        Self::First,
        Self::Duplicate,
        Self::Concurrent,
        Self::Mismatch,
        Self::SuspiciousKey,
        Self::KeyMissing,
        Self::KeyInvalid,
        Self::TenantMissing,
        Self::BodyTooLarge,
        Self::Unobserved,
    ];

    /// The lowercase name used in metrics, logs and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::First => "observed-first",
            Self::Duplicate => "observed-duplicate",
            Self::Concurrent => "observed-concurrent",
            Self::Mismatch => "observed-mismatch",
            Self::SuspiciousKey => "observed-suspicious-key",
            Self::KeyMissing => "observed-key-missing",
            Self::KeyInvalid => "observed-key-invalid",
            Self::TenantMissing => "observed-tenant-missing",
            Self::BodyTooLarge => "observed-body-too-large",
            Self::Unobserved => "unobserved",
        }
    }
}

/// Observes one route.
#[derive(Debug)]
pub(crate) struct Observer {
    store: Arc<dyn Store>,
    scope: Scope,
    lease: LeaseTerm,
    retention: Retention,
    turns: Arc<Semaphore>,
    recent: Mutex<Recent>,
    under_way: Arc<UnderWay>,
}

impl Observer {
    pub(crate) fn new(once: &Once, rules: &Rules) -> Self {
        Self {
            store: once.store().clone(),
            scope: own_scope(&rules.scope),
            lease: LeaseTerm::new(rules.timeout * 2).unwrap_or_default(),
            retention: rules.retention,
            turns: Arc::new(Semaphore::new(OBSERVED_MAX)),
            recent: Mutex::default(),
            under_way: Arc::default(),
        }
    }

    async fn claim(&self, identity: Identity, fingerprint: Fingerprint) -> Option<ClaimAnswer> {
        let request = ClaimRequest {
            identity,
            fingerprint,
            lease: self.lease,
            takeover: Takeover::Allowed,
            about: None,
            nonce: None,
        };
        self.store.claim_one(request).await.ok()
    }

    /// Records how an observed first request ended.
    async fn settle(&self, lease: semel_core::Lease, status: Option<StatusCode>) {
        let status = status.map_or(0, |status| status.as_u16());
        let outcome = Outcome {
            verdict: match status {
                1..400 => Verdict::Succeeded,
                _ => Verdict::Failed,
            },
            status,
            headers: Headers::default(),
            body: Body::empty(),
        };
        let request = SettleRequest {
            claim: lease.claim,
            outcome,
            took: Duration::ZERO,
            retention: self.retention,
        };
        // An observation that cannot be recorded ends with its lease.
        let _ = tokio::time::timeout(STORE_PATIENCE, self.store.settle_one(request)).await;
    }
}

/// A scope that no guard ever looks under. A name that leaves no room for the prefix is digested.
fn own_scope(scope: &Scope) -> Scope {
    let own = Scope::new(format!("observe:{}", scope.name()), scope.version());
    own.unwrap_or_else(|_| {
        let digest = Fingerprint::of_bytes(scope.name().as_bytes());
        let name = format!("observe:{digest}");
        Scope::new(name, scope.version()).expect("72 bytes of hex are a valid name")
    })
}

/// An observed request that has not ended yet.
#[derive(Debug)]
pub struct Observation(Option<Box<Ending>>);

/// In a box, because guarded requests carry the room for it.
#[derive(Debug)]
struct Ending {
    running: Running,
    status: oneshot::Sender<Option<StatusCode>>,
}

impl Observation {
    /// Tells how it ended; `None` if there was no response.
    pub fn ended(self, status: Option<StatusCode>) {
        if let Some(ending) = self.0 {
            let Ending {
                running,
                status: sender,
            } = *ending;
            // From here on a duplicate is not concurrent: its client may have the answer.
            drop(running);
            // The observer may have given up.
            let _ = sender.send(status);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observations_never_use_a_scope_that_a_guard_looks_under() {
        for name in [
            "pay".to_owned(),
            "p".repeat(247),
            "p".repeat(248),
            "p".repeat(255),
        ] {
            let own = own_scope(&Scope::new(&name, 2).unwrap());
            assert!(own.name().starts_with("observe:"), "{own}");
            assert_eq!(own.version(), 2);
        }
    }
}
