//! What was asked: a hash that tells a duplicate from a mistake.
//!
//! The same identity with another fingerprint is refused on every path. Two JSON texts
//! that differ only in field order, white space or escapes have one fingerprint; see
//! [`canonical`] for the texts that are compared byte by byte instead.

pub mod canonical;

use std::fmt;

use serde::Serialize;

use crate::error::{Error, Result};
use crate::identity::Key;

/// BLAKE3 of what was asked.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// For operations whose key alone says everything: it equals only itself.
    pub const fn none() -> Self {
        Self([0; 32])
    }

    /// The fingerprint of exact bytes.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Builder::default().part("raw", bytes).finish()
    }

    /// The fingerprint of a JSON text; field order does not matter.
    ///
    /// Text that is not JSON, or not safely comparable as JSON, is taken byte by byte.
    pub fn of_json_text(text: &[u8]) -> Self {
        match canonical::json(text) {
            Some(canonical) => Builder::default().part("json", &canonical).finish(),
            None => Self::of_bytes(text),
        }
    }

    /// The fingerprint of a value by its JSON form. The order of fields and of maps does not matter.
    ///
    /// The order of lists does, and a set is a list: a `HashSet` has another order in every process. Use a `BTreeSet`.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Self> {
        let text = serde_json::to_vec(value)
            .map_err(|e| Error::invalid("value cannot be fingerprinted as JSON").caused_by(e))?;
        if canonical::json(&text).is_none()
            && let Some(sorted) = canonical::sorted(&text)
        {
            return Ok(Builder::default().part("sorted", &sorted).finish());
        }
        Ok(Self::of_json_text(&text))
    }

    /// The fingerprint whose bytes a store kept.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// All 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A key derived from what was asked and who asked, for callers that send none.
    ///
    /// Two honest requests with the same content become one operation: use it only
    /// where that is what is meant.
    pub fn derive_key(&self, source: &str) -> Key {
        let derived = Builder::default()
            .part("source", source.as_bytes())
            .part("content", &self.0)
            .finish();
        Key::new(format!("derived:{derived}")).expect("72 bytes of hex are a valid key")
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Builds a fingerprint from named parts, so that parts can neither swap nor run together.
#[derive(Debug)]
pub struct Builder(blake3::Hasher);

impl Default for Builder {
    fn default() -> Self {
        Self(blake3::Hasher::new_keyed(
            b"semel 2026 fingerprint hash key1",
        ))
    }
}

impl Builder {
    /// Adds a part; name and order count.
    #[must_use]
    pub fn part(mut self, name: &str, bytes: &[u8]) -> Self {
        for piece in [name.as_bytes(), bytes] {
            self.0.update(&(piece.len() as u64).to_le_bytes());
            self.0.update(piece);
        }
        self
    }

    /// The fingerprint of all parts.
    pub fn finish(self) -> Fingerprint {
        Fingerprint(*self.0.finalize().as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn same(a: &str, b: &str) -> bool {
        Fingerprint::of_json_text(a.as_bytes()) == Fingerprint::of_json_text(b.as_bytes())
    }

    #[test]
    fn spelling_of_json_does_not_matter() {
        assert!(same(r#"{"a":1,"b":[2,3]}"#, r#"{ "b" : [2, 3], "a" : 1 }"#));
        assert!(same(r#"{"a":"é"}"#, r#"{"a":"\u00e9"}"#));
        assert!(same(r#"{"a":1.50}"#, r#"{"a":1.5}"#));
        assert!(same(r#"{"x":{"b":1,"a":2}}"#, r#"{"x":{"a":2,"b":1}}"#));
    }

    #[test]
    fn the_order_of_a_map_does_not_matter_even_with_large_numbers() {
        let map = |numbers: &[u64]| -> HashMap<String, u64> {
            numbers
                .iter()
                .map(|n| (n.to_string(), u64::MAX - n))
                .collect()
        };
        let forwards: Vec<u64> = (0..100).collect();
        let expected = Fingerprint::of(&map(&forwards)).unwrap();
        for _ in 0..4 {
            // Each map has hash keys, and therefore an order, of its own.
            assert_eq!(Fingerprint::of(&map(&forwards)).unwrap(), expected);
        }
        assert_ne!(Fingerprint::of(&map(&forwards[1..])).unwrap(), expected);
        assert_ne!(
            Fingerprint::of(&u64::MAX).unwrap(),
            Fingerprint::of(&(u64::MAX - 1)).unwrap()
        );
    }

    #[test]
    fn meaning_of_json_matters() {
        assert!(!same(r#"{"a":1}"#, r#"{"a":"1"}"#));
        assert!(!same(r#"[1,2]"#, r#"[2,1]"#));
        assert!(!same(r#"{"a":null}"#, r#"{}"#));
    }

    #[test]
    fn amounts_beyond_double_precision_are_told_apart() {
        assert!(!same(
            r#"{"amount":9007199254740993}"#,
            r#"{"amount":9007199254740992}"#
        ));
        assert!(!same(
            r#"{"amount":0.12345678901234567}"#,
            r#"{"amount":0.12345678901234568}"#
        ));
    }

    #[test]
    fn repeated_fields_are_compared_byte_by_byte() {
        assert!(!same(r#"{"a":1,"a":2}"#, r#"{"a":2}"#));
        assert!(same(r#"{"a":1,"a":2}"#, r#"{"a":1,"a":2}"#));
    }

    #[test]
    fn a_derived_key_depends_on_source_and_content() {
        let one = Fingerprint::of_json_text(br#"{"a":1,"b":2}"#);
        let two = Fingerprint::of_json_text(br#"{"b":2,"a":1}"#);
        assert_eq!(one.derive_key("orders"), two.derive_key("orders"));
        assert_ne!(one.derive_key("orders"), one.derive_key("refunds"));
    }

    #[test]
    fn parts_neither_swap_nor_run_together() {
        let of = |a: &str, b: &str| Builder::default().part(a, b.as_bytes()).finish();
        assert_ne!(of("ab", "c"), of("a", "bc"));
        assert_ne!(of("a", "b"), of("b", "a"));
    }

    /// Stores keep fingerprints: if this fails, every existing key looks reused.
    #[test]
    fn the_fingerprint_of_a_request_never_changes() {
        let print = Fingerprint::of_json_text(br#"{"cents":4200}"#);
        assert_eq!(
            print.to_string(),
            "af29caf7438fcaf2936c7da714eb41656bc1d9b17671bfc182c539dd4d7c1e78"
        );
        let print = Fingerprint::of_bytes(b"4200");
        assert_eq!(
            print.to_string(),
            "1c454b67a274a5ae1c092721c1787ae621386d5544250162c4b28140f20aac88"
        );
    }
}
