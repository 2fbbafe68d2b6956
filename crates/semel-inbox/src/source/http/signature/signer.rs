//! Signs what we send, by Standard Webhooks, as [`super::Signature`] checks what is sent to us.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use semel_core::{Error, Result};

use super::key::Key;
use crate::vendors::Vendor;

/// A shared secret of Standard Webhooks.
#[derive(Clone)]
pub struct StandardKey(Key);

impl StandardKey {
    /// A secret as it is given out: `whsec_` and base64. No error quotes it.
    pub fn parse(secret: &str) -> Result<Self> {
        let kind = Vendor::StandardWebhooks.events();
        let kind = kind.map(|events| events.signing.kind);
        match Key::parse(secret.as_bytes(), kind)? {
            key @ Key::Hmac(_) => Ok(Self(key)),
            Key::Ed25519(_) | Key::Rsa(_) => Err(Error::invalid(
                "expected whsec_ and a secret in base64, found a public key, which cannot sign",
            )),
        }
    }

    /// The header `webhook-signature` of a message with this id, at this time in Unix seconds.
    pub fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let seconds = seconds.to_string();
        let parts: [&[u8]; 5] = [id.as_bytes(), b".", seconds.as_bytes(), b".", body];
        let signature = self.0.sign(&parts).unwrap_or_default();
        format!("v1,{}", STANDARD.encode(signature))
    }
}

impl std::fmt::Debug for StandardKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StandardKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::http::Signature;
    use http::HeaderMap;
    use semel_core::Timestamp;

    #[test]
    fn what_we_sign_is_what_we_check() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let key = StandardKey::parse(secret).unwrap();
        let now = Timestamp::from_millis(1_794_787_200_000);
        let mut headers = HeaderMap::new();
        headers.insert("webhook-id", "msg_1".parse().unwrap());
        headers.insert("webhook-timestamp", "1794787200".parse().unwrap());
        let signed = key.sign("msg_1", 1_794_787_200, b"{}");
        headers.insert("webhook-signature", signed.parse().unwrap());
        let signature = Signature::vendor(Vendor::StandardWebhooks, [secret.as_bytes()]).unwrap();
        signature.check(&headers, b"{}", now).unwrap();
        assert!(signature.check(&headers, b"{ }", now).is_err());
        assert!(StandardKey::parse("whsec_not base64").is_err());
    }
}
