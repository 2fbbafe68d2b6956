//! Paths as services read them.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// The path as most services read it: `//payments` and `/%70ayments` are `/payments` to them, so they
/// are guarded like it. What is forwarded stays as the client wrote it.
///
/// Only characters that mean themselves in a path are decoded; what a parameter holds stays encoded.
pub(crate) fn plain(path: &str) -> Cow<'_, str> {
    let bytes = path.as_bytes();
    if memchr(b'%', bytes).is_none() && !bytes.windows(2).any(|pair| pair == b"//") {
        return Cow::Borrowed(path);
    }
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(c) = rest.chars().next() {
        let decoded = decoded(rest);
        let after_slash = plain.ends_with('/');
        match (decoded, c) {
            (Some(decoded), _) => plain.push(decoded),
            (None, '/') if after_slash => {}
            (None, c) => plain.push(c),
        }
        rest = &rest[if decoded.is_some() { 3 } else { c.len_utf8() }..];
    }
    Cow::Owned(plain)
}

/// The character that `text` begins with, if it is encoded and need not be.
fn decoded(text: &str) -> Option<char> {
    let code = text.strip_prefix('%')?.get(..2)?;
    if !code.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let c = char::from(u8::from_str_radix(code, 16).ok()?);
    let means_itself = c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@".contains(c);
    means_itself.then_some(c)
}

/// Whether a path can be read in one way only. Dot segments cannot: who resolves them, and when,
/// decides which resource is meant, and with it which route.
pub(crate) fn is_unambiguous(path: &str) -> bool {
    let is_dots = |segment: &str| matches!(segment, "." | "..");
    let bytes = path.as_bytes();
    // Most paths have none of what makes a closer look necessary.
    let may_have_dots = memchr(b'%', bytes).is_some() || bytes.windows(2).any(|pair| pair == b"/.");
    path.starts_with('/')
        && memchr2(b'\\', b'#', bytes).is_none()
        && !(may_have_dots && plain(path).split('/').any(is_dots))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_services_read_alike_is_alike() {
        for (path, expected) in [
            ("/payments", "/payments"),
            ("//payments", "/payments"),
            ("/a///b//", "/a/b/"),
            ("/%70ayments", "/payments"),
            ("/a%2Fb%20c%25", "/a%2Fb%20c%25"),
            ("/%", "/%"),
            ("/%4", "/%4"),
            ("/%zz%+1", "/%zz%+1"),
            ("/é%40", "/é@"),
        ] {
            assert_eq!(plain(path), expected, "{path}");
        }
    }

    #[test]
    fn dot_segments_are_ambiguous_however_they_are_written() {
        for path in [
            "/.",
            "/a/../b",
            "/a/%2e%2E/b",
            "/a/.%2e",
            "a",
            "",
            "/a\\b",
            "*",
        ] {
            assert!(!is_unambiguous(path), "{path}");
        }
        for path in ["/", "/a.b", "/.well-known/x", "/a/...", "/a%2F..%2Fb"] {
            assert!(is_unambiguous(path), "{path}");
        }
    }
}
