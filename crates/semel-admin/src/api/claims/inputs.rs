//! What callers of the claims API send. The fields of an identity are repeated in each, because
//! only then can unknown fields be refused.

use std::time::Duration;

use semel_core::store::{ClaimRequest, MarkRequest, RenewRequest, SettleRequest};
use semel_core::{Claim, Fence, Fingerprint, Identity, Key, LeaseTerm, Scope, Tenant, duration};
use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use super::waiting::WAIT_MAX;
use crate::api::fields::{self, CauseInput, NonceInput, TakeoverInput};
use crate::api::outcome::{self, VerdictInput};
use crate::input::{CLAIM_BYTES_MAX, Input, OUTCOME_BYTES_MAX, refuse_field};
use crate::refused::Refused;
use crate::tokens::About;

/// Says which operation an input is about; the caller's token must reach it.
macro_rules! about {
    ($($input:ident),+) => {$(
        impl About for $input {
            fn identity(&self) -> Identity {
                Identity::new(self.tenant.clone(), self.scope.clone(), self.key.clone())
            }
        }
    )+};
}

about!(
    ClaimInput,
    RenewInput,
    SettleInput,
    ReleaseInput,
    UnknownInput
);

/// Asks for the right to run an operation.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClaimInput {
    /// On whose behalf: 1–255 bytes.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "acme")]
    tenant: Tenant,
    /// Which operation: NAME or NAME@VERSION; no version means 1.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "payments@1")]
    scope: Scope,
    /// Which instance of it: 1–255 bytes.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "order-17")]
    key: Key,
    /// What is asked: any JSON. The same key with another request is refused; the order of fields
    /// does not matter. Not to be given together with `fingerprint`.
    #[schema(value_type = Option<serde_json::Value>)]
    request: Option<Box<RawValue>>,
    /// What is asked, as a digest of the caller's own: 64 hexadecimal digits. Without this and
    /// without `request`, the key alone says everything.
    #[serde(default, deserialize_with = "fields::fingerprint_or_none")]
    #[schema(value_type = Option<String>)]
    fingerprint: Option<Fingerprint>,
    /// How long the lease lasts unless it is renewed: 1 ms to 24 h, 30 s if left out.
    #[serde(default, deserialize_with = "fields::lease")]
    #[schema(value_type = Option<String>, example = "30s")]
    lease: LeaseTerm,
    /// Whether to take over from a claim whose outcome is unknown; `never` if left out.
    #[serde(default)]
    takeover: TakeoverInput,
    /// What the caller calls this claim: 1–64 visible ASCII characters, best a new UUID. A caller whose 201 was lost asks again with the same
    /// nonce and gets its own claim back as long as its lease lives; another caller must not know it.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>, example = "0b8d2c56-3f0e-4a53-9a55-1f0a3a3f6d11")]
    nonce: Option<NonceInput>,
    /// How long to wait while another claim runs the operation: up to 30 s, not at all if left out.
    #[serde(default, deserialize_with = "fields::duration_or_none")]
    #[schema(value_type = Option<String>, example = "10s")]
    wait: Option<Duration>,
}

impl Input for ClaimInput {
    const BYTES_MAX: usize = CLAIM_BYTES_MAX;
}

impl ClaimInput {
    /// The claim, and how long its caller waits.
    pub(super) fn request(self) -> Result<(ClaimRequest, Duration), Refused> {
        let wait = wait(self.wait)?;
        let fingerprint = match (self.request, self.fingerprint) {
            (Some(_), Some(_)) => {
                let why = "expected request or fingerprint, found both";
                return Err(refuse_field("fingerprint", why));
            }
            (Some(request), None) => Fingerprint::of_json_text(request.get().as_bytes()),
            (None, Some(fingerprint)) => fingerprint,
            (None, None) => Fingerprint::none(),
        };
        let request = ClaimRequest {
            identity: Identity::new(self.tenant, self.scope, self.key),
            fingerprint,
            lease: self.lease,
            takeover: self.takeover.into(),
            about: None,
            nonce: self.nonce.map(|name| name.0),
        };
        Ok((request, wait))
    }
}

/// A wait within its limit; none if it is left out.
fn wait(asked: Option<Duration>) -> Result<Duration, Refused> {
    match asked.unwrap_or_default() {
        wait if wait <= WAIT_MAX => Ok(wait),
        wait => {
            let (max, found) = (duration::show(WAIT_MAX), duration::show(wait));
            let why = format!("expected at most {max}, found {found}");
            Err(refuse_field("wait", &why))
        }
    }
}

/// Extends a lease.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RenewInput {
    /// On whose behalf.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "acme")]
    tenant: Tenant,
    /// Which operation.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "payments@1")]
    scope: Scope,
    /// Which instance of it.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "order-17")]
    key: Key,
    /// The number of the claim.
    #[serde(deserialize_with = "fields::fence")]
    #[schema(value_type = u64, example = 1)]
    fence: Fence,
    /// How long from now; 30 s if left out. Never shortens what is left.
    #[serde(default, deserialize_with = "fields::lease")]
    #[schema(value_type = Option<String>, example = "30s")]
    lease: LeaseTerm,
}

