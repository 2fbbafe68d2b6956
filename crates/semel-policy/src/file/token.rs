//! `admin.tokens`: who may call the admin side, and for what.

use schemars::JsonSchema;
use semel_core::Tenant;
use serde::Deserialize;

use crate::value::{Expiry, Many, ScopePrefix, Secret, TokenHash, TokenName, Word};

/// One token. `semel token new` makes one and prints these lines.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// What logs and the audit call it; each token has its own.
    pub name: Word<TokenName>,
    /// What it is for.
    pub role: Role,
    /// The digest of the token; this or token.
    #[serde(default)]
    pub hash: Option<Word<TokenHash>>,
    /// The token itself, from a variable for example; this or hash.
    #[serde(default)]
    pub token: Option<Word<Secret>>,
    /// For the role claims: the only tenant. Left out: every tenant.
    #[serde(default)]
    pub tenant: Option<Word<Tenant>>,
    /// For the role claims: the beginnings of the only scopes, or *.
    #[serde(default)]
    pub scopes: Option<Many<Word<ScopePrefix>>>,
    /// From when on it is refused. Left out: never.
    #[serde(default)]
    pub expires: Option<Word<Expiry>>,
}

/// What a token is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "TokenRole")]
pub enum Role {
    /// The claims API, for a tenant and some scopes.
    Claims,
    /// Look at everything.
    Read,
    /// Also resolve and release records, and act on messages and consumers.
    Operate,
    /// Everything, erasing included.
    Admin,
}

impl Role {
    /// The word in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claims => "claims",
            Self::Read => "read",
            Self::Operate => "operate",
            Self::Admin => "admin",
        }
    }
}
