//! Numbers by which a claimer knows its claim again.

use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells one claim from every other claim of its operation, before it has a fence.
///
/// 64 random bits: it is only ever compared with the claims of one identity. Never zero, which stands for "no nonce"
/// in stored records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Nonce(NonZeroU64);

impl Nonce {
    /// A number that no other claim has.
    pub fn fresh() -> Self {
        static SEED: OnceLock<[u8; 32]> = OnceLock::new();
        static DRAWN: AtomicU64 = AtomicU64::new(0);
        let seed = SEED.get_or_init(seed);
        loop {
            let drawn = DRAWN.fetch_add(1, Ordering::Relaxed);
            let mut hasher = blake3::Hasher::new_keyed(seed);
            hasher.update(&drawn.to_le_bytes());
            // A process that was forked has the seed and the count of its parent.
            hasher.update(&std::process::id().to_le_bytes());
            let mut bytes = [0; 8];
            hasher.finalize_xof().fill(&mut bytes);
            if let Some(number) = NonZeroU64::new(u64::from_le_bytes(bytes)) {
                return Self(number);
            }
        }
    }

    /// The number that stands for a name that a caller gave its claim.
    pub fn of(name: &str) -> Self {
        let digest = blake3::derive_key("semel 2026-11-17 names of claims", name.as_bytes());
        let number = u64::from_le_bytes(std::array::from_fn(|at| digest[at]));
        Self(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
    }

    /// The nonce that [`Nonce::to_i64`] wrote; `None` for zero.
    pub fn from_i64(number: i64) -> Option<Self> {
        NonZeroU64::new(u64::from_le_bytes(number.to_le_bytes())).map(Self)
    }

    /// As a signed number, for columns of SQL.
    pub const fn to_i64(self) -> i64 {
        i64::from_le_bytes(self.0.get().to_le_bytes())
    }

    /// Sixteen hexadecimal digits.
    pub fn to_hex(self) -> [u8; 16] {
        let text = format!("{:016x}", self.0);
        std::array::from_fn(|at| text.as_bytes()[at])
    }

    /// The nonce that [`Nonce::to_hex`] wrote.
    pub fn from_hex(digits: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(digits).ok().filter(|t| t.len() == 16)?;
        let number = u64::from_str_radix(text, 16).ok()?;
        NonZeroU64::new(number).map(Self)
    }
}

/// Of the system's random numbers: the standard library keys its hash maps with 128 bits of them, and tells what a
/// keyed hash of the keys is.
fn seed() -> [u8; 32] {
    let random = RandomState::new();
    let parts = std::array::from_fn::<_, 4, _>(|part| random.hash_one(part).to_le_bytes());
    blake3::derive_key("semel 2026-11-17 nonces of claims", parts.as_flattened())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn nonces_differ_over_threads_and_their_bits_are_even() {
        let draw = || (0..10_000).map(|_| Nonce::fresh()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(draw)).collect();
        let drawn = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap());
        let drawn: HashSet<Nonce> = drawn.collect();
        assert_eq!(drawn.len(), 40_000);
        for bit in 0..64 {
            let ones = drawn.iter().filter(|nonce| nonce.0.get() >> bit & 1 == 1);
            let ones = ones.count();
            assert!((19_000..21_000).contains(&ones), "bit {bit}: {ones} ones");
        }
    }

    #[test]
    fn a_nonce_is_read_as_it_was_written() {
        let nonce = Nonce::fresh();
        assert_eq!(Nonce::from_hex(&nonce.to_hex()), Some(nonce));
        for wrong in [
            "",
            "0000000000000000",
            "00000000000000zz",
            "000000000000000001",
        ] {
            assert_eq!(Nonce::from_hex(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
