//! A tenant from a claim of a signed token. The signature is checked: a claim that anybody can
//! write would let one caller read another's results.

use std::fmt;
use std::str::FromStr;

use jsonwebtoken::{DecodingKey, Validation, decode};
use semel_core::{Error, Result, Tenant};
use serde_json::Value;

/// How tokens are signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// A shared secret, SHA-256.
    Hs256,
    /// A shared secret, SHA-384.
    Hs384,
    /// A shared secret, SHA-512.
    Hs512,
    /// RSA, SHA-256.
    Rs256,
    /// ECDSA on P-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 6] = [
        Self::Hs256,
        Self::Hs384,
        Self::Hs512,
        Self::Rs256,
        Self::Es256,
        Self::EdDsa,
    ];

    /// The name that tokens use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hs256 => "HS256",
            Self::Hs384 => "HS384",
            Self::Hs512 => "HS512",
            Self::Rs256 => "RS256",
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
        }
    }

    const fn inner(self) -> jsonwebtoken::Algorithm {
        match self {
            Self::Hs256 => jsonwebtoken::Algorithm::HS256,
            Self::Hs384 => jsonwebtoken::Algorithm::HS384,
            Self::Hs512 => jsonwebtoken::Algorithm::HS512,
            Self::Rs256 => jsonwebtoken::Algorithm::RS256,
            Self::Es256 => jsonwebtoken::Algorithm::ES256,
            Self::EdDsa => jsonwebtoken::Algorithm::EdDSA,
        }
    }
}

impl FromStr for Algorithm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("expected one of {names}, found {text:?}"))
        })
    }
}

/// The key that signatures are checked with.
#[derive(Clone)]
pub struct JwtKey {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl JwtKey {
    /// A shared secret for the HS algorithms, or a public key as PEM for the others.
    pub fn new(algorithm: Algorithm, material: &[u8]) -> Result<Self> {
        let pem = |key: jsonwebtoken::errors::Result<DecodingKey>| {
            key.map_err(|_| {
                let name = algorithm.name();
                Error::invalid(format!("expected a public key for {name} as PEM"))
            })
        };
        let key = match algorithm {
            Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512 if material.is_empty() => {
                return Err(Error::invalid("the secret for signed tokens is empty"));
            }
            Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512 => {
                DecodingKey::from_secret(material)
            }
            Algorithm::Rs256 => pem(DecodingKey::from_rsa_pem(material))?,
            Algorithm::Es256 => pem(DecodingKey::from_ec_pem(material))?,
            Algorithm::EdDsa => pem(DecodingKey::from_ed_pem(material))?,
        };
        Ok(Self { algorithm, key })
    }
}

impl fmt::Debug for JwtKey {
    /// The key may be a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JwtKey({})", self.algorithm.name())
    }
}

/// A claim of tokens that one key signs.
#[derive(Debug, Clone)]
pub struct Jwt {
    claim: String,
    key: JwtKey,
    validation: Validation,
}

impl Jwt {
    /// The claim `claim` (such as `sub`, or `org.id` inside an object) of tokens signed by `key`.
    /// Tokens must not have expired.
    pub fn new(claim: impl Into<String>, key: JwtKey) -> Self {
        let mut validation = Validation::new(key.algorithm.inner());
        validation.validate_nbf = true;
        // Without a configured audience any is accepted.
        validation.validate_aud = false;
        Self {
            claim: claim.into(),
            key,
            validation,
        }
    }

    /// Only tokens of this issuer.
    #[must_use]
    pub fn issued_by(mut self, issuer: &str) -> Self {
        self.validation.set_issuer(&[issuer]);
        self.validation.required_spec_claims.insert("iss".into());
        self
    }

    /// Only tokens for this audience.
    #[must_use]
    pub fn meant_for(mut self, audience: &str) -> Self {
        self.validation.set_audience(&[audience]);
        self.validation.validate_aud = true;
        self.validation.required_spec_claims.insert("aud".into());
        self
    }

    pub(super) fn tenant(&self, token: &str) -> Result<Tenant> {
        let decoded = decode::<Value>(token, &self.key.key, &self.validation)
            .map_err(|e| Error::invalid(format!("the token is not accepted: {e}")))?;
        let name = &self.claim;
        let found = name
            .split('.')
            .try_fold(&decoded.claims, |at, name| at.get(name));
        match found {
            Some(Value::String(text)) => Tenant::new(text),
            Some(Value::Number(number)) => Tenant::new(number.to_string()),
            _ => Err(Error::invalid(format!(
                "the token has no claim {name} that is a string or a number"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsonwebtoken::{EncodingKey, Header, encode};
    use serde_json::json;

    const FAR: u64 = 4_000_000_000;

    fn token(secret: &[u8], claims: &Value) -> String {
        encode(
            &Header::default(),
            claims,
            &EncodingKey::from_secret(secret),
        )
        .unwrap()
    }

    fn jwt(claim: &str) -> Jwt {
        Jwt::new(claim, JwtKey::new(Algorithm::Hs256, b"secret").unwrap())
    }

    #[test]
    fn a_signed_claim_is_the_tenant() {
        let token = token(
            b"secret",
            &json!({ "org": { "id": "acme" }, "n": 7, "exp": FAR }),
        );
        assert_eq!(jwt("org.id").tenant(&token).unwrap().as_str(), "acme");
        assert_eq!(jwt("n").tenant(&token).unwrap().as_str(), "7");
    }

    #[test]
    fn a_claim_that_anybody_could_write_is_refused() {
        let good = json!({ "sub": "acme", "exp": FAR });
        let unsigned = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhY21lIn0.";
        for bad in [
            token(b"other", &good),
            token(b"secret", &json!({ "sub": "acme", "exp": 1 })),
            token(b"secret", &json!({ "sub": "acme" })),
            token(b"secret", &json!({ "sub": null, "exp": FAR })),
            token(b"secret", &json!({ "sub": "acme", "exp": FAR, "nbf": FAR })),
            unsigned.to_owned(),
            "abc".to_owned(),
        ] {
            assert!(jwt("sub").tenant(&bad).is_err(), "{bad}");
        }
        let strict = jwt("sub").issued_by("me").meant_for("you");
        assert!(strict.tenant(&token(b"secret", &good)).is_err());
        let full = json!({ "sub": "acme", "exp": FAR, "iss": "me", "aud": "you" });
        assert!(strict.tenant(&token(b"secret", &full)).is_ok());
    }

    #[test]
    fn a_token_cannot_choose_its_algorithm() {
        let claims = json!({ "sub": "acme", "exp": FAR });
        let header = Header::new(jsonwebtoken::Algorithm::HS512);
        let other = encode(&header, &claims, &EncodingKey::from_secret(b"secret")).unwrap();
        assert!(jwt("sub").tenant(&other).is_err());
    }
}
