//! A body as the fields in which a key may be.
//!
//! What cannot be read is refused and never taken for a body without a key: the service may read it, and would run it
//! unguarded.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use semel_core::fingerprint::canonical;
use semel_core::{Error, Result};
use serde_json::{Map, Value};

use super::Whole;
use crate::fingerprint::content::{Content, without_bom};
use crate::fingerprint::query;

/// The most parts of a multipart form that are looked at.
const PARTS_MAX: usize = 1_024;
/// How deep names with brackets may lead.
const DEPTH_MAX: usize = 8;

/// The fields of a body; `None` if it is empty.
pub(super) async fn read(request: &Whole<'_>) -> Result<Option<Value>> {
    let (headers, body) = (&request.parts.headers, request.body);
    if without_bom(body).trim_ascii().is_empty() {
        return Ok(None);
    }
    if headers.get_all(CONTENT_TYPE).iter().count() > 1 {
        return Err(Error::invalid("Content-Type is sent more than once"));
    }
    let mut encodings = headers.get_all(CONTENT_ENCODING).iter();
    let is_identity = |value: &[u8]| value.trim_ascii().eq_ignore_ascii_case(b"identity");
    if !encodings.all(|value| is_identity(value.as_bytes())) {
        return Err(Error::invalid(
            "the key in a compressed body cannot be read, send the body without Content-Encoding",
        ));
    }
    let document = match Content::of(headers, body) {
        Content::Json => json(body)?,
        Content::Form => form(body)?,
        // Boxed, so that other requests do not carry the room for it around.
        Content::Multipart { boundary } => Box::pin(multipart(body, &boundary)).await?,
        Content::Other => json(body).map_err(|_| {
            Error::invalid("the key is looked for in the body, which is neither JSON nor a form")
        })?,
    };
    Ok(Some(document))
}

fn json(body: &[u8]) -> Result<Value> {
    let text = without_bom(body);
    // The parser's message says where, and nothing of what is there.
    let document = serde_json::from_slice(text).map_err(|error| {
        Error::invalid(format!(
            "the key in the body cannot be read, because the body is not valid JSON: {error}"
        ))
    })?;
    // Of a field that is there twice the service may take the other one.
    match canonical::fields_are_unique(text) {
        true => Ok(document),
        false => Err(Error::invalid("the body names a field more than once")),
    }
}

fn form(body: &[u8]) -> Result<Value> {
    let bad =
        || Error::invalid("the key in the form cannot be read, because the form is not UTF-8");
    // A zero byte shows an encoding in which no name would be found.
    let text = std::str::from_utf8(without_bom(body)).map_err(|_| bad())?;
    if text.contains('\0') {
        return Err(bad());
    }
    let mut fields = Map::new();
    for (name, value) in query::pairs(text) {
        let value = String::from_utf8(value).map_or_else(|_| opaque(), Value::String);
        add(&mut fields, &name, value);
    }
    nested(fields)
}

async fn multipart(body: &[u8], boundary: &str) -> Result<Value> {
    let bad = || {
        Error::invalid(
            "the key in the multipart form cannot be read, because the form is not valid",
        )
    };
    let whole = stream::iter([Ok::<_, Infallible>(Bytes::copy_from_slice(body))]);
    let mut parts = multer::Multipart::new(whole, boundary);
    let mut fields = Map::new();
    for _ in 0..PARTS_MAX {
        let Some(part) = parts.next_field().await.map_err(|_| bad())? else {
            return nested(fields);
        };
        let name = part.name().unwrap_or_default().to_owned();
        let is_file = part.file_name().is_some();
        let content = part.bytes().await.map_err(|_| bad())?;
        let value = match std::str::from_utf8(&content) {
            Ok(text) if !is_file => Value::String(text.to_owned()),
            _ => opaque(),
        };
        add(&mut fields, name.as_bytes(), value);
    }
    Err(Error::invalid(format!(
        "the key is looked for in a multipart form of at most {PARTS_MAX} parts"
    )))
}

/// Something that is there and is no key: a file, or text that cannot be read.
const fn opaque() -> Value {
    Value::Array(Vec::new())
}

/// A field that is there more than once is no key either; any other field may repeat.
fn add(fields: &mut Map<String, Value>, name: &[u8], value: Value) {
    let name = String::from_utf8_lossy(name).into_owned();
    let value = match fields.contains_key(&name) {
        true => opaque(),
        false => value,
    };
    fields.insert(name, value);
}

/// Adds what services read from names with brackets: to Rails, PHP and Express `order[id]` is the field `id` of `order`.
fn nested(mut fields: Map<String, Value>) -> Result<Value> {
    let written: Vec<_> = fields
        .keys()
        .filter(|name| name.contains('['))
        .cloned()
        .collect();
    for name in written {
        let Some((first, rest)) = name.split_once('[') else {
            continue;
        };
        let steps = rest.trim_end_matches(']').split("][");
        let value = fields[&name].clone();
        let mut at = fields
            .entry(first.to_owned())
            .or_insert_with(|| Value::Object(Map::new()));
        for step in steps.take(DEPTH_MAX) {
            if !at.is_object() {
                return Err(Error::invalid(
                    "the form names a field with and without brackets, which services read in different ways",
                ));
            }
            at = &mut at[step];
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
        }
        if at.as_object().is_some_and(Map::is_empty) {
            *at = value;
        }
    }
    Ok(Value::Object(fields))
}
