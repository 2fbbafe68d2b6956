//! Key-encryption keys: they wrap data keys and nothing else.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use semel_core::{Error, Kind, Result, Tenant};

/// The most key-encryption keys at once: the one that wraps, and those that are being retired.
pub const KEKS_MAX: usize = 8;
/// The longest id of a key, in bytes.
const ID_BYTES_MAX: usize = 64;
const NONCE_BYTES: usize = 24;
const WRAPPED_BYTES: usize = NONCE_BYTES + 32 + 16;

/// A key-encryption key of the configuration.
#[derive(Clone, PartialEq, Eq)]
pub struct Kek {
    id: String,
    secret: [u8; 32],
}

impl Kek {
    /// The key `id` with a secret of 32 bytes, written as 64 hexadecimal digits or in base64.
    pub fn new(id: &str, secret: &str) -> Result<Self> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if !(1..=ID_BYTES_MAX).contains(&id.len()) || !id.bytes().all(plain) {
            return Err(Error::invalid(format!(
                "the id of a key has 1 to {ID_BYTES_MAX} letters, digits, dashes and dots, found {id:?}"
            )));
        }
        // What was found is a secret and is not told.
        let secret = decoded(secret.trim()).ok_or_else(|| {
            let message = "the secret of a key is 32 bytes, as 64 hexadecimal digits or in base64 (openssl rand -base64 32)";
            Error::invalid(message)
        })?;
        let id = id.to_owned();
        Ok(Self { id, secret })
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn cipher(&self) -> XChaCha20Poly1305 {
        let key = blake3::derive_key("semel-seal 2026-11 wrapping of data keys", &self.secret);
        XChaCha20Poly1305::new(&Key::from(key))
    }

    /// A data key of a tenant, readable only with this key and as this tenant's.
    pub(crate) fn wrap(&self, tenant: &Tenant, data_key: &[u8; 32]) -> Result<Vec<u8>> {
        let nonce: [u8; NONCE_BYTES] = random()?;
        let payload = Payload {
            msg: data_key,
            aad: tenant.as_str().as_bytes(),
        };
        let wrapped = self.cipher().encrypt(&XNonce::from(nonce), payload);
        let wrapped = wrapped.expect("a data key is far below the cipher's limit");
        Ok([nonce.as_slice(), &wrapped].concat())
    }

    /// The data key that was wrapped; `None` if this is not the key, or the tenant is another.
    pub(crate) fn unwrap(&self, tenant: &Tenant, wrapped: &[u8]) -> Option<[u8; 32]> {
        if wrapped.len() != WRAPPED_BYTES {
            return None;
        }
        let (nonce, msg) = wrapped.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload {
            msg,
            aad: tenant.as_str().as_bytes(),
        };
        let opened = self.cipher().decrypt(&XNonce::from(*nonce), payload);
        opened.ok()?.try_into().ok()
    }
}

impl fmt::Debug for Kek {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Kek({})", self.id)
    }
}

/// Bytes that were never drawn before.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(
            Kind::Unavailable,
            format!("this machine gives no random bytes: {error}"),
        )
    })?;
    Ok(bytes)
}

fn decoded(text: &str) -> Option<[u8; 32]> {
    if text.len() == 64 {
        let digit = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..32).map(|at| digit(2 * at)).collect();
        return bytes?.try_into().ok();
    }
    STANDARD.decode(text).ok()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hexadecimal_or_base64_and_never_shown() {
        let hex = Kek::new("2026-11", &"ab".repeat(32)).unwrap();
        let base64 = Kek::new("2026-11", &STANDARD.encode([0xab; 32])).unwrap();
        assert_eq!(hex, base64);
        assert_eq!(format!("{hex:?}"), "Kek(2026-11)");
        let (good, bad) = ("ab".repeat(32), "zz".repeat(32));
        for (id, secret) in [
            ("", "ab"),
            ("a b", good.as_str()),
            ("a", "short"),
            ("a", &bad),
        ] {
            let error = Kek::new(id, secret).unwrap_err().to_string();
            assert!(!error.contains("short") && !error.contains("zz"), "{error}");
        }
    }

    #[test]
    fn a_data_key_is_unwrapped_by_its_key_for_its_tenant() {
        let kek = Kek::new("a", &"01".repeat(32)).unwrap();
        let other = Kek::new("a", &"02".repeat(32)).unwrap();
        let (ann, bob) = (Tenant::new("ann").unwrap(), Tenant::new("bob").unwrap());
        let wrapped = kek.wrap(&ann, &[5; 32]).unwrap();
        assert_eq!(kek.unwrap(&ann, &wrapped), Some([5; 32]));
        assert_eq!(kek.unwrap(&bob, &wrapped), None);
        assert_eq!(other.unwrap(&ann, &wrapped), None);
    }
}
