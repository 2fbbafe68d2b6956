//! The head of a delivery.

use std::collections::BTreeSet;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use semel_core::Headers;
use semel_http::replay::HOP_BY_HOP;

use crate::handler::Ctx;
use crate::source::is_note;

/// What is encoded in a header's text: everything that is not printable ASCII, and the sign of the encoding itself.
const TEXT: &AsciiSet = &CONTROLS.add(b'%');
/// What is encoded in a list of names: also what separates them.
const NAME: &AsciiSet = &TEXT.add(b',').add(b' ');
/// The header that names the message's headers which HTTP cannot carry.
pub(super) const DROPPED: HeaderName = HeaderName::from_static("semel-dropped-headers");
/// The most bytes of names in it; a longer list ends with `...`.
const DROPPED_BYTES_MAX: usize = 1_024;

/// The headers of a delivery, without its steps.
pub(super) fn of(ctx: &Ctx) -> HeaderMap {
    let mut headers = own(ctx.message().headers());
    for (name, value) in noted(ctx.message().headers()) {
        headers.insert(name, value);
    }
    let octets = HeaderValue::from_static("application/octet-stream");
    headers.entry(CONTENT_TYPE).or_insert(octets);
    let identity = ctx.message().identity();
    let mut say = |name: &'static str, value: &str| {
        headers.insert(HeaderName::from_static(name), text(value));
    };
    say("semel-message-id", identity.key().as_str());
    say("semel-tenant", identity.tenant().as_str());
    say("semel-consumer", &ctx.consumer().to_string());
    say("semel-attempt", &ctx.attempt().to_string());
    say("semel-fence", &ctx.claim().fence.to_string());
    say("semel-replay", &ctx.is_replay().to_string());
    say("semel-generation", &ctx.generation().to_string());
    if ctx.edited() > 0 {
        say("semel-edited", &ctx.edited().to_string());
    }
    if let Some(kind) = ctx.message().kind() {
        say("semel-message-type", kind);
    }
    if let Some(lane) = ctx.message().lane() {
        say("semel-key", lane.as_str());
    }
    if let Some(sequence) = ctx.message().sequence() {
        say("semel-sequence", &sequence.to_string());
    }
    let key = HeaderValue::from_str(&ctx.idempotency_key());
    headers.insert("idempotency-key", key.expect("keys are printable ASCII"));
    if let Some(names) = dropped(ctx.message().headers()) {
        headers.insert(DROPPED, names);
    }
    headers
}

/// What the source noted about the delivery; producers cannot say it.
fn noted(fields: &Headers) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let notes = fields.iter().filter(|(name, _)| is_note(name));
    notes.filter_map(|(name, value)| {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(value).ok()?))
    })
}

/// The names of the headers that HTTP cannot carry, because another source allows more; nothing if there are none.
fn dropped(fields: &Headers) -> Option<HeaderValue> {
    let unfit = fields.iter().filter(|(name, value)| {
        HeaderName::from_bytes(name.as_bytes()).is_err() || HeaderValue::from_bytes(value).is_err()
    });
    let names: BTreeSet<&str> = unfit.map(|(name, _)| name).collect();
    let mut list = String::new();
    for name in names {
        let name = utf8_percent_encode(name, NAME).to_string();
        let separator = if list.is_empty() { "" } else { ", " };
        if list.len() + separator.len() + name.len() > DROPPED_BYTES_MAX {
            list.push_str(&format!("{separator}..."));
            break;
        }
        list.push_str(&format!("{separator}{name}"));
    }
    let value = HeaderValue::from_str(&list).expect("encoded names are printable ASCII");
    (!list.is_empty()).then_some(value)
}

/// A message's own headers, without those of one connection and those that only Semel says.
pub(crate) fn own(fields: &Headers) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in fields.iter() {
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_bytes(value);
        // What is no header over HTTP cannot be sent as one; `dropped` names it.
        if let (Ok(name), Ok(value)) = (name, value)
            && is_own(&name)
        {
            headers.append(name, value);
        }
    }
    headers
}

/// Whether a header of that name may come from a message.
pub(crate) fn is_own(name: &HeaderName) -> bool {
    let ours = name.as_str().starts_with("semel-") || name == "idempotency-key";
    let framing = [HOST, CONTENT_LENGTH, EXPECT, USER_AGENT].contains(name);
    !(ours || framing || HOP_BY_HOP.contains(name))
}

/// Any text as a header's value; percent-decoding gives it back.
fn text(value: &str) -> HeaderValue {
    let encoded = utf8_percent_encode(value, TEXT).to_string();
    HeaderValue::from_str(&encoded).expect("encoded text is printable ASCII")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn a_message_cannot_say_what_only_semel_says() {
        let fields = [
            ("Content-Type", "application/json"),
            ("Semel-Fence", "99"),
            ("Semel-Tenant", "other"),
            ("Idempotency-Key", "forged"),
            ("Connection", "close"),
            ("Transfer-Encoding", "chunked"),
            ("Host", "elsewhere"),
            ("X-Trace", "a"),
            ("X-Trace", "b"),
            ("not a name", "x"),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), Bytes::from(value)));
        let headers = own(&Headers::new(fields.to_vec()).unwrap());
        let mut names: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["content-type", "x-trace"]);
        assert_eq!(headers.get_all("x-trace").iter().count(), 2);
    }

    #[test]
    fn headers_that_http_cannot_carry_are_named() {
        let fields = |all: &[(&str, &'static [u8])]| {
            let all = all.iter();
            let all = all.map(|(name, value)| ((*name).to_owned(), Bytes::from_static(value)));
            Headers::new(all.collect()).unwrap()
        };
        let fit = fields(&[("x-a", b"1"), ("semel-fence", b"9"), ("host", b"h")]);
        assert_eq!(dropped(&fit), None);
        let unfit = fields(&[
            ("not a name", b"x"),
            ("x-bytes", b"\0"),
            ("b,c", b"x"),
            ("x-bytes", b"\x01"),
        ]);
        assert_eq!(dropped(&unfit).unwrap(), "b%2Cc, not%20a%20name, x-bytes");
        let many: Vec<(String, Bytes)> = (0..60)
            .map(|n| (format!("a name {n} {}", "x".repeat(40)), Bytes::new()))
            .collect();
        let named = dropped(&Headers::new(many).unwrap()).unwrap();
        assert!(named.len() <= DROPPED_BYTES_MAX + 5);
        assert!(named.to_str().unwrap().ends_with(", ..."));
    }
}
