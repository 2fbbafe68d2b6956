//! Signatures by HMAC-SHA256 over the raw body, compared in constant time.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderName};
use semel_core::{Error, Result, Timestamp};
use sha2::Sha256;

/// How old or how far ahead a signed time may be.
const TOLERANCE: Duration = Duration::from_secs(5 * 60);
/// The most secrets at the same time.
const SECRETS_MAX: usize = 8;
/// The most signatures that are looked at in one header.
const SIGNATURES_MAX: usize = 16;

/// How a signature is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Hexadecimal digits.
    Hex,
    /// Base64.
    Base64,
}

/// How requests prove that they are the sender's. Several secrets are for the time in which one replaces the other: any of them will do.
#[derive(Clone)]
pub struct Signature {
    scheme: Scheme,
    secrets: Vec<Vec<u8>>,
    tolerance: Duration,
}

#[derive(Clone)]
enum Scheme {
    /// `Stripe-Signature: t=…,v1=…` over the time, a dot and the body.
    Stripe,
    /// A header with the signature of the body.
    Plain {
        header: HeaderName,
        prefix: String,
        encoding: Encoding,
    },
}

impl Signature {
    /// `Stripe-Signature: t=TIME,v1=HEX`; the time may be five minutes off.
    pub fn stripe(secrets: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Result<Self> {
        Self::new(Scheme::Stripe, secrets)
    }

    /// `X-Hub-Signature-256: sha256=HEX`.
    pub fn github(secrets: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Result<Self> {
        Self::generic("x-hub-signature-256", "sha256=", Encoding::Hex, secrets)
    }

    /// The signature in any header, after a prefix that may be empty.
    pub fn generic(
        header: &str,
        prefix: &str,
        encoding: Encoding,
        secrets: impl IntoIterator<Item = impl Into<Vec<u8>>>,
    ) -> Result<Self> {
        let bad = |_| Error::invalid(format!("expected a header's name, found {header:?}"));
        let scheme = Scheme::Plain {
            header: header.parse().map_err(bad)?,
            prefix: prefix.to_owned(),
            encoding,
        };
        Self::new(scheme, secrets)
    }

    fn new(scheme: Scheme, secrets: impl IntoIterator<Item = impl Into<Vec<u8>>>) -> Result<Self> {
        let secrets: Vec<Vec<u8>> = secrets.into_iter().map(Into::into).collect();
        let empty = secrets.iter().any(Vec::is_empty);
        if empty || secrets.is_empty() || secrets.len() > SECRETS_MAX {
            return Err(Error::invalid(format!(
                "signatures are checked by 1 to {SECRETS_MAX} secrets, none of them empty"
            )));
        }
        Ok(Self {
            scheme,
            secrets,
            tolerance: TOLERANCE,
        })
    }

    /// Another tolerance than five minutes for signed times.
    #[must_use]
    pub const fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Whether the request is the sender's; otherwise why not, in words that help nobody to forge one.
    pub(super) fn check(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> std::result::Result<(), &'static str> {
        match &self.scheme {
            Scheme::Stripe => self.stripe_check(headers, body, now),
            Scheme::Plain {
                header,
                prefix,
                encoding,
            } => {
                let value = one(headers, header)?;
                let signed = value.strip_prefix(prefix.as_str());
                let signature = signed.and_then(|text| decoded(text, *encoding));
                let signature = signature.ok_or("the signature is malformed")?;
                self.any(&[body], &[signature])
            }
        }
    }

    fn stripe_check(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> std::result::Result<(), &'static str> {
        let value = one(headers, &HeaderName::from_static("stripe-signature"))?;
        let (mut time, mut signatures) = (None, Vec::new());
        for part in value.split(',').take(SIGNATURES_MAX) {
            match part.trim().split_once('=') {
                Some(("t", text)) => time = Some(text),
                Some(("v1", text)) => signatures.extend(decoded(text, Encoding::Hex)),
                _ => {}
            }
        }
        let time = time.ok_or("the signature has no time")?;
        self.any(&[time.as_bytes(), b".", body], &signatures)?;
        // Only after the signature: a time that nobody signed says nothing.
        let seconds: i64 = time.parse().map_err(|_| "the signed time is malformed")?;
        let signed = Timestamp::from_millis(seconds.saturating_mul(1_000));
        match now.since(signed).max(signed.since(now)) > self.tolerance {
            true => Err("the signed time is too far from now"),
            false => Ok(()),
        }
    }

    /// Whether one of the signatures was made with one of the secrets. All are tried, so that time tells nothing.
    fn any(
        &self,
        parts: &[&[u8]],
        signatures: &[Vec<u8>],
    ) -> std::result::Result<(), &'static str> {
        let mut is_right = false;
        for secret in &self.secrets {
            let mut mac = Hmac::<Sha256>::new_from_slice(secret).map_err(|_| "a bad secret")?;
            for part in parts {
                mac.update(part);
            }
            for signature in signatures {
                is_right |= mac.clone().verify_slice(signature).is_ok();
            }
        }
        match is_right {
            true => Ok(()),
            false => Err("the signature is wrong"),
        }
    }
}

/// The one value of a header.
fn one<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> std::result::Result<&'a str, &'static str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().ok_or("the signature is missing")?;
    if values.next().is_some() {
        return Err("the signature is there more than once");
    }
    value
        .to_str()
        .map(str::trim)
        .map_err(|_| "the signature is malformed")
}

