//! What signatures are checked with: shared secrets and public keys, as vendors give them out.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use jsonwebtoken::{Algorithm, DecodingKey, crypto};
use semel_core::{Error, Result};
use sha2::Sha256;

use super::{Encoding, decoded};
use crate::vendors::SigningKind;

/// What stands before a shared secret of Standard Webhooks, and before a public key.
const SHARED: &str = "whsec_";
const PUBLIC: &str = "whpk_";
/// How long a public key of Ed25519 is.
const PUBLIC_BYTES: usize = 32;

/// One key.
#[derive(Clone)]
pub(super) enum Key {
    Hmac(Vec<u8>),
    Ed25519(Box<DecodingKey>),
    Rsa(Box<DecodingKey>),
}

/// One signature, by how it claims to be made.
pub(super) enum Proof {
    Hmac(Vec<u8>),
    Ed25519(Vec<u8>),
    Rsa(Vec<u8>),
}

impl Key {
    /// A key as it is given out for signatures of this kind. No error quotes it.
    pub(super) fn parse(secret: &[u8], kind: Option<SigningKind>) -> Result<Self> {
        let key = match kind {
            Some(SigningKind::Standard(_)) => Self::standard(secret),
            Some(SigningKind::Adyen) => text(secret)
                .and_then(|text| decoded(text, Encoding::Hex))
                .map(Self::Hmac)
                .ok_or("expected a secret of hexadecimal digits, as Adyen gives it out"),
            Some(SigningKind::PayPal) => DecodingKey::from_rsa_pem(secret)
                .map(|key| Self::Rsa(Box::new(key)))
                .map_err(|_| "expected a certificate or a public key of RSA in PEM"),
            Some(SigningKind::Hex(_) | SigningKind::Base64 | SigningKind::Stripe) | None => {
                Ok(Self::Hmac(secret.to_owned()))
            }
        };
        match key {
            Ok(Self::Hmac(bytes)) if bytes.is_empty() => {
                Err(Error::invalid("expected a secret that is not empty"))
            }
            Ok(key) => Ok(key),
            Err(why) => Err(Error::invalid(why)),
        }
    }

    fn standard(secret: &[u8]) -> std::result::Result<Self, &'static str> {
        let bad = "expected whsec_ and a secret in base64, or whpk_ and a public key in base64";
        let text = text(secret).ok_or(bad)?;
        match text.strip_prefix(PUBLIC) {
            Some(public) => {
                let public = STANDARD.decode(public).map_err(|_| bad)?;
                if public.len() != PUBLIC_BYTES {
                    return Err("expected a public key of 32 bytes after whpk_");
                }
                let key = DecodingKey::from_ed_components(&URL_SAFE_NO_PAD.encode(public));
                key.map(|key| Self::Ed25519(Box::new(key))).map_err(|_| bad)
            }
            None => {
                let shared = text.strip_prefix(SHARED).unwrap_or(text);
                STANDARD.decode(shared).map(Self::Hmac).map_err(|_| bad)
            }
        }
    }

    /// The signature over these parts by a shared secret; `None` by a key that only checks.
    pub(super) fn sign(&self, parts: &[&[u8]]) -> Option<Vec<u8>> {
        let Self::Hmac(secret) = self else {
            return None;
        };
        let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
        parts.iter().for_each(|part| mac.update(part));
        Some(mac.finalize().into_bytes().to_vec())
    }

    /// Whether a signature over these parts was made with this key. A key never checks a signature of another kind.
    pub(super) fn made(&self, parts: &[&[u8]], signature: &Proof) -> bool {
        match (self, signature) {
            (Self::Hmac(secret), Proof::Hmac(signature)) => {
                let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else {
                    return false;
                };
                parts.iter().for_each(|part| mac.update(part));
                mac.verify_slice(signature).is_ok()
            }
            (Self::Ed25519(key), Proof::Ed25519(signature)) => {
                is_signed(parts, signature, key, Algorithm::EdDSA)
            }
            (Self::Rsa(key), Proof::Rsa(signature)) => {
                is_signed(parts, signature, key, Algorithm::RS256)
            }
            (Self::Hmac(_) | Self::Ed25519(_) | Self::Rsa(_), _) => false,
        }
    }
}

fn is_signed(parts: &[&[u8]], signature: &[u8], key: &DecodingKey, by: Algorithm) -> bool {
    let signature = URL_SAFE_NO_PAD.encode(signature);
    crypto::verify(&signature, &parts.concat(), key, by).unwrap_or(false)
}

fn text(secret: &[u8]) -> Option<&str> {
    std::str::from_utf8(secret).ok().map(str::trim)
}
