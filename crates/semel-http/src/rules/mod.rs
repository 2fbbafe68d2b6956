//! Everything that a route decides by. The defaults are safe for payments.

mod describe;
mod in_progress;
mod pace;
mod statuses;

pub use describe::Describe;
pub use in_progress::{Busy, BusyStatus};
pub use pace::MinRate;
pub(crate) use pace::Pace;
pub use statuses::{Class, Keep, Pattern, StatusSet};

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use semel_core::once::Reconcile;
use semel_core::{Fingerprint, InProgress, LeaseTerm, OnUnknown, Policy, Retention, Scope};

use crate::fingerprint::{By, Head};
use crate::key;
use crate::mcp::Mcp;
use crate::outcomes::Place;
use crate::profile::Profile;
use crate::quota::Quota;
use crate::stored::Stored;
use crate::tenant;

/// The largest request body that a guarded route accepts unless it says otherwise, in bytes.
pub const REQUEST_BYTES: usize = 1024 * 1024;
/// The largest response body that is kept for replay unless the route says otherwise, in bytes.
pub const RESPONSE_BYTES: usize = 1024 * 1024;
/// How long a request body may take to arrive unless the route says otherwise.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long the service may take to begin its answer, and be silent in the middle of it, unless the route
/// says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// How long a client may hold back a response that is too large to be kept.
pub const CLIENT_STALL: Duration = Duration::from_secs(30);

/// What a request without a key gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// 400 `key-missing`; nothing runs.
    Require,
    /// It passes unguarded.
    Pass,
    /// A key is derived from what it asks for: two requests with the same content are one operation.
    Derive,
}

/// Whether the guard acts or only watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Duplicates are replayed, mistakes are refused.
    Enforce,
    /// Everything passes; what would have been done is recorded and reported.
    Observe,
}

/// The rules of one route.
#[derive(Debug, Clone)]
pub struct Rules {
    /// Which operation this is, with the version of its meaning.
    pub scope: Scope,
    /// Where the key is.
    pub key: key::Sources,
    /// The longest key that is accepted, in bytes; at most 255.
    pub key_bytes_max: usize,
    /// What a request without a key gets.
    pub missing: Missing,
    /// Who the caller is.
    pub tenant: tenant::Source,
    /// What makes two requests the same.
    pub fingerprint: By,
    /// What of their heads counts for that.
    pub fingerprint_head: Head,
    /// What a duplicate gets while the first is still running.
    pub in_progress: Busy,
    /// How long a claim is held without a sign of life; a running one renews it.
    pub lease: LeaseTerm,
    /// How long the service may take until its answer begins, and how long it may be silent in the
    /// middle of it.
    pub timeout: Duration,
    /// How long a client may refuse to read a response that is too large to be kept. Then it loses the
    /// response, and the service is read to its end without it.
    pub client_stall: Duration,
    /// How long outcomes are kept.
    pub retention: Retention,
    /// Which answers of the service are final, which mean that nothing happened.
    pub keep: Keep,
    /// Who decides about unknown outcomes.
    pub unknown: Unknown,
    /// Whether the guard acts or only watches.
    pub mode: Mode,
    /// Where callers fetch outcomes by key, which a 202 says in `Location`; `None`: nowhere.
    pub outcomes: Option<Place>,
    /// How refusals look.
    pub profile: Profile,
    /// How much of a request stands in its record.
    pub describe: Describe,
    /// Whether requests are messages of the Model Context Protocol, of which only calls of tools are guarded;
    /// [`Mcp::apply`] sets it with all that belongs to it.
    pub mcp: Option<Mcp>,
    /// What each tenant may bring here, besides what it may bring in all.
    pub quota: Quota,
    /// How much of an outcome reaches the store.
    pub stored: Stored,
    /// Whether `Set-Cookie` is replayed.
    pub replay_cookies: bool,
    /// Whether answers say in `Idempotency-Expires` how long the key is remembered.
    pub tell_expiry: bool,
    /// The largest request body that is accepted, in bytes.
    pub request_bytes_max: usize,
    /// How long the request body may take to arrive.
    pub body_timeout: Duration,
    /// How fast it must arrive.
    pub body_pace: MinRate,
    /// The largest response body that is kept, in bytes; of a longer one only length and digest.
    pub response_bytes_max: usize,
}

impl Rules {
    /// The default rules for `scope`: the IETF draft's header, one tenant per credential, POST
    /// and PATCH bodies compared as canonical JSON, unknown outcomes held for a person.
    pub fn new(scope: Scope) -> Self {
        Self {
            scope,
            key: key::Sources::default(),
            key_bytes_max: semel_core::identity::PART_BYTES_MAX,
            missing: Missing::Pass,
            tenant: tenant::Source::Caller,
            fingerprint: By::default(),
            fingerprint_head: Head::default(),
            in_progress: Busy::default(),
            lease: LeaseTerm::default(),
            timeout: TIMEOUT,
            client_stall: CLIENT_STALL,
            retention: Retention::default(),
            keep: Keep::default(),
            unknown: Unknown::Hold,
            mode: Mode::Enforce,
            outcomes: None,
            profile: Profile::Ietf,
            describe: Describe::default(),
            mcp: None,
            quota: Quota::NONE,
            stored: Stored::default(),
            replay_cookies: false,
            tell_expiry: false,
            request_bytes_max: REQUEST_BYTES,
            body_timeout: BODY_TIMEOUT,
            body_pace: MinRate::default(),
            response_bytes_max: RESPONSE_BYTES,
        }
    }

    /// The same for another scope.
    #[must_use]
    pub fn for_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// What a request asks for.
    pub async fn fingerprint_of(&self, parts: &Parts, body: &Bytes) -> Fingerprint {
        let head = &self.fingerprint_head;
        self.fingerprint.of(head, parts, body).await
    }

    /// What an answer of the service means: the vendor's own word, otherwise its status.
    pub fn class(&self, status: StatusCode, headers: &HeaderMap) -> Class {
        let vendor = self.profile.class(status, headers);
        let retry_after = headers.contains_key(RETRY_AFTER);
        vendor.unwrap_or_else(|| self.keep.class(status, retry_after))
    }

    /// What the core needs to know of them.
    pub fn policy(&self) -> Policy {
        Policy {
            lease: self.lease,
            retention: self.retention,
            in_progress: match self.in_progress.wait {
                wait if wait.is_zero() => InProgress::Refuse,
                wait => InProgress::Wait(wait),
            },
            on_unknown: match self.unknown {
                Unknown::Hold => OnUnknown::Hold,
                Unknown::Rerun => OnUnknown::Rerun,
                Unknown::Reconcile(_) => OnUnknown::Reconcile,
            },
            keep_result: true,
            body_bytes_max: self.response_bytes_max,
        }
    }
}

/// Who decides about an operation whose outcome is unknown.
#[derive(Clone)]
pub enum Unknown {
    /// A person; callers get 409 `outcome-unknown` until then.
    Hold,
    /// Nobody needs to: the service's effect is idempotent by itself.
    Rerun,
    /// Whoever knows is asked.
    Reconcile(Arc<dyn Reconcile>),
}

impl fmt::Debug for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hold => "Hold",
            Self::Rerun => "Rerun",
            Self::Reconcile(_) => "Reconcile",
        })
    }
}
