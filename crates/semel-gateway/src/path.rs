//! Paths that can be read in one way only.

use memchr::memchr2;
use semel_http::spelling::has_dot_segments;

/// Whether a path can be read in one way only. Dot segments cannot: who resolves them, and when,
/// decides which resource is meant, and with it which route.
pub(crate) fn is_unambiguous(path: &str) -> bool {
    path.starts_with('/')
        && memchr2(b'\\', b'#', path.as_bytes()).is_none()
        && !has_code_units(path)
        && !has_dot_segments(path)
}

/// `%u0070` is no encoding of the standard, but some servers of Windows read it as `p`.
fn has_code_units(path: &str) -> bool {
    let is_one = |pair: &[u8]| matches!(pair, b"%u" | b"%U");
    path.as_bytes().windows(2).any(is_one)
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
            "/x%3F/%2e%2e/b",
            "/x%23/%2e%2e/b",
            "/x%00/../b",
            "/x%253F/%252e%252e/b",
            "/%u0070ay",
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
