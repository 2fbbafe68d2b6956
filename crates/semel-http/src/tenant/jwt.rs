//! A tenant from a claim of a signed token. The signature is checked: a claim that anybody can
//! write would let one caller read another's results.

use std::fmt;
use std::str::FromStr;

use jsonwebtoken::{DecodingKey, Validation, decode, decode_header};
use semel_core::{Error, Result, Tenant};
use serde_json::Value;

use super::jwks::Jwks;

macro_rules! algorithms {
    ($($variant:ident, $name:ident, $about:literal;)+) => {
        /// How tokens are signed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Algorithm {
            $(#[doc = $about] $variant,)+
        }

        impl Algorithm {
            /// Every algorithm.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name that tokens use.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($name),)+ }
            }

            const fn inner(self) -> jsonwebtoken::Algorithm {
                match self { $(Self::$variant => jsonwebtoken::Algorithm::$name,)+ }
            }
        }
    };
}

algorithms! {
    Hs256, HS256, "A shared secret, SHA-256.";
    Hs384, HS384, "A shared secret, SHA-384.";
    Hs512, HS512, "A shared secret, SHA-512.";
    Rs256, RS256, "RSA (PKCS#1 v1.5), SHA-256.";
    Rs384, RS384, "RSA (PKCS#1 v1.5), SHA-384.";
    Rs512, RS512, "RSA (PKCS#1 v1.5), SHA-512.";
    Ps256, PS256, "RSA (PSS), SHA-256.";
    Ps384, PS384, "RSA (PSS), SHA-384.";
    Ps512, PS512, "RSA (PSS), SHA-512.";
    Es256, ES256, "ECDSA on P-256.";
    Es384, ES384, "ECDSA on P-384.";
    EdDsa, EdDSA, "Ed25519.";
}

impl Algorithm {
    /// Whether both sides hold the same secret.
    pub const fn is_shared(self) -> bool {
        matches!(self, Self::Hs256 | Self::Hs384 | Self::Hs512)
    }
}

