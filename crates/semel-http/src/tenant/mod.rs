//! On whose behalf: ties a request to a tenant, so that two callers never share results.
//!
//! Secrets never become tenants as they are: a token or an API key is kept as a digest.

mod challenge;
mod credential;
pub mod jwks;
mod jwt;

pub use jwks::Jwks;
pub use jwt::{Algorithm, Jwt, JwtKey};

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName};
use semel_core::{Error, Result, Tenant};

/// Where the tenant comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// The digest of what stays the same in `Authorization`: a token or a password, the access key of a signature.
    /// Schemes that have nothing of the kind are refused; a request without the header belongs to the public tenant.
    Caller,
    /// A header that a trusted proxy or the service's own clients set, as it is.
    Header(HeaderName),
    /// The digest of a header that holds a secret, such as an API key.
    ApiKey(HeaderName),
    /// The digest of the bearer token.
    Bearer,
    /// A claim of a signed token.
    Jwt(Box<Jwt>),
    /// Everybody is the same caller.
    Public,
}

impl Source {
    /// Loads what is needed to tell the tenant of a request. An error means that no caller can be told at
    /// the moment.
    pub async fn prepare(&self, headers: &HeaderMap) -> Result<()> {
        match self {
            Self::Jwt(jwt) => match bearer(headers) {
                Ok(token) => jwt.prepare(token).await,
                // `find` says what is wrong with it.
                Err(_) => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// The tenant of a request; an error says why there is none.
    pub fn find(&self, headers: &HeaderMap) -> Result<Tenant> {
        match self {
            Self::Public => Ok(Tenant::public()),
            Self::Caller => match single(headers, &AUTHORIZATION)? {
                Some(value) => credential::tenant(value),
                None => Ok(Tenant::public()),
            },
            Self::Header(name) => text(name, required(headers, name)?).and_then(Tenant::new),
            Self::ApiKey(name) => digest("key", required(headers, name)?),
            Self::Bearer => digest("bearer", bearer(headers)?.as_bytes()),
            Self::Jwt(jwt) => jwt.tenant(bearer(headers)?),
        }
    }
}

impl Source {
    /// Whether only one who knows a secret can be this tenant. The name in a header, and the public part of a signature, which is not
    /// verified here, are no secrets.
    pub fn is_proven(&self, tenant: &Tenant) -> bool {
        match self {
            Self::Bearer | Self::ApiKey(_) | Self::Jwt(_) => true,
            Self::Caller => credential::is_whole(tenant),
            Self::Header(_) | Self::Public => false,
        }
    }
}

fn single<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a [u8]>> {
    let mut values = headers.get_all(name).iter();
    let first = values.next().map(|value| value.as_bytes().trim_ascii());
    match values.next() {
        Some(_) => Err(Error::invalid(format!("{name} is sent more than once"))),
        None => Ok(first),
    }
}

fn required<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a [u8]> {
    match single(headers, name)? {
        Some(value) if !value.is_empty() => Ok(value),
        _ => Err(Error::invalid(format!("{name} is required"))),
    }
}

fn text<'a>(name: &HeaderName, value: &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(value).map_err(|_| Error::invalid(format!("{name} is not text")))
}

fn bearer(headers: &HeaderMap) -> Result<&str> {
    let value = text(&AUTHORIZATION, required(headers, &AUTHORIZATION)?)?;
    match value.split_once(' ') {
        Some((scheme, token))
            if scheme.eq_ignore_ascii_case("bearer") && !token.trim().is_empty() =>
        {
            Ok(token.trim())
        }
        _ => Err(Error::invalid("a bearer token is required")),
    }
}

/// A keyed digest: the same secret is the same tenant, and the store never sees the secret.
fn digest(kind: &str, secret: &[u8]) -> Result<Tenant> {
    let hash = blake3::keyed_hash(b"semel 2026 tenant of a secret k1", secret);
    let hex = hash.to_hex();
    Tenant::new(format!("{kind}:{}", &hex[..32]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        let field = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        let mut headers = HeaderMap::new();
        for (name, value) in fields.iter().map(field) {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn two_callers_are_two_tenants_and_their_secrets_do_not_show() {
        for source in [Source::Caller, Source::Bearer] {
            let tenant = |token: &str| source.find(&headers(&[("authorization", token)])).unwrap();
            let (one, two) = (tenant("Bearer secret-1"), tenant("Bearer secret-2"));
            assert_ne!(one, two);
            assert_eq!(one, tenant("Bearer secret-1"));
            assert!(!one.as_str().contains("secret"));
        }
    }

    #[test]
    fn only_a_secret_proves_who_the_caller_is() {
        let proven = |source: &Source, fields: &[(&'static str, &str)]| {
            source.is_proven(&source.find(&headers(fields)).unwrap())
        };
        let caller = |value| proven(&Source::Caller, &[("authorization", value)]);
        assert!(caller("Bearer secret") && caller("Basic dTpw") && caller("an-api-key"));
        assert!(!caller(
            "AWS4-HMAC-SHA256 Credential=AKIA/20261117/eu/s3/aws4_request, Signature=0"
        ));
        assert!(!caller("Digest username=\"ada\", realm=\"r\""));
        assert!(!proven(&Source::Caller, &[]) && !proven(&Source::Public, &[]));
        let x = HeaderName::from_static("x-tenant");
        assert!(!proven(
            &Source::Header(x.clone()),
            &[("x-tenant", "auth:acme")]
        ));
        assert!(proven(&Source::ApiKey(x), &[("x-tenant", "acme")]));
    }

    #[test]
    fn whoever_cannot_be_told_is_refused() {
        let x = HeaderName::from_static("x-tenant");
        for (source, fields) in [
            (Source::Bearer, vec![]),
            (Source::Bearer, vec![("authorization", "Basic abc")]),
            (Source::Bearer, vec![("authorization", "Bearer ")]),
            (Source::Header(x.clone()), vec![]),
            (Source::Header(x.clone()), vec![("x-tenant", " ")]),
            (
                Source::Header(x.clone()),
                vec![("x-tenant", "a"), ("x-tenant", "b")],
            ),
            (Source::ApiKey(x), vec![]),
            (
                Source::Caller,
                vec![("authorization", "a"), ("authorization", "b")],
            ),
        ] {
            assert!(
                source.find(&headers(&fields)).is_err(),
                "{source:?} {fields:?}"
            );
        }
    }

    #[test]
    fn without_credentials_the_caller_is_the_public() {
        let found = Source::Caller.find(&HeaderMap::new()).unwrap();
        assert_eq!(found, Tenant::public());
    }

    #[test]
    fn a_header_names_the_tenant_as_it_is() {
        let source = Source::Header(HeaderName::from_static("x-tenant"));
        let found = source.find(&headers(&[("x-tenant", " acme ")])).unwrap();
        assert_eq!(found.as_str(), "acme");
    }
}
