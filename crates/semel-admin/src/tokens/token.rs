//! One token: whose it is, how it is recognised, what it is for.

use std::fmt;
use std::str::FromStr;

use semel_core::{Error, Result, Timestamp};

use super::reach::{Reach, SCOPES_MAX};
use super::role::Role;
use crate::secret::Secret;

/// The longest name of a token, in bytes: the audit has room for it and for the name of a person.
pub const NAME_BYTES_MAX: usize = 64;
/// What the token of `admin.token` is called.
pub const ADMIN_NAME: &str = "admin";

/// The name of a token, which logs and the audit show: letters, digits, `.`, `-` and `_`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Name(Box<str>);

impl Name {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Name {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        match (1..=NAME_BYTES_MAX).contains(&text.len()) && text.chars().all(is_plain) {
            true => Ok(Self(text.into())),
            false => Err(Error::invalid(format!(
                "expected the name of a token: 1 to {NAME_BYTES_MAX} letters, digits, dots, hyphens or underscores; found {text:?}"
            ))),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A token of the admin side.
#[derive(Debug, Clone)]
pub struct Token {
    name: Name,
    secret: Secret,
    grant: Grant,
    expires: Option<Timestamp>,
}

/// What a token allows. Only a token for claims is bound to a tenant and scopes: the other roles see the store as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// The claims API within this reach.
    Claims(Reach),
    /// Look at everything.
    Read,
    /// Also change records, messages and consumers by hand.
    Operate,
    /// Everything.
    Admin,
}

impl Grant {
    /// The role that it gives.
    pub const fn role(&self) -> Role {
        match self {
            Self::Claims(_) => Role::Claims,
            Self::Read => Role::Read,
            Self::Operate => Role::Operate,
            Self::Admin => Role::Admin,
        }
    }
}

impl Token {
    /// A token that does not expire. One for claims has 1 to [`SCOPES_MAX`] scopes.
    pub fn new(name: Name, secret: Secret, grant: Grant) -> Result<Self> {
        if let Grant::Claims(reach) = &grant {
            let count = reach.scopes.len();
            if !(1..=SCOPES_MAX).contains(&count) {
                return Err(Error::invalid(format!(
                    "a token for claims has 1 to {SCOPES_MAX} scopes, found {count}; * is all of them"
                )));
            }
        }
        let expires = None;
        Ok(Self {
            name,
            secret,
            grant,
            expires,
        })
    }

    /// The token that may do everything, by the name [`ADMIN_NAME`].
    pub fn admin(secret: Secret) -> Self {
        Self {
            name: Name(ADMIN_NAME.into()),
            secret,
            grant: Grant::Admin,
            expires: None,
        }
    }

    /// The same until this moment.
    #[must_use]
    pub const fn until(mut self, expires: Timestamp) -> Self {
        self.expires = Some(expires);
        self
    }

    /// Its name, for logs and the audit.
    pub const fn name(&self) -> &Name {
        &self.name
    }

    /// What it allows.
    pub const fn grant(&self) -> &Grant {
        &self.grant
    }

    /// The role that it gives.
    pub const fn role(&self) -> Role {
        self.grant.role()
    }

    /// From when on it is refused.
    pub const fn expires(&self) -> Option<Timestamp> {
        self.expires
    }

    /// How it is recognised.
    pub const fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Whether its time is over.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}
