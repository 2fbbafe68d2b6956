//! Who may call: tokens with a name, a role and, for claims, a tenant and scopes.
//!
//! - `token` is one of them, `role` what it may do, `reach` which identities one for claims may touch.
//! - [`Tokens`] is all of them: several hold at once, so that one can be replaced without a gap.
//! - `caller` is the token of a request, as handlers see it.
//!
//! Secrets are kept as digests, and neither logs nor answers show them: a token is known by its name.

mod caller;
mod reach;
mod role;
mod token;

pub(crate) use caller::{About, Caller, Reached, UNCHECKED_BYTES_MAX, admit};
pub use reach::{Reach, SCOPES_MAX, ScopePrefix};
pub(crate) use role::Needs;
pub use role::Role;
pub use token::{ADMIN_NAME, Grant, NAME_BYTES_MAX, Name, Token};

use std::collections::HashSet;
use std::sync::Arc;

use semel_core::{Error, Result};

/// The most tokens of one admin side: each request is compared with all of them.
pub const TOKENS_MAX: usize = 256;

/// All tokens of an admin side; the default has none. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Tokens(Arc<[Arc<Token>]>);

impl Tokens {
    /// These tokens. Two with one name would be one in the audit, and two with one secret could not be told apart.
    pub fn new(tokens: impl IntoIterator<Item = Token>) -> Result<Self> {
        let tokens: Arc<[_]> = tokens.into_iter().map(Arc::new).collect();
        if tokens.len() > TOKENS_MAX {
            let count = tokens.len();
            return Err(Error::invalid(format!(
                "expected at most {TOKENS_MAX} tokens, found {count}"
            )));
        }
        let mut names = HashSet::new();
        for (at, token) in tokens.iter().enumerate() {
            let name = token.name();
            if !names.insert(name) {
                let message = format!("two tokens have the name {name}; give each its own");
                return Err(Error::invalid(message));
            }
            let twin = tokens[..at]
                .iter()
                .find(|other| other.secret() == token.secret());
            if let Some(twin) = twin {
                let message = format!("the tokens {} and {name} have one secret", twin.name());
                return Err(Error::invalid(message));
            }
        }
        Ok(Self(tokens))
    }

    /// The one token that may do everything.
    pub fn admin(secret: crate::Secret) -> Self {
        Self([Arc::new(Token::admin(secret))].into())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tokens in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Token> {
        self.0.iter().map(|token| &**token)
    }

    /// The token with the secret of this one, which may have been configured anew since.
    pub(crate) fn same(&self, known: &Token) -> Option<&Arc<Token>> {
        let mut tokens = self.0.iter();
        tokens.find(|token| token.secret() == known.secret() && token.name() == known.name())
    }

    /// The token that has this secret, expired or not. All are compared whatever is found, so that the time that it takes tells neither
    /// which one fits nor how many come before it.
    pub(crate) fn find(&self, shown: &str) -> Option<&Arc<Token>> {
        let shown = crate::secret::Shown::new(shown);
        self.0
            .iter()
            .fold(None, |found, token| match token.secret().fits(&shown) {
                true => Some(token),
                false => found,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    fn token(name: &str, secret: &str) -> Token {
        let secret = Secret::new(secret).unwrap();
        Token::new(name.parse().unwrap(), secret, Grant::Read).unwrap()
    }

    #[test]
    fn a_token_is_found_by_its_secret_wherever_it_stands() {
        let tokens = ["a", "b", "c"].map(|name| token(name, &format!("secret-{name}")));
        let tokens = Tokens::new(tokens).unwrap();
        for name in ["a", "b", "c"] {
            let found = tokens.find(&format!("secret-{name}")).unwrap();
            assert_eq!(found.name().as_str(), name);
        }
        for wrong in ["", "secret-", "secret-d", "secret-aa"] {
            assert!(tokens.find(wrong).is_none(), "{wrong}");
        }
        assert!(Tokens::default().find("secret-a").is_none());
    }

    #[test]
    fn names_and_secrets_are_not_shared() {
        for (one, other, message) in [
            (
                token("a", "x"),
                token("a", "y"),
                "two tokens have the name a; give each its own",
            ),
            (
                token("a", "x"),
                token("b", "x"),
                "the tokens a and b have one secret",
            ),
        ] {
            assert_eq!(Tokens::new([one, other]).unwrap_err().to_string(), message);
        }
        let many = |count: usize| (0..count).map(|n| token(&n.to_string(), &format!("s{n}")));
        assert!(Tokens::new(many(TOKENS_MAX)).is_ok());
        assert!(Tokens::new(many(TOKENS_MAX + 1)).is_err());
    }

    #[test]
    fn a_token_for_claims_names_its_scopes() {
        let claims = |scopes: &[&str]| {
            let scopes = scopes.iter().map(|scope| scope.parse().unwrap()).collect();
            let grant = Grant::Claims(Reach {
                tenant: None,
                scopes,
            });
            Token::new("ci".parse().unwrap(), Secret::new("s").unwrap(), grant)
        };
        assert!(claims(&[]).is_err());
        assert!(claims(&["*"]).is_ok());
        assert!(claims(&["a"; SCOPES_MAX + 1]).is_err());
        for bad in ["", "a b", "a/b", "é", &"x".repeat(65)] {
            assert!(bad.parse::<Name>().is_err(), "{bad}");
        }
    }
}
