//! Signatures of webhooks: over the raw body, before anything is looked at, and compared in constant time.
//!
//! What each vendor signs is in [`crate::vendors`]. `standard` has what Standard Webhooks and Svix do, `adyen` and `paypal` what only these
//! do; everything else is an HMAC of the body in a header.

mod adyen;
mod key;
mod paypal;
mod signer;
mod standard;
#[cfg(test)]
mod tests;

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName};
use semel_core::{Error, Result, Timestamp};

use crate::vendors::{Extent, SigningKind, Vendor};
use key::{Key, Proof};
pub use signer::StandardKey;

/// How old or how far ahead a signed time may be.
const TOLERANCE: Duration = Duration::from_secs(5 * 60);
/// The most secrets at the same time.
const SECRETS_MAX: usize = 8;
/// The most signatures that are looked at in one header.
const SIGNATURES_MAX: usize = 16;

/// Why a request is not the sender's, in words that do not help to forge one.
type Checked = std::result::Result<(), &'static str>;

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
    keys: Vec<Key>,
    tolerance: Duration,
}

#[derive(Clone)]
enum Scheme {
    /// `t=TIME,v1=HEX` over the time, a dot and the body.
    Stripe(HeaderName),
    /// A header with the signature of the body.
    Plain {
        header: HeaderName,
        prefix: String,
        encoding: Encoding,
    },
    /// Headers `…id`, `…timestamp` and `…signature` with this prefix.
    Standard(&'static str),
    /// In the body, over these fields.
    Adyen(&'static [&'static str]),
    /// Headers of PayPal's, and the id of the webhook there.
    PayPal(String),
}

impl Signature {
    /// As a vendor signs. The secrets are what the vendor gives out: a text (Stripe, GitHub, Shopify), `whsec_…` or `whpk_…` (Standard
    /// Webhooks, Svix), hexadecimal digits (Adyen). PayPal also needs the webhook's id: [`Signature::paypal`].
    pub fn vendor<S: AsRef<[u8]>>(
        vendor: Vendor,
        secrets: impl IntoIterator<Item = S>,
    ) -> Result<Self> {
        let name = vendor.name();
        let Some(events) = vendor.events() else {
            return Err(Error::invalid(format!("how {name} signs is not known")));
        };
        let header = HeaderName::from_static(events.signing.header.unwrap_or("none"));
        let kind = events.signing.kind;
        let scheme = match kind {
            SigningKind::Stripe => Scheme::Stripe(header),
            SigningKind::Hex(prefix) => Scheme::Plain {
                header,
                prefix: prefix.to_owned(),
                encoding: Encoding::Hex,
            },
            SigningKind::Base64 => Scheme::Plain {
                header,
                prefix: String::new(),
                encoding: Encoding::Base64,
            },
            SigningKind::Standard(prefix) => Scheme::Standard(prefix),
            SigningKind::Adyen => match events.signing.body {
                Extent::Fields(signed) => Scheme::Adyen(signed),
                Extent::Whole | Extent::Checksum => Scheme::Adyen(&[]),
            },
            SigningKind::PayPal => {
                return Err(Error::invalid(
                    "PayPal's signatures need the id of the webhook too",
                ));
            }
        };
        Self::new(scheme, Some(kind), secrets)
    }

    /// `Stripe-Signature: t=TIME,v1=HEX`; the time may be five minutes off.
    pub fn stripe<S: AsRef<[u8]>>(secrets: impl IntoIterator<Item = S>) -> Result<Self> {
        Self::vendor(Vendor::Stripe, secrets)
    }

    /// `X-Hub-Signature-256: sha256=HEX`.
    pub fn github<S: AsRef<[u8]>>(secrets: impl IntoIterator<Item = S>) -> Result<Self> {
        Self::vendor(Vendor::GitHub, secrets)
    }

    /// PayPal's, with the id that the webhook has there. The keys are certificates or public keys in PEM: PayPal names the URL of its certificate in a
    /// header, and a signature that says itself what to trust proves nothing, so nothing is fetched.
    pub fn paypal<S: AsRef<[u8]>>(
        webhook_id: &str,
        keys: impl IntoIterator<Item = S>,
    ) -> Result<Self> {
        if webhook_id.is_empty() {
            return Err(Error::invalid("expected the id of PayPal's webhook"));
        }
        let scheme = Scheme::PayPal(webhook_id.to_owned());
        Self::new(scheme, Some(SigningKind::PayPal), keys)
    }

