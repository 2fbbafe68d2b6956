//! What a refused caller is asked for: `WWW-Authenticate`, which RFC 9110 demands of 401.

use http::HeaderValue;

use super::Source;

const BEARER: &str = "Bearer realm=\"semel\"";

impl Source {
    /// The scheme that this source reads. A header of its own is no registered scheme, so ours names the header:
    /// clients that do not know a scheme pass over it, and people read which header is missing.
    pub(crate) fn challenge(&self) -> HeaderValue {
        match self {
            Self::Header(name) | Self::ApiKey(name) => {
                let challenge = format!("Semel-Tenant realm=\"semel\", header=\"{name}\"");
                HeaderValue::try_from(challenge).expect("a header's name is valid in a header")
            }
            Self::Caller | Self::Bearer | Self::Jwt(_) | Self::Public => {
                HeaderValue::from_static(BEARER)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    #[test]
    fn a_challenge_names_what_the_route_reads() {
        assert_eq!(Source::Bearer.challenge(), BEARER);
        let header = Source::Header(HeaderName::from_static("x-tenant"));
        assert_eq!(
            header.challenge(),
            "Semel-Tenant realm=\"semel\", header=\"x-tenant\""
        );
    }
}