impl FromStr for Algorithm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut all = Self::ALL.iter().copied();
        all.find(|algorithm| algorithm.name() == text)
            .ok_or_else(|| {
                let names: Vec<_> = Self::ALL.iter().map(|algorithm| algorithm.name()).collect();
                let names = names.join(", ");
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
        if algorithm.is_shared() && material.is_empty() {
            return Err(Error::invalid("the secret for signed tokens is empty"));
        }
        let key = match algorithm {
            Algorithm::Hs256 | Algorithm::Hs384 | Algorithm::Hs512 => {
                DecodingKey::from_secret(material)
            }
            Algorithm::Rs256
            | Algorithm::Rs384
            | Algorithm::Rs512
            | Algorithm::Ps256
            | Algorithm::Ps384
            | Algorithm::Ps512 => pem(DecodingKey::from_rsa_pem(material))?,
            Algorithm::Es256 | Algorithm::Es384 => pem(DecodingKey::from_ec_pem(material))?,
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

/// What the signatures of tokens are checked with.
#[derive(Debug, Clone)]
enum Keys {
    /// One key, known from the start.
    One(JwtKey),
    /// The public keys of an issuer, by the id that a token names.
    Set(Jwks),
}

/// A claim of signed tokens.
#[derive(Debug, Clone)]
pub struct Jwt {
    claim: String,
    keys: Keys,
    /// The only algorithm that is accepted; `None` with a set, whose keys say theirs.
    algorithm: Option<Algorithm>,
    validation: Validation,
}

impl Jwt {
    /// The claim `claim` of tokens signed by `key`. Tokens must not have expired.
    ///
    /// A claim is found by its whole name, such as `sub` or `https://example.com/tenant`; one that is not
    /// there so is looked for inside of objects, as `org.id`.
    pub fn new(claim: impl Into<String>, key: JwtKey) -> Self {
        let algorithm = key.algorithm;
        Self::by(claim.into(), Keys::One(key), Some(algorithm))
    }

    /// The same for tokens that are signed by a key of a set. Shared secrets are never accepted from one.
    pub fn of_set(claim: impl Into<String>, set: Jwks) -> Self {
        Self::by(claim.into(), Keys::Set(set), None)
    }

    fn by(claim: String, keys: Keys, algorithm: Option<Algorithm>) -> Self {
        let mut validation = Validation::new(jsonwebtoken::Algorithm::EdDSA);
        validation.validate_nbf = true;
        // Without a configured audience any is accepted.
        validation.validate_aud = false;
        Self {
            claim,
            keys,
            algorithm,
            validation,
        }
    }

    /// Only tokens that are signed so.
    #[must_use]
    pub const fn signed_with(mut self, algorithm: Algorithm) -> Self {
        self.algorithm = Some(algorithm);
        self
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

    /// The set that its keys come from.
    pub const fn set(&self) -> Option<&Jwks> {
        match &self.keys {
            Keys::One(_) => None,
            Keys::Set(set) => Some(set),
        }
    }

    /// Loads what is needed to check `token`. An error means that no token can be checked at the moment.
    pub(super) async fn prepare(&self, token: &str) -> Result<()> {
        let Keys::Set(set) = &self.keys else {
            return Ok(());
        };
        match decode_header(token) {
            Ok(head) if self.accepts(head.alg) => set.prepare(head.kid.as_deref(), head.alg).await,
            // No key would make it acceptable; `tenant` says why.
            _ => Ok(()),
        }
    }

    pub(super) fn tenant(&self, token: &str) -> Result<Tenant> {
        let claims = self.claims(token)?;
        let name = &self.claim;
        let nested = || name.split('.').try_fold(&claims, |at, name| at.get(name));
        match claims.get(name).or_else(nested) {
            Some(Value::String(text)) => Tenant::new(text),
            Some(Value::Number(number)) => Tenant::new(number.to_string()),
            _ => Err(Error::invalid(format!(
                "the token has no claim {name} that is a string or a number"
            ))),
        }
    }

    fn claims(&self, token: &str) -> Result<Value> {
        let refused = |why: String| Error::invalid(format!("the token is not accepted: {why}"));
        let head = decode_header(token).map_err(|error| refused(error.to_string()))?;
        if !self.accepts(head.alg) {
            return Err(refused(format!("{:?} is not accepted here", head.alg)));
        }
        let mut validation = self.validation.clone();
        validation.algorithms = vec![head.alg];
        let decoded = match &self.keys {
            Keys::One(key) => decode::<Value>(token, &key.key, &validation),
            Keys::Set(set) => {
                let key = set.find(head.kid.as_deref(), head.alg);
                let key = key.ok_or_else(|| refused("no key of the issuer fits it".to_owned()))?;
                decode::<Value>(token, &key.key, &validation)
            }
        };
        let decoded = decoded.map_err(|error| refused(error.to_string()))?;
        Ok(decoded.claims)
    }

    /// Whether a token may say that it is signed so. Public keys of a set are no shared secrets.
    fn accepts(&self, stated: jsonwebtoken::Algorithm) -> bool {
        let is_shared = Algorithm::ALL
            .iter()
            .any(|algorithm| algorithm.is_shared() && algorithm.inner() == stated);
        match (&self.keys, self.algorithm) {
            (_, Some(only)) if only.inner() != stated => false,
            (Keys::Set(_), _) => !is_shared,
            (Keys::One(_), _) => true,
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
            &json!({
                "org": { "id": "acme" },
                "n": 7,
                "https://shop.example/tenant.id": "by url",
                "dotted.name": "whole",
                "dotted": { "name": "nested" },
                "exp": FAR,
            }),
        );
        for (claim, expected) in [
            ("org.id", "acme"),
            ("n", "7"),
            ("https://shop.example/tenant.id", "by url"),
            ("dotted.name", "whole"),
        ] {
            let tenant = jwt(claim).tenant(&token).unwrap();
            assert_eq!(tenant.as_str(), expected, "{claim}");
        }
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