    /// The signature in any header, after a prefix that may be empty.
    pub fn generic<S: AsRef<[u8]>>(
        header: &str,
        prefix: &str,
        encoding: Encoding,
        secrets: impl IntoIterator<Item = S>,
    ) -> Result<Self> {
        let bad = |_| Error::invalid(format!("expected a header's name, found {header:?}"));
        let scheme = Scheme::Plain {
            header: header.parse().map_err(bad)?,
            prefix: prefix.to_owned(),
            encoding,
        };
        Self::new(scheme, None, secrets)
    }

    fn new<S: AsRef<[u8]>>(
        scheme: Scheme,
        kind: Option<SigningKind>,
        secrets: impl IntoIterator<Item = S>,
    ) -> Result<Self> {
        let keys = secrets
            .into_iter()
            .map(|secret| Key::parse(secret.as_ref(), kind));
        let keys: Vec<Key> = keys.collect::<Result<_>>()?;
        if keys.is_empty() || keys.len() > SECRETS_MAX {
            return Err(Error::invalid(format!(
                "signatures are checked by 1 to {SECRETS_MAX} secrets"
            )));
        }
        Ok(Self {
            scheme,
            keys,
            tolerance: TOLERANCE,
        })
    }

    /// Another tolerance than five minutes for signed times.
    #[must_use]
    pub const fn tolerance(mut self, tolerance: Duration) -> Self {
        self.tolerance = tolerance;
        self
    }

    /// Whether the request is the sender's; otherwise why not. `now` is wall time.
    pub(super) fn check(&self, headers: &HeaderMap, body: &[u8], now: Timestamp) -> Checked {
        match &self.scheme {
            Scheme::Stripe(header) => self.stripe_check(one(headers, header.as_str())?, body, now),
            Scheme::Plain {
                header,
                prefix,
                encoding,
            } => {
                let value = one(headers, header.as_str())?;
                let signed = value.strip_prefix(prefix.as_str());
                let signature = signed.and_then(|text| decoded(text, *encoding));
                let signature = signature.ok_or("the signature is malformed")?;
                self.any(&[body], &[Proof::Hmac(signature)])
            }
            Scheme::Standard(prefix) => standard::check(self, prefix, headers, body, now),
            Scheme::Adyen(signed) => adyen::check(self, signed, body),
            Scheme::PayPal(webhook_id) => paypal::check(self, webhook_id, headers, body, now),
        }
    }

    fn stripe_check(&self, value: &str, body: &[u8], now: Timestamp) -> Checked {
        let (mut time, mut signatures) = (None, Vec::new());
        for part in value.split(',').take(SIGNATURES_MAX) {
            match part.trim().split_once('=') {
                Some(("t", text)) => time = Some(text),
                Some(("v1", text)) => {
                    signatures.extend(decoded(text, Encoding::Hex).map(Proof::Hmac));
                }
                _ => {}
            }
        }
        let time = time.ok_or("the signature has no time")?;
        self.any(&[time.as_bytes(), b".", body], &signatures)?;
        self.is_recent(time, now)
    }

    /// Whether a time in seconds is near. Asked only after the signature: a time that was not signed says nothing.
    fn is_recent(&self, seconds: &str, now: Timestamp) -> Checked {
        let seconds: i64 = seconds
            .parse()
            .map_err(|_| "the signed time is malformed")?;
        let signed = Timestamp::from_millis(seconds.saturating_mul(1_000));
        match now.since(signed).max(signed.since(now)) > self.tolerance {
            true => Err("the signed time is too far from now"),
            false => Ok(()),
        }
    }

    /// Whether one of the signatures was made with one of the keys. All are tried, so that time tells nothing.
    fn any(&self, parts: &[&[u8]], signatures: &[Proof]) -> Checked {
        let mut is_right = false;
        for key in &self.keys {
            for signature in signatures {
                is_right |= key.made(parts, signature);
            }
        }
        match is_right {
            true => Ok(()),
            false => Err("the signature is wrong"),
        }
    }
}

/// The one value of a header.
fn one<'a>(headers: &'a HeaderMap, name: &str) -> std::result::Result<&'a str, &'static str> {
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
            Scheme::Stripe(header) | Scheme::Plain { header, .. } => header.as_str(),
            Scheme::Standard(prefix) => prefix,
            Scheme::Adyen(_) => "adyen",
            Scheme::PayPal(_) => "paypal",
        };
        write!(f, "Signature({scheme}, {} secrets)", self.keys.len())
    }
}
