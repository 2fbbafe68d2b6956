//! Paths as services read them.
//!
//! A guard that compares paths byte by byte is passed by spelling: Express ignores case and a slash at the end,
//! Tomcat cuts `;parameters` off, most decode `%70`, and some decode twice. What services may read alike is one path
//! here. It is only ever matched: what is forwarded stays as the client wrote it.

use std::borrow::Cow;
use std::fmt::Write;

use percent_encoding::percent_decode;

/// How often an encoding inside an encoding is taken apart.
const ROUNDS_MAX: usize = 4;

/// The reading that most services share: one slash between segments and none at the end, no `;parameters`, and no
/// character encoded that means itself.
#[derive(Debug, PartialEq, Eq)]
pub struct Reading<'a> {
    /// With the letters as they were written: what a parameter holds may depend on them. As long as `folded`.
    pub plain: Cow<'a, str>,
    /// In small letters, for comparing.
    pub folded: Cow<'a, str>,
}

impl<'a> Reading<'a> {
    /// How `path` is usually read. Most paths are written as they are read, and are not copied.
    pub fn of(path: &'a str) -> Self {
        if is_written_as_read(path) {
            let (plain, folded) = (Cow::Borrowed(path), Cow::Borrowed(path));
            return Self { plain, folded };
        }
        let plain = plain(path, str::trim);
        Self {
            folded: plain.to_ascii_lowercase().into(),
            plain: plain.into(),
        }
    }

    /// The part of `plain` that stands where `part` stands in `folded`.
    pub fn as_written(&self, part: &str) -> &str {
        let at = part
            .as_ptr()
            .addr()
            .wrapping_sub(self.folded.as_ptr().addr());
        let end = at.checked_add(part.len());
        end.and_then(|end| self.plain.get(at..end))
            .unwrap_or_default()
    }

    /// The same without what follows the last dot of the last segment: Rails takes `/payments.json` for `/payments`.
    pub fn without_suffix(&self) -> Option<Self> {
        let (stem, suffix) = self.folded.rsplit_once('.')?;
        let is_suffix = !suffix.contains('/') && !stem.is_empty() && !stem.ends_with('/');
        is_suffix.then(|| Self {
            plain: self.plain[..stem.len()].to_owned().into(),
            folded: stem.to_owned().into(),
        })
    }
}

fn is_written_as_read(path: &str) -> bool {
    let mut before = 0;
    for byte in path.bytes() {
        let is_plain =
            byte.is_ascii() && !byte.is_ascii_uppercase() && !matches!(byte, b'%' | b';');
        if !is_plain || (byte == b'/' && before == b'/') {
            return false;
        }
        before = byte;
    }
    before != b'/' || path.len() == 1
}

/// How a service reads `path` that decodes everything, more than once if need be, and before it looks for segments:
/// in small letters, and `None` if nothing is encoded.
pub fn decoded_reading(path: &str) -> Option<String> {
    let text = decoded(path)?;
    let end = text.find(['\0', '?', '#']);
    let text = &text[..end.unwrap_or(text.len())];
    let is_space = |c: char| c.is_control() || c == ' ';
    Some(plain(text, |segment| segment.trim_matches(is_space)).to_ascii_lowercase())
}

/// The path with everything decoded, also what follows the end that some see in it.
fn decoded(path: &str) -> Option<String> {
    if !path.contains(['%', '\\']) {
        return None;
    }
    let mut bytes = path.as_bytes().to_vec();
    for _ in 0..ROUNDS_MAX {
        let next: Vec<u8> = percent_decode(&bytes).collect();
        if next == bytes {
            break;
        }
        bytes = next;
    }
    Some(String::from_utf8_lossy(&bytes).replace('\\', "/"))
}

/// The segments of a path without their parameters and without the empty ones, joined again.
fn plain(path: &str, tidy: impl Fn(&str) -> &str) -> String {
    let path: Cow<'_, str> = match path.contains('%') {
        true => decode_what_means_itself(path).into(),
        false => path.into(),
    };
    let mut plain = String::with_capacity(path.len());
    for segment in path.split('/').map(|segment| tidy(bare(segment))) {
        if !segment.is_empty() {
            plain.push('/');
            segment.chars().for_each(|c| push(&mut plain, c));
        }
    }
    if plain.is_empty() {
        plain.push('/');
    }
    plain
}

/// A segment without its `;parameters`.
fn bare(segment: &str) -> &str {
    segment.split(';').next().unwrap_or_default()
}

/// Other letters than ASCII's are written encoded, so that both ways to write them are one.
fn push(plain: &mut String, c: char) {
    if c.is_ascii() {
        return plain.push(c);
    }
    for byte in c.encode_utf8(&mut [0; 4]).bytes() {
        write!(plain, "%{byte:02X}").expect("writing to a String cannot fail");
    }
}

