//! Paths that can be read in one way only.

use memchr::memchr2;
use semel_http::spelling::has_dot_segments;

/// Whether a path can be read in one way only. Dot segments cannot: who resolves them, and when,
/// decides which resource is meant, and with it which route.
pub(crate) fn is_unambiguous(path: &str) -> bool {
    path.starts_with('/')
        && memchr2(b'\\', b'#', path.as_bytes()).is_none()
        && !has_dot_segments(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_segments_and_backslashes_are_ambiguous() {
        for path in [
            "/.",
            "/a/../b",
            "/x/..;/b",
            "/a%2F..%2Fb",
            "a",
            "",
            "/a\\b",
            "*",
        ] {
            assert!(!is_unambiguous(path), "{path}");
        }
        for path in ["/", "/a.b", "/.well-known/x", "/a/...", "/a%2Fb"] {
            assert!(is_unambiguous(path), "{path}");
        }
    }
}
