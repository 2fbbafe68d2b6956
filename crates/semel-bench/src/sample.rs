//! The record that everything is measured with: 44 bytes of identity, 56 of meta, 300 of result.
//!
//! All of it follows from a number, so a replay needs to remember only how far the numbers went.

use std::time::Duration;

use bytes::Bytes;
use semel_core::store::{ClaimRequest, SettleRequest, Takeover};
use semel_core::{Claim, Fingerprint, Identity, LeaseTerm, Outcome, Result, Retention};

/// Bytes of tenant, scope name and key together.
pub(crate) const IDENTITY_BYTES: usize = 44;
/// Bytes of fingerprint and three times.
pub(crate) const META_BYTES: usize = 56;
/// Bytes of the result.
pub(crate) const BODY_BYTES: usize = 300;
/// The logical bytes of a record.
pub(crate) const RECORD_BYTES: usize = IDENTITY_BYTES + META_BYTES + BODY_BYTES;

/// One record to be.
#[derive(Debug, Clone)]
pub struct Sample {
    identity: Identity,
    fingerprint: Fingerprint,
    body_seed: u64,
}

impl Sample {
    /// The record with this number; other numbers, or another `seed`, give unrelated bytes.
    pub fn new(seed: u64, number: u64) -> Result<Self> {
        let mut random = Random(seed ^ mix(number));
        let key = key(random.next(), random.next());
        let print = random.bytes::<32>();
        Ok(Self {
            identity: Identity::parse("acme", "pays", &key)?,
            fingerprint: Fingerprint::from_bytes(print),
            body_seed: random.next(),
        })
    }

    /// Asks a store to run it.
    pub fn claim(&self) -> ClaimRequest {
        ClaimRequest {
            identity: self.identity.clone(),
            fingerprint: self.fingerprint,
            lease: LeaseTerm::default(),
            takeover: Takeover::Never,
            about: None,
            nonce: None,
        }
    }

    /// Brings its outcome to a store.
    pub fn settle(&self, claim: Claim) -> SettleRequest {
        SettleRequest {
            claim,
            outcome: Outcome::succeeded(Bytes::copy_from_slice(&self.outcome_bytes())),
            took: Duration::from_millis(1),
            retention: Retention::default(),
        }
    }

    /// The bytes that a raw baseline must make durable for the claim.
    pub fn claim_bytes(&self) -> [u8; IDENTITY_BYTES + META_BYTES] {
        let mut bytes = [0; IDENTITY_BYTES + META_BYTES];
        let texts = [
            self.identity.tenant().as_str(),
            self.identity.scope().name(),
            self.identity.key().as_str(),
        ];
        let parts = texts.iter().map(|text| text.as_bytes());
        let mut at = 0;
        for part in parts.chain([self.fingerprint.as_bytes().as_slice()]) {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        bytes
    }

    /// The bytes that a raw baseline must make durable for the outcome.
    pub fn outcome_bytes(&self) -> [u8; BODY_BYTES] {
        // Made when asked for: a replay brings no outcome and should not pay for one.
        Random(self.body_seed).bytes()
    }
}

/// 36 bytes that look like a UUID, the usual key.
pub(crate) fn key(high: u64, low: u64) -> String {
    let (a, b, c) = (high >> 32, (high >> 16) & 0xffff, high & 0xffff);
    let (d, e) = (low >> 48, low & 0xffff_ffff_ffff);
    format!("{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
}

/// SplitMix64: small, fast, and its output does not compress.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
        bytes
    }
}

/// Spreads a number over all 64 bits.
pub(crate) fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_four_hundred_logical_bytes() {
        let sample = Sample::new(7, 1).unwrap();
        let identity = &sample.identity;
        let text = [
            identity.tenant().as_str(),
            identity.scope().name(),
            identity.key().as_str(),
        ];
        assert_eq!(text.concat().len(), IDENTITY_BYTES);
        let bytes = sample.claim_bytes().len() + sample.outcome_bytes().len();
        assert_eq!(bytes, RECORD_BYTES);
    }

    #[test]
    fn numbers_and_seeds_tell_records_apart_and_repeat() {
        let of = |seed, number| Sample::new(seed, number).unwrap();
        assert_eq!(of(1, 2).identity, of(1, 2).identity);
        assert_eq!(of(1, 2).fingerprint, of(1, 2).fingerprint);
        assert_ne!(of(1, 2).identity, of(1, 3).identity);
        assert_ne!(of(1, 2).identity, of(2, 2).identity);
    }
}