fn decoded(text: &str, encoding: Encoding) -> Option<Vec<u8>> {
    match encoding {
        Encoding::Base64 => STANDARD.decode(text).ok(),
        Encoding::Hex => {
            let pairs = text.as_bytes().chunks(2);
            let byte = |pair: &[u8]| {
                let digits = std::str::from_utf8(pair).ok()?;
                let plain = digits.len() == 2 && digits.bytes().all(|b| b.is_ascii_hexdigit());
                plain.then(|| u8::from_str_radix(digits, 16).ok())?
            };
            pairs.map(byte).collect()
        }
    }
}

impl std::fmt::Debug for Signature {
    /// Secrets never reach logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = match &self.scheme {
            Scheme::Stripe => "stripe-signature",
            Scheme::Plain { header, .. } => header.as_str(),
        };
        write!(f, "Signature({scheme}, {} secrets)", self.secrets.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The values are from the documentation of GitHub.
    const SECRET: &str = "It's a Secret to Everybody";
    const BODY: &[u8] = b"Hello, World!";
    const SIGNED: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn headers(name: &'static str, value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(name, value.parse().unwrap());
        headers
    }

    fn now() -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000)
    }

    #[test]
    fn githubs_signature_is_right_for_its_secret_and_body_only() {
        let right = headers("x-hub-signature-256", &format!("sha256={SIGNED}"));
        let check = |signature: &Signature, headers: &HeaderMap, body: &[u8]| {
            signature.check(headers, body, now()).is_ok()
        };
        let github = Signature::github([SECRET]).unwrap();
        assert!(check(&github, &right, BODY));
        assert!(!check(&github, &right, b"Hello, World?"));
        assert!(!check(&github, &HeaderMap::new(), BODY));
        let bare = headers("x-hub-signature-256", SIGNED);
        assert!(!check(&github, &bare, BODY));
        assert!(!check(&Signature::github(["other"]).unwrap(), &right, BODY));
        let both = Signature::github(["other", SECRET]).unwrap();
        assert!(check(&both, &right, BODY));
        let mut twice = right.clone();
        twice.append("x-hub-signature-256", "sha256=00".parse().unwrap());
        assert!(!check(&github, &twice, BODY));
    }

    #[test]
    fn a_generic_signature_may_be_base64() {
        let base64 = STANDARD.encode(decoded(SIGNED, Encoding::Hex).unwrap());
        let signature = Signature::generic("X-Sign", "", Encoding::Base64, [SECRET]).unwrap();
        let right = headers("x-sign", &base64);
        assert!(signature.check(&right, BODY, now()).is_ok());
        let wrong = headers("x-sign", SIGNED);
        assert!(signature.check(&wrong, BODY, now()).is_err());
    }

    #[test]
    fn stripes_signature_ends_with_its_time() {
        let sign = |time: &str| {
            let mut mac = Hmac::<Sha256>::new_from_slice(b"whsec").unwrap();
            mac.update(format!("{time}.{{}}").as_bytes());
            let hex: Vec<String> = mac
                .finalize()
                .into_bytes()
                .iter()
                .map(|b| format!("{b:02x}"))
                .collect();
            headers(
                "stripe-signature",
                &format!("t={time},v0=00,v1=00,v1={}", hex.concat()),
            )
        };
        let stripe = Signature::stripe(["whsec"]).unwrap();
        let check = |headers: &HeaderMap| stripe.check(headers, b"{}", now());
        assert_eq!(check(&sign("1700000000")), Ok(()));
        assert_eq!(check(&sign("1699999701")), Ok(()));
        assert!(check(&sign("1699999699")).unwrap_err().contains("too far"));
        assert!(check(&sign("1700000301")).unwrap_err().contains("too far"));
        let forged = headers("stripe-signature", "t=1700000000,v1=00");
        assert!(check(&forged).unwrap_err().contains("wrong"));
        let timeless = headers("stripe-signature", "v1=00");
        assert!(check(&timeless).is_err());
    }

    #[test]
    fn secrets_are_needed_and_never_shown() {
        assert!(Signature::github(Vec::<String>::new()).is_err());
        assert!(Signature::github([""]).is_err());
        let shown = format!("{:?}", Signature::github(["s3cret"]).unwrap());
        assert!(!shown.contains("s3cret"));
    }
}
