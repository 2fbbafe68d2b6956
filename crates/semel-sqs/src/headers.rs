//! Headers and payloads as message attributes and bodies, and back.
//!
//! A message has at most ten attributes, each name once, in no order, with a text or bytes that are not empty; a body is text that is not empty.
//! Headers that fit are attributes of their own. Otherwise all of them are in one attribute, `semel-headers`, as JSON. A payload that is no such
//! text is in base64, and `semel-encoding` says so.

use std::collections::{BTreeMap, HashMap, HashSet};

use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::MessageAttributeValue;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use semel_inbox::intents::Outgoing;
use semel_inbox::source::HeaderField;
use serde_json::{Value, json};

/// The attribute with the id.
pub(crate) const ID: &str = "message-id";
/// The attribute with the kind.
const KIND: &str = "kind";
/// The attribute with headers that cannot be attributes.
const HEADERS: &str = "semel-headers";
/// The attribute that says how the payload is written, if not as it is.
const ENCODING: &str = "semel-encoding";
/// The most attributes of a message.
const ATTRIBUTES_MAX: usize = 10;
/// The longest name of an attribute.
const NAME_MAX: usize = 256;
/// What stands in the body for a payload that is not there or empty.
const PLACEHOLDER: &str = "-";

/// A message as the service takes it.
pub(crate) struct Written {
    pub(crate) body: String,
    pub(crate) attributes: HashMap<String, MessageAttributeValue>,
}

impl Written {
    /// How much of the service's limit it takes.
    pub(crate) fn bytes(&self) -> usize {
        let attribute = |(name, value): (&String, &MessageAttributeValue)| {
            let text = value.string_value().map_or(0, str::len);
            let bytes = value.binary_value().map_or(0, |blob| blob.as_ref().len());
            name.len() + value.data_type().len() + text + bytes
        };
        self.body.len() + self.attributes.iter().map(attribute).sum::<usize>()
    }
}

/// Writes a message.
pub(crate) fn write(message: &Outgoing) -> Written {
    let mut attributes = HashMap::from([(ID.to_owned(), text(&message.id))]);
    if let Some(kind) = message.kind.as_ref().filter(|kind| is_text(kind)) {
        attributes.insert(KIND.to_owned(), text(kind));
    }
    let (body, encoding) = body(message.payload.as_ref());
    if let Some(encoding) = encoding {
        attributes.insert(ENCODING.to_owned(), text(encoding));
    }
    let room = ATTRIBUTES_MAX - attributes.len();
    match plain(&message.headers, room, &attributes) {
        Some(plain) => attributes.extend(plain),
        None => {
            attributes.insert(HEADERS.to_owned(), text(&packed(&message.headers)));
        }
    }
    Written { body, attributes }
}

fn body(payload: Option<&Bytes>) -> (String, Option<&'static str>) {
    match payload {
        None => (PLACEHOLDER.to_owned(), Some("null")),
        Some(payload) if payload.is_empty() => (PLACEHOLDER.to_owned(), Some("empty")),
        Some(payload) => match std::str::from_utf8(payload) {
            Ok(text) if is_text(text) => (text.to_owned(), None),
            _ => (STANDARD.encode(payload), Some("base64")),
        },
    }
}

/// Headers as attributes of their own, if all of them fit.
fn plain(
    headers: &[HeaderField],
    room: usize,
    taken: &HashMap<String, MessageAttributeValue>,
) -> Option<Vec<(String, MessageAttributeValue)>> {
    let mut names = HashSet::new();
    let attribute = |(name, value): &HeaderField| {
        let value = value.as_ref().filter(|value| !value.is_empty())?;
        let is_taken = taken.keys().any(|taken| taken.eq_ignore_ascii_case(name));
        let is_new = !is_taken && names.insert(name.to_ascii_lowercase());
        let value = match std::str::from_utf8(value) {
            Ok(value) if is_text(value) => text(value),
            _ => binary(value),
        };
        (is_new && is_name(name)).then(|| (name.clone(), value))
    };
    match headers.len() <= room {
        true => headers.iter().map(attribute).collect(),
        false => None,
    }
}

fn packed(headers: &[HeaderField]) -> String {
    let header = |(name, value): &HeaderField| match value.as_deref().map(std::str::from_utf8) {
        None => json!([name, null]),
        Some(Ok(text)) => json!([name, text]),
        Some(Err(_)) => {
            json!([name, { "base64": STANDARD.encode(value.as_deref().unwrap_or_default()) }])
        }
    };
    Value::Array(headers.iter().map(header).collect()).to_string()
}

/// What was read of a message.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) headers: Vec<HeaderField>,
    pub(crate) payload: Option<Bytes>,
    /// Why it cannot be read as it was meant.
    pub(crate) unreadable: Option<String>,
}

