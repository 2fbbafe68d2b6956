//! Cookies as HTTP/1.1 has them.

use http::header::{COOKIE, HeaderMap};
use http::{HeaderValue, Version};

/// Joins the `cookie` fields of an HTTP/2 request (RFC 9113 §8.2.3). A client may cut them anew with every
/// retry, so this comes before anything compares them; and an upstream that speaks HTTP/1.1 expects one.
pub(super) fn join(headers: &mut HeaderMap, version: Version) {
    if version < Version::HTTP_2 || headers.get_all(COOKIE).iter().nth(1).is_none() {
        return;
    }
    let fields: Vec<_> = headers
        .get_all(COOKIE)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    let joined = fields.join(&b"; "[..]);
    // Valid values stay valid when they are joined.
    if let Ok(joined) = HeaderValue::from_bytes(&joined) {
        headers.insert(COOKIE, joined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(version: Version, fields: &[&'static str]) -> Vec<HeaderValue> {
        let mut headers = HeaderMap::new();
        for field in fields {
            headers.append(COOKIE, HeaderValue::from_static(field));
        }
        join(&mut headers, version);
        headers.get_all(COOKIE).iter().cloned().collect()
    }

    #[test]
    fn only_the_fields_of_http2_are_joined() {
        assert_eq!(
            joined(Version::HTTP_2, &["a=1", "b=2; c=3"]),
            ["a=1; b=2; c=3"]
        );
        assert_eq!(joined(Version::HTTP_2, &["a=1"]), ["a=1"]);
        assert!(joined(Version::HTTP_2, &[]).is_empty());
        assert_eq!(joined(Version::HTTP_11, &["a=1", "b=2"]), ["a=1", "b=2"]);
    }
}
