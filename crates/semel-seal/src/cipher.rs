//! One data key, and what is sealed with it.
//!
//! The nonce is not random: it is a keyed hash of all that is sealed and of what it belongs to. So the same outcome, offered again until the store
//! takes it, is the same text, and a store that compares the two finds no difference. Two texts with one nonce would need a collision of 192 bits.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};

/// How every sealed text begins. The last byte is the version of the form.
const MAGIC: [u8; 8] = *b"\0semel\0\x01";
const ID_BYTES: usize = 8;
const NONCE_BYTES: usize = 24;
const TAG_BYTES: usize = 16;
/// How much longer a sealed text is.
pub const OVERHEAD: usize = MAGIC.len() + ID_BYTES + NONCE_BYTES + TAG_BYTES;

/// What tells one data key from every other, without telling anything about it.
pub(crate) type KeyId = [u8; ID_BYTES];

/// What a text is for. A text that was moved to another place does not open there.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    OutcomeHeaders,
    OutcomeBody,
    Payload,
    MessageHeaders,
    Step,
    Answer,
    EditedPayload,
    EditedHeaders,
}

/// Where a text belongs: its purpose, and the operation or message that it is part of.
pub(crate) fn place(purpose: Purpose, of: &[u8; 32]) -> Vec<u8> {
    let mut place = vec![purpose as u8];
    place.extend_from_slice(of);
    place
}

/// The data key of one tenant.
pub(crate) struct DataKey {
    id: KeyId,
    cipher: XChaCha20Poly1305,
    nonces: [u8; 32],
    digests: [u8; 32],
}

impl DataKey {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        let derived = |context: &str| blake3::derive_key(context, secret);
        let id = derived("semel-seal 2026-11 id of a data key");
        let encrypts = derived("semel-seal 2026-11 encryption");
        Self {
            id: std::array::from_fn(|at| id[at]),
            cipher: XChaCha20Poly1305::new(&Key::from(encrypts)),
            nonces: derived("semel-seal 2026-11 nonces"),
            digests: derived("semel-seal 2026-11 digests"),
        }
    }

    pub(crate) const fn id(&self) -> KeyId {
        self.id
    }

    /// The text, readable only with this key and in this place.
    pub(crate) fn seal(&self, place: &[u8], text: &[u8]) -> Vec<u8> {
        let nonce = self.nonce(place, text);
        let payload = Payload {
            msg: text,
            aad: place,
        };
        let sealed = self.cipher.encrypt(&XNonce::from(nonce), payload);
        let sealed = sealed.expect("texts are far below the cipher's limit");
        let mut out = Vec::with_capacity(text.len() + OVERHEAD);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.id);
        out.extend_from_slice(&nonce);
        out.extend_from_slice(&sealed);
        out
    }

    /// What was sealed; `None` if this is another key's, another place's, or damaged.
    pub(crate) fn open(&self, place: &[u8], sealed: &[u8]) -> Option<Vec<u8>> {
        if key_of(sealed)? != self.id {
            return None;
        }
        let rest = sealed.get(MAGIC.len() + ID_BYTES..)?;
        let (nonce, text) = rest.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload {
            msg: text,
            aad: place,
        };
        self.cipher.decrypt(&XNonce::from(*nonce), payload).ok()
    }

    /// A digest that says nothing without the key: a short body could be guessed from a plain one.
    pub(crate) fn digest(&self, digest: &[u8; 32]) -> [u8; 32] {
        *blake3::keyed_hash(&self.digests, digest).as_bytes()
    }

    fn nonce(&self, place: &[u8], text: &[u8]) -> [u8; NONCE_BYTES] {
        let mut hasher = blake3::Hasher::new_keyed(&self.nonces);
        hasher.update(&(place.len() as u64).to_le_bytes());
        hasher.update(place);
        hasher.update(text);
        let mut nonce = [0; NONCE_BYTES];
        hasher.finalize_xof().fill(&mut nonce);
        nonce
    }
}

/// Whether a text is sealed.
pub(crate) fn is_sealed(text: &[u8]) -> bool {
    text.len() >= OVERHEAD && text.starts_with(&MAGIC)
}

/// The key that a text was sealed with; `None` if it is plain.
pub(crate) fn key_of(text: &[u8]) -> Option<KeyId> {
    let id = text.get(MAGIC.len()..)?.first_chunk::<ID_BYTES>()?;
    is_sealed(text).then_some(*id)
}

impl std::fmt::Debug for DataKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DataKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_opens_with_its_key_in_its_place_and_nowhere_else() {
        let (key, other) = (DataKey::new(&[1; 32]), DataKey::new(&[2; 32]));
        let here = place(Purpose::OutcomeBody, &[7; 32]);
        let sealed = key.seal(&here, b"card 4111");
        assert_eq!(sealed.len(), 9 + OVERHEAD);
        assert_eq!(key.open(&here, &sealed).unwrap(), b"card 4111");
        assert_eq!(sealed, key.seal(&here, b"card 4111"));
        assert!(!sealed.windows(4).any(|four| four == b"4111"));
        for there in [
            place(Purpose::Payload, &[7; 32]),
            place(Purpose::OutcomeBody, &[8; 32]),
        ] {
            assert_eq!(key.open(&there, &sealed), None);
        }
        assert_eq!(other.open(&here, &sealed), None);
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert_eq!(key.open(&here, &damaged), None, "byte {at}");
            assert_eq!(key.open(&here, &sealed[..at]), None, "cut at {at}");
        }
    }
}
