//! What a route decides by. Every setting may also stand in `gateway`, for all routes.

mod choices;
mod claim;
mod fingerprint;
mod forms;
mod mcp;
mod redact;
mod sources;

pub use choices::{Contents, Describe, Missing, Mode, Unknown};
pub use claim::JwtClaim;
pub use fingerprint::{By as FingerprintBy, Fingerprint};
pub use forms::{InProgress, Keep, ReconcileAt, Replay, Retention};
pub use mcp::{Mcp, ToolErrors};
pub use redact::Redact;
pub use sources::{KeySource, Tenant};

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use semel_core::LeaseTerm;
use semel_http::profile::Profile;
use serde::Deserialize;

use crate::value::{KeyBytes, Many, Size, Word};

/// What a route decides by; what is left out is decided one step further up.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Whose conventions hold: header, key length, statuses. Default: ietf.
    pub profile: Option<Word<Profile>>,
    /// Whether requests are messages of the Model Context Protocol, of which only calls of tools are guarded. Default: off.
    pub mcp: Option<Mcp>,
    /// Whether duplicates are replayed or only reported. Default: enforce.
    pub mode: Option<Mode>,
    /// How much of a request stands in its record, for people who look for it. Default: path.
    pub describe: Option<Describe>,
    /// Where the key is; a list is tried in order. Default: the header Idempotency-Key.
    pub key: Option<Many<KeySource>>,
    /// The longest key that is accepted, in bytes. Default: 255.
    pub key_bytes_max: Option<Word<KeyBytes>>,
    /// What a request without a key gets. Default: pass.
    pub missing: Option<Missing>,
    /// Who the caller is; two tenants never share results. Default: caller.
    pub tenant: Option<Tenant>,
    /// What makes two requests the same. Default: canonical_json.
    pub fingerprint: Option<Fingerprint>,
    /// What a duplicate gets while the first is still running. Default: 409 after 2s.
    pub in_progress: Option<InProgress>,
    /// How long a claim is held without a sign of life. Default: 30s.
    pub lease: Option<Word<LeaseTerm>>,
    /// How long the whole exchange with the service may take. Default: 60s.
    pub timeout: Option<Word<Duration>>,
    /// How long outcomes are kept. Default: 24h.
    pub retention: Option<Retention>,
    /// Which answers of the service are final, and which mean that nothing happened.
    pub keep: Option<Keep>,
    /// Who decides when nobody knows whether it happened. Default: hold.
    pub unknown: Option<Unknown>,
    /// How much of an outcome is stored; what is not stored is not replayed. Default: full.
    pub contents: Option<Contents>,
    /// What is taken out of an outcome before it is stored. Default: nothing.
    pub redact: Option<Redact>,
    /// What replays carry.
    pub replay: Option<Replay>,
    /// The largest request body, in bytes. Default: gateway.limits.request_bytes.
    pub request_bytes: Option<Word<Size>>,
    /// The largest response body that is kept, in bytes. Default: gateway.limits.response_bytes.
    pub response_bytes: Option<Word<Size>>,
}

impl Settings {
    /// The file that the tenant's keys are read from.
    pub(crate) fn key_file_mut(&mut self) -> Option<&mut Word<PathBuf>> {
        match &mut self.tenant {
            Some(Tenant::JwtClaim(claim)) => claim.key_file.as_mut().or(claim.jwks_file.as_mut()),
            _ => None,
        }
    }
}