fn decode_what_means_itself(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(c) = rest.chars().next() {
        let decoded = needlessly_encoded(rest);
        plain.push(decoded.unwrap_or(c));
        rest = &rest[if decoded.is_some() { 3 } else { c.len_utf8() }..];
    }
    plain
}

/// The character that `text` begins with, if it is encoded and need not be.
fn needlessly_encoded(text: &str) -> Option<char> {
    let code = text.strip_prefix('%')?.get(..2)?;
    if !code.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let c = char::from(u8::from_str_radix(code, 16).ok()?);
    let means_itself = c.is_ascii_alphanumeric() || "-._~!$&'()*+,;=:@".contains(c);
    means_itself.then_some(c)
}

/// Whether a path has segments such as `..`, however they are written. Which resource is meant depends on who
/// resolves them, and when, and so does the route.
pub fn has_dot_segments(path: &str) -> bool {
    let is_dots = |segment: &str| matches!(bare(segment).trim(), "." | "..");
    let has_dots = |path: &str| path.split('/').any(is_dots);
    // Most paths have none of what makes a closer look necessary.
    let bytes = path.as_bytes();
    (bytes.windows(2).any(|pair| pair == b"/.") && has_dots(path))
        || decoded(path).is_some_and(|path| has_dots(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_services_read_alike_is_alike() {
        for (path, expected) in [
            ("/payments", "/payments"),
            ("/", "/"),
            ("//", "/"),
            ("//payments", "/payments"),
            ("/a///B//", "/a/B"),
            ("/payments/", "/payments"),
            ("/%70ayments", "/payments"),
            ("/payments;v=1", "/payments"),
            ("/;x/pay%3Bments;a/x", "/pay/x"),
            ("/a%2Fb%20c%25", "/a%2Fb%20c%25"),
            ("/%", "/%"),
            ("/%4", "/%4"),
            ("/%zz%+1", "/%zz%+1"),
            ("/é%40", "/%C3%A9@"),
            ("/%c3%a9", "/%c3%a9"),
        ] {
            let reading = Reading::of(path);
            assert_eq!(reading.plain, expected, "{path}");
            assert_eq!(reading.folded, expected.to_ascii_lowercase(), "{path}");
        }
        assert!(matches!(Reading::of("/a/b-7").folded, Cow::Borrowed(_)));
    }

    #[test]
    fn parameters_keep_their_letters() {
        let reading = Reading::of("//Orders/A%62C;v=1/");
        assert_eq!(reading.folded, "/orders/abc");
        assert_eq!(reading.as_written(&reading.folded[8..]), "AbC");
        assert_eq!(reading.as_written("elsewhere"), "");
    }

    #[test]
    fn a_suffix_belongs_to_the_last_segment() {
        for (path, expected) in [
            ("/Payments.JSON", Some("/payments")),
            ("/payments.", Some("/payments")),
            ("/a.b/c", None),
            ("/.env", None),
            ("/payments", None),
        ] {
            let stem = Reading::of(path).without_suffix();
            assert_eq!(
                stem.map(|stem| stem.folded.into_owned()).as_deref(),
                expected
            );
        }
    }

    #[test]
    fn some_services_decode_everything() {
        for (path, expected) in [
            ("/payments%2F", "/payments"),
            ("/x%2fPayments", "/x/payments"),
            ("/pay%256Dents", "/payments"),
            ("/payments%00.png", "/payments"),
            ("/payments%3Fx", "/payments"),
            ("/payments%20", "/payments"),
            ("/payments%09/", "/payments"),
            ("/x%5cpayments", "/x/payments"),
            ("/a%2Fb%25", "/a/b%"),
        ] {
            assert_eq!(decoded_reading(path).as_deref(), Some(expected), "{path}");
        }
        assert_eq!(decoded_reading("/payments"), None);
    }

    #[test]
    fn dot_segments_are_seen_however_they_are_written() {
        for path in [
            "/.",
            "/a/../b",
            "/a/%2e%2E/b",
            "/a/.%2e",
            "/x/..;/payments",
            "/x/..;a=b/payments",
            "/x/%2e%2e%3b/payments",
            "/a%2F..%2Fb",
            "/a/%252e%252e/b",
            "/a%5c..%5cb",
        ] {
            assert!(has_dot_segments(path), "{path}");
        }
        for path in ["/", "/a.b", "/.well-known/x", "/a/...", "/a..b/%2F"] {
            assert!(!has_dot_segments(path), "{path}");
        }
    }
}
