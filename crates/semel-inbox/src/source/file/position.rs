//! How far a file was read, and which file that was.

use semel_core::Fingerprint;
use serde::{Deserialize, Serialize};

/// So many bytes of a file's beginning tell it from another.
pub(super) const HEAD_BYTES: usize = 256;

/// A position in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Position {
    /// Where the next line begins.
    pub(super) offset: u64,
    /// How many lines are before it.
    pub(super) line: u64,
    /// The file's number in its file system, where there is one.
    pub(super) file: u64,
    /// How many bytes of its beginning were looked at, and their hash.
    head: usize,
    hash: String,
}

impl Position {
    /// The position in a file that begins with `head`.
    pub(super) fn new((offset, line): (u64, u64), file: u64, head: &[u8]) -> Self {
        let known = usize::try_from(offset).unwrap_or(usize::MAX);
        let head = &head[..head.len().min(known)];
        Self {
            offset,
            line,
            file,
            head: head.len(),
            hash: Fingerprint::of_bytes(head).to_string(),
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("numbers and a text are valid JSON")
    }

    /// Whether a file with this number, length and beginning is the one that was read.
    pub(super) fn is_in(&self, file: u64, len: u64, head: &[u8]) -> bool {
        let same_head = head
            .get(..self.head)
            .is_some_and(|head| Fingerprint::of_bytes(head).to_string() == self.hash);
        file == self.file && len >= self.offset && same_head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_belongs_to_its_file_only() {
        let position = Position::new((4, 1), 7, b"one\ntwo\n");
        assert_eq!(Position::parse(&position.text()), Some(position.clone()));
        assert!(position.is_in(7, 8, b"one\ntwo\n"));
        assert!(position.is_in(7, 8, b"one\nmore"));
        assert!(!position.is_in(8, 8, b"one\ntwo\n"));
        assert!(!position.is_in(7, 3, b"one"));
        assert!(!position.is_in(7, 8, b"new\ntwo\n"));
        assert_eq!(Position::parse("12"), None);
    }
}
