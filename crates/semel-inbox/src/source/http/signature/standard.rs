//! Standard Webhooks: `ID.TIME.BODY`, signed by HMAC-SHA256 (`v1`) or Ed25519 (`v1a`). Several signatures stand side by side while a sender
//! changes its secret.

use http::HeaderMap;
use semel_core::Timestamp;

use super::key::Proof;
use super::{Checked, Encoding, SIGNATURES_MAX, Signature, decoded, one};

/// Checks the headers with this prefix.
pub(super) fn check(
    signature: &Signature,
    prefix: &str,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Checked {
    let field = |name: &str| one(headers, &format!("{prefix}{name}"));
    let (id, time) = (field("id")?, field("timestamp")?);
    let signed = field("signature")?.split_ascii_whitespace();
    let proofs = signed.take(SIGNATURES_MAX).filter_map(|one| {
        let (version, text) = one.split_once(',')?;
        let bytes = decoded(text, Encoding::Base64)?;
        match version {
            "v1" => Some(Proof::Hmac(bytes)),
            "v1a" => Some(Proof::Ed25519(bytes)),
            _ => None,
        }
    });
    let proofs: Vec<Proof> = proofs.collect();
    let parts: [&[u8]; 5] = [id.as_bytes(), b".", time.as_bytes(), b".", body];
    signature.any(&parts, &proofs)?;
    signature.is_recent(time, now)
}