/// Reads body and attributes; the latter in the order of their names.
pub(crate) fn read(
    body: String,
    attributes: Option<HashMap<String, MessageAttributeValue>>,
) -> Read {
    let mut attributes: BTreeMap<_, _> = attributes.unwrap_or_default().into_iter().collect();
    let mut read = Read::default();
    let encoding = attributes.remove(ENCODING);
    let packed = attributes.remove(HEADERS);
    for (name, value) in attributes {
        let value = match value {
            MessageAttributeValue {
                binary_value: Some(blob),
                ..
            } => Some(blob.into_inner().into()),
            MessageAttributeValue { string_value, .. } => string_value.map(Bytes::from),
        };
        read.headers.push((name, value));
    }
    if let Some(packed) = packed {
        match packed.string_value().and_then(unpacked) {
            Some(headers) => read.headers.extend(headers),
            None => {
                read.unreadable = Some(format!(
                    "the attribute {HEADERS} is not what this program writes"
                ))
            }
        }
    }
    read.payload = match encoding
        .as_ref()
        .and_then(|encoding| encoding.string_value())
    {
        Some("null") => None,
        Some("empty") => Some(Bytes::new()),
        Some("base64") => match STANDARD.decode(&body) {
            Ok(payload) => Some(payload.into()),
            Err(_) => {
                read.unreadable = Some(format!("{ENCODING} says base64, but the body is not"));
                Some(body.into())
            }
        },
        _ => Some(body.into()),
    };
    read
}

fn unpacked(text: &str) -> Option<Vec<HeaderField>> {
    let headers: Vec<(String, Value)> = serde_json::from_str(text).ok()?;
    let header = |(name, value): (String, Value)| match value {
        Value::Null => Some((name, None)),
        Value::String(text) => Some((name, Some(text.into()))),
        Value::Object(parts) => {
            let bytes = STANDARD.decode(parts.get("base64")?.as_str()?).ok()?;
            Some((name, Some(bytes.into())))
        }
        _ => None,
    };
    headers.into_iter().map(header).collect()
}

fn text(value: &str) -> MessageAttributeValue {
    let value = MessageAttributeValue::builder()
        .data_type("String")
        .string_value(value);
    value.build().expect("the type of the attribute is set")
}

fn binary(value: &Bytes) -> MessageAttributeValue {
    let value = MessageAttributeValue::builder()
        .data_type("Binary")
        .binary_value(Blob::new(value.to_vec()));
    value.build().expect("the type of the attribute is set")
}

/// Whether the service takes it as it is: characters of XML, at least one.
fn is_text(text: &str) -> bool {
    let fits = |c: char| match c {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        c => c >= ' ',
    };
    !text.is_empty() && text.chars().all(fits)
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let lower = name.to_ascii_lowercase();
    (1..=NAME_MAX).contains(&name.len())
        && name.chars().all(fits)
        && !["aws.", "amazon.", "."]
            .iter()
            .any(|start| lower.starts_with(start))
        && !name.ends_with('.')
        && !name.contains("..")
        && ![HEADERS, ENCODING].contains(&lower.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(name: &str, value: Option<&'static [u8]>) -> HeaderField {
        (name.to_owned(), value.map(Bytes::from_static))
    }

    fn round(headers: Vec<HeaderField>, payload: Option<&'static [u8]>) -> (usize, Read) {
        let message = Outgoing {
            id: "i-1".to_owned(),
            key: None,
            kind: None,
            headers,
            payload: payload.map(Bytes::from_static),
        };
        let written = write(&message);
        assert!(written.attributes.len() <= ATTRIBUTES_MAX && !written.body.is_empty());
        (
            written.attributes.len(),
            read(written.body, Some(written.attributes)),
        )
    }

    #[test]
    fn headers_that_fit_are_attributes_and_others_are_packed() {
        let plain = vec![field("a", Some(b"1")), field("b", Some(b"\xff"))];
        let (count, read) = round(plain.clone(), Some(b"{}"));
        assert_eq!(count, 3);
        assert_eq!(read.headers[..2], plain[..]);
        assert_eq!(read.headers[2], field(ID, Some(b"i-1")));
        let many =
            |name: &dyn Fn(usize) -> String| (0..12).map(|n| field(&name(n), Some(b"x"))).collect();
        for odd in [
            vec![field("a", Some(b"1")), field("a", Some(b"2"))],
            vec![
                field("a b", Some(b"\xff")),
                field("z", None),
                field("e", Some(b"")),
            ],
            vec![field("AWS.x", Some(b"1"))],
            vec![field(ID, Some(b"another"))],
            vec![field("Message-Id", Some(b"another"))],
            many(&|n| format!("h{n}")),
        ] {
            let (count, read) = round(odd.clone(), Some(b"{}"));
            assert_eq!(count, 2);
            assert_eq!(read.headers[1..], odd[..]);
        }
    }

    #[test]
    fn payloads_come_back_as_they_were() {
        for payload in [
            None,
            Some(&b""[..]),
            Some(b"text"),
            Some(b"\x00\xff"),
            Some(b"\x0b"),
        ] {
            let (_, read) = round(Vec::new(), payload);
            assert_eq!(read.payload.as_deref(), payload);
            assert_eq!(read.unreadable, None);
        }
        let odd = HashMap::from([(HEADERS.to_owned(), text("{"))]);
        assert!(read("x".to_owned(), Some(odd)).unreadable.is_some());
    }
}