impl Input for RenewInput {}

impl RenewInput {
    pub(super) fn request(self) -> RenewRequest {
        let identity = Identity::new(self.tenant, self.scope, self.key);
        let (fence, lease) = (self.fence, self.lease);
        let claim = Claim { identity, fence };
        RenewRequest { claim, lease }
    }
}

/// Brings an outcome.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SettleInput {
    /// On whose behalf.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "acme")]
    tenant: Tenant,
    /// Which operation.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "payments@1")]
    scope: Scope,
    /// Which instance of it.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "order-17")]
    key: Key,
    /// The number of the claim.
    #[serde(deserialize_with = "fields::fence")]
    #[schema(value_type = u64, example = 1)]
    fence: Fence,
    /// Whether the run did what was asked.
    verdict: VerdictInput,
    /// The HTTP status, where there is one.
    #[serde(default, deserialize_with = "fields::status_or_none")]
    status: Option<u16>,
    /// Header fields in their order, each as a pair of name and value.
    #[serde(default)]
    #[schema(value_type = Vec<Vec<String>>)]
    headers: Vec<(String, String)>,
    /// The result as text. Above 16 MiB only its length and digest are kept.
    body: Option<String>,
    /// The result in base64, if it is not text.
    body_base64: Option<String>,
    /// How long the run took.
    #[serde(default, deserialize_with = "fields::duration_or_none")]
    #[schema(value_type = Option<String>, example = "1200ms")]
    took: Option<Duration>,
    /// How long the outcome is kept; 24 h if left out.
    #[serde(default, deserialize_with = "fields::duration_or_none")]
    #[schema(value_type = Option<String>, example = "24h")]
    retention: Option<Duration>,
    /// Whether the record is archived then, rather than deleted.
    #[serde(default)]
    archive: bool,
}

impl Input for SettleInput {
    const BYTES_MAX: usize = OUTCOME_BYTES_MAX;
}

impl SettleInput {
    pub(super) fn request(self) -> Result<SettleRequest, Refused> {
        let retention = outcome::retention(self.retention, self.archive)?;
        let parts = outcome::Parts {
            verdict: self.verdict,
            status: self.status,
            headers: self.headers,
            body: self.body,
            body_base64: self.body_base64,
        };
        Ok(SettleRequest {
            claim: Claim {
                identity: Identity::new(self.tenant, self.scope, self.key),
                fence: self.fence,
            },
            outcome: parts.outcome()?,
            took: self.took.unwrap_or_default(),
            retention,
        })
    }
}

/// Gives a claim back.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReleaseInput {
    /// On whose behalf.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "acme")]
    tenant: Tenant,
    /// Which operation.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "payments@1")]
    scope: Scope,
    /// Which instance of it.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "order-17")]
    key: Key,
    /// The number of the claim.
    #[serde(deserialize_with = "fields::fence")]
    #[schema(value_type = u64, example = 1)]
    fence: Fence,
}

impl Input for ReleaseInput {}

impl ReleaseInput {
    pub(super) fn claim(self) -> Claim {
        Claim {
            identity: Identity::new(self.tenant, self.scope, self.key),
            fence: self.fence,
        }
    }
}

/// Says that the outcome of a claim cannot be known.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UnknownInput {
    /// On whose behalf.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "acme")]
    tenant: Tenant,
    /// Which operation.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "payments@1")]
    scope: Scope,
    /// Which instance of it.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "order-17")]
    key: Key,
    /// The number of the claim.
    #[serde(deserialize_with = "fields::fence")]
    #[schema(value_type = u64, example = 1)]
    fence: Fence,
    /// Why; `run-undecided` if left out.
    #[serde(default)]
    cause: CauseInput,
}

impl Input for UnknownInput {}

impl UnknownInput {
    pub(super) fn request(self) -> MarkRequest {
        let identity = Identity::new(self.tenant, self.scope, self.key);
        let fence = self.fence;
        MarkRequest {
            claim: Claim { identity, fence },
            cause: self.cause.into(),
            evidence: None,
        }
    }
}

/// Which operation is meant.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LookUpParams {
    /// On whose behalf.
    #[serde(deserialize_with = "fields::text")]
    #[param(value_type = String)]
    tenant: Tenant,
    /// Which operation.
    #[serde(deserialize_with = "fields::text")]
    #[param(value_type = String)]
    scope: Scope,
    /// Which instance of it.
    #[serde(deserialize_with = "fields::text")]
    #[param(value_type = String)]
    key: Key,
    /// How long to wait while the operation runs: up to 30 s, not at all if left out.
    #[serde(default, deserialize_with = "fields::duration_or_none")]
    #[param(value_type = Option<String>, example = "10s")]
    wait: Option<Duration>,
}

impl LookUpParams {
    /// The operation, and how long its caller waits.
    pub(super) fn asked(self) -> Result<(Identity, Duration), Refused> {
        let identity = Identity::new(self.tenant, self.scope, self.key);
        Ok((identity, wait(self.wait)?))
    }
}
