//! Which identities a token for claims may touch.

use std::fmt;
use std::str::FromStr;

use semel_core::{Error, Identity, Result, Scope, Tenant};

/// The most prefixes of one token.
pub const SCOPES_MAX: usize = 32;
/// What ends a part of a scope's name, so that `payments` does not cover `payments2`.
const BOUNDARIES: [char; 3] = ['.', '/', ':'];

/// The scopes that begin alike: `*` is all of them; `payments` is `payments` in every version and all whose names go on with
/// `.`, `/` or `:`, such as `payments.refunds@2`; `payments@2` is that version of that name alone. A prefix that ends with one
/// of these characters covers all names that begin with it.
///
/// ```
/// use semel_admin::ScopePrefix;
///
/// let payments: ScopePrefix = "payments".parse()?;
/// assert!(payments.covers(&"payments@7".parse()?) && payments.covers(&"payments/refunds".parse()?));
/// assert!(!payments.covers(&"payments2".parse()?) && !payments.covers(&"payments-eu".parse()?));
/// # Ok::<(), semel_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopePrefix(Covers);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Covers {
    All,
    One(Scope),
    Below(Box<str>),
}

impl ScopePrefix {
    /// Whether a scope is one of them.
    pub fn covers(&self, scope: &Scope) -> bool {
        match &self.0 {
            Covers::All => true,
            Covers::One(one) => scope == one,
            Covers::Below(prefix) => {
                let rest = scope.name().strip_prefix(&**prefix);
                rest.is_some_and(|rest| {
                    rest.is_empty() || prefix.ends_with(BOUNDARIES) || rest.starts_with(BOUNDARIES)
                })
            }
        }
    }
}

impl FromStr for ScopePrefix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "*" {
            return Ok(Self(Covers::All));
        }
        if text.contains('*') {
            let message = format!("expected a prefix such as payments, or * alone, found {text:?}");
            return Err(Error::invalid(message));
        }
        let scope: Scope = text.parse()?;
        // A text without a version is read as version 1, and means all of them here.
        Ok(Self(match scope.name() == text {
            true => Covers::Below(text.into()),
            false => Covers::One(scope),
        }))
    }
}

impl fmt::Display for ScopePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Covers::All => f.write_str("*"),
            Covers::One(scope) => scope.fmt(f),
            Covers::Below(prefix) => f.write_str(prefix),
        }
    }
}

/// The tenant and the scopes of a token for claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The only tenant; `None` is every tenant, for services that claim on behalf of many.
    pub tenant: Option<Tenant>,
    /// The only scopes; none of them covers nothing.
    pub scopes: Vec<ScopePrefix>,
}

impl Reach {
    /// Whether an identity is within it.
    pub fn covers(&self, identity: &Identity) -> bool {
        let tenant = self.tenant.as_ref();
        tenant.is_none_or(|tenant| tenant == identity.tenant())
            && self.scopes.iter().any(|one| one.covers(identity.scope()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_where_a_part_of_the_name_ends() {
        for (prefix, scope, covered) in [
            ("payments", "payments", true),
            ("payments", "payments@1", true),
            ("payments", "payments@42", true),
            ("payments", "payments.refunds@2", true),
            ("payments", "payments/refunds", true),
            ("payments", "payments:eu", true),
            ("payments", "payments2", false),
            ("payments", "payments2@1", false),
            ("payments", "payments-eu", false),
            ("payments", "payments_eu", false),
            ("payments", "paymentsé", false),
            ("payments", "payment", false),
            ("payments", "Payments", false),
            ("payments", "my.payments", false),
            // An `@` that no number follows belongs to the name.
            ("payments", "payments@one", false),
            ("payments@2", "payments@2", true),
            ("payments@2", "payments@1", false),
            ("payments@2", "payments@21", false),
            ("payments@2", "payments.refunds@2", false),
            ("payments.", "payments.refunds", true),
            ("payments.", "payments", false),
            ("POST /", "POST /payments", true),
            ("POST /payments", "POST /payments/{id}/capture@1", true),
            ("POST /payments", "POST /payments2", false),
            ("*", "anything@7", true),
        ] {
            let parsed: ScopePrefix = prefix.parse().unwrap();
            assert_eq!(parsed.to_string(), prefix);
            let found = parsed.covers(&scope.parse().unwrap());
            assert_eq!(found, covered, "{prefix} {scope}");
        }
        for bad in ["", "pay*", "**", "a\nb", &"x".repeat(256)] {
            assert!(bad.parse::<ScopePrefix>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn both_tenant_and_scope_must_fit() {
        let identity = |tenant, scope| Identity::parse(tenant, scope, "order-17").unwrap();
        let mut reach = Reach {
            tenant: Some("acme".parse().unwrap()),
            scopes: vec!["payments".parse().unwrap(), "mail@2".parse().unwrap()],
        };
        assert!(reach.covers(&identity("acme", "payments@3")));
        assert!(reach.covers(&identity("acme", "mail@2")));
        assert!(!reach.covers(&identity("acme", "mail@1")));
        assert!(!reach.covers(&identity("acme2", "payments")));
        reach.tenant = None;
        assert!(reach.covers(&identity("acme2", "payments")));
        reach.scopes.clear();
        assert!(!reach.covers(&identity("acme", "payments")));
    }
}
