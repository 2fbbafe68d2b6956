//! Query strings and forms as pairs of bytes: nothing is lost by decoding.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use percent_encoding::percent_decode;

/// The decoded pairs in their order.
pub fn pairs(text: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decoded(name), decoded(value))
        })
        .collect()
}

/// The pairs by name; values of one name keep their order, which may mean something.
pub fn sorted(text: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut pairs = pairs(text);
    pairs.sort_by(|(a, _), (b, _)| a.cmp(b));
    pairs
}

/// Whether a body says that it is a form in one piece.
pub fn is_form(headers: &HeaderMap) -> bool {
    const FORM: &[u8] = b"application/x-www-form-urlencoded";
    let value = headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
    let essence = value.and_then(|value| value.split(|byte| *byte == b';').next());
    essence.is_some_and(|essence| essence.trim_ascii().eq_ignore_ascii_case(FORM))
}

fn decoded(text: &str) -> Vec<u8> {
    let spaced: Vec<u8> = text
        .bytes()
        .map(|b| if b == b'+' { b' ' } else { b })
        .collect();
    percent_decode(&spaced).collect()
}
