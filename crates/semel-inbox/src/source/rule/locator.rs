//! One place where a part of a message may be.

use std::cell::OnceCell;

use semel_core::{Error, Result, Template};
use semel_http::path::JsonPath;
use serde_json::{Map, Value};
use sfv::{BareItem, Item, Parser};

use super::{Raw, Refusal, scalar};
use crate::vendors::Place;

/// One place where a part of a message may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Locator {
    /// A header.
    Header(String),
    /// A field of the JSON payload.
    Body(JsonPath),
    /// A text made of fields: the payload's own by name, and `header.NAME` and `body.NAME`.
    Template(Template),
    /// Where the message stands in its broker: the id of its topic or queue, its partition, its offset. Unique for ever, but another one if a
    /// producer sends the message again: only for producers that cannot give an id.
    Coordinates,
}

impl Locator {
    /// A header.
    pub fn header(name: &str) -> Result<Self> {
        match name.is_empty() || name.contains(|c: char| c.is_whitespace() || c.is_control()) {
            true => Err(Error::invalid(format!(
                "expected a header's name, found {name:?}"
            ))),
            false => Ok(Self::Header(name.to_ascii_lowercase())),
        }
    }

    /// A field of the JSON payload, such as `$.order.id`.
    pub fn body(path: &str) -> Result<Self> {
        path.parse().map(Self::Body)
    }

    /// A text made of fields, such as `{orderId}#{version}`.
    pub fn template(text: &str) -> Result<Self> {
        text.parse().map(Self::Template)
    }

    /// What is there; nothing if nothing is.
    pub(super) fn find(&self, seen: &Seen<'_>) -> Result<Option<String>, Refusal> {
        match self {
            Self::Header(name) => header(name, seen.raw),
            Self::Body(path) => match path.find(seen.document()).as_deref() {
                None => Err(Refusal::invalid(format!(
                    "there is too much to look at for {path}"
                ))),
                Some([] | [Value::Null]) => Ok(None),
                Some([value]) => match scalar(value) {
                    Some(text) => Ok(Some(text)),
                    None => Err(Refusal::invalid(format!(
                        "what is at {path} must be a text or a whole number"
                    ))),
                },
                Some([..]) => Err(Refusal::invalid(format!("there is more than one {path}"))),
            },
            Self::Coordinates => Ok(seen.raw.coordinates.clone()),
            Self::Template(template) => {
                let text = template.render(&seen.context());
                Ok(Some(
                    text.map_err(|error| Refusal::invalid(error.to_string()))?,
                ))
            }
        }
    }
}

impl From<&Place> for Locator {
    fn from(place: &Place) -> Self {
        let known = match place {
            Place::Header(name) => Self::header(name),
            Place::Body(path) => Self::body(path),
            Place::Template(text) => Self::template(text),
        };
        known.expect("the table's places are valid")
    }
}

/// A header's text. `Idempotency-Key` may be an RFC 9651 string: `"abc"` and `abc` are the same key. A header that is there and cannot be
/// understood is a mistake: the next place would hold another id.
fn header(name: &str, raw: &Raw) -> Result<Option<String>, Refusal> {
    let mut values = raw.values(name);
    let Some(first) = values.next() else {
        return Ok(None);
    };
    if values.any(|value| value != first) {
        let why = format!("there is more than one header {name}, and they differ");
        return Err(Refusal::invalid(why));
    }
    let value = std::str::from_utf8(first).map(str::trim);
    let value = value.map_err(|_| Refusal::invalid(format!("the header {name} is not text")))?;
    if value.is_empty() {
        return Ok(None);
    }
    if !name.eq_ignore_ascii_case("idempotency-key") || !value.starts_with('"') {
        return Ok(Some(value.to_owned()));
    }
    let item = Parser::new(value.as_bytes()).parse::<Item>();
    match item.map(|item| item.bare_item) {
        Ok(BareItem::String(text)) => Ok(Some(text.as_str().to_owned())),
        _ => Err(Refusal::invalid(
            "Idempotency-Key begins with a quote but is no RFC 9651 string",
        )),
    }
}

/// A delivery, whose payload is parsed at most once and only if somebody asks.
pub(super) struct Seen<'a> {
    raw: &'a Raw,
    document: OnceCell<Value>,
}

impl<'a> Seen<'a> {
    pub(super) const fn new(raw: &'a Raw) -> Self {
        Self {
            raw,
            document: OnceCell::new(),
        }
    }

    /// The payload as JSON; null if it is none.
    fn document(&self) -> &Value {
        self.document
            .get_or_init(|| serde_json::from_slice(self.raw.body()).unwrap_or(Value::Null))
    }

    /// What a template sees.
    fn context(&self) -> Value {
        let document = self.document();
        let mut context = match document {
            Value::Object(fields) => fields.clone(),
            _ => Map::new(),
        };
        let headers = self.raw.headers.iter().map(|(name, value)| {
            let value = value.as_deref().unwrap_or_default();
            let value = String::from_utf8_lossy(value).into_owned();
            (name.to_ascii_lowercase(), Value::String(value))
        });
        context.insert("header".into(), Value::Object(headers.collect()));
        context.insert("body".into(), document.clone());
        Value::Object(context)
    }
}
