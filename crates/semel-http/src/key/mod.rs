//! Which operation is meant: finds the key of a request.

mod body;
mod context;
mod text;

use http::HeaderName;
use http::request::Parts;
use semel_core::{Error, Key, Result, Template};
use serde_json::Value;

use crate::fingerprint::query;
use crate::path::JsonPath;
use crate::rules::Rules;

/// The most places that one route looks for its key.
pub const SOURCES_MAX: usize = 8;
/// The header of the IETF draft.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// One place where a key may be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A header, bare or as an RFC 9651 string.
    Header(HeaderName),
    /// A field of a JSON or form body.
    Body(JsonPath),
    /// A query parameter.
    Query(String),
    /// A natural key, made from the request's own fields.
    Template(Template),
    /// A hash of what is asked for.
    Derive,
}

impl Source {
    /// Whether it can be looked at before the body is read.
    const fn is_in_head(&self) -> bool {
        match self {
            Self::Header(_) | Self::Query(_) => true,
            Self::Body(_) | Self::Template(_) | Self::Derive => false,
        }
    }
}

/// The places where a key may be, tried in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources(Vec<Source>);

impl Sources {
    /// These places, at least one and at most [`SOURCES_MAX`].
    pub fn new(sources: Vec<Source>) -> Result<Self> {
        match sources.len() {
            1..=SOURCES_MAX => Ok(Self(sources)),
            found => Err(Error::invalid(format!(
                "a key is looked for in 1 to {SOURCES_MAX} places, found {found}"
            ))),
        }
    }

    /// The places in order.
    pub fn iter(&self) -> impl Iterator<Item = &Source> {
        self.0.iter()
    }
}

impl Default for Sources {
    /// The `Idempotency-Key` header.
    fn default() -> Self {
        Self(vec![Source::Header(IDEMPOTENCY_KEY)])
    }
}

impl From<Source> for Sources {
    fn from(source: Source) -> Self {
        Self(vec![source])
    }
}

/// What a look at the places brought.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// This key.
    Key(Key),
    /// The request is to be its own key.
    Derive,
    /// No key in any of them.
    Missing,
    /// The body decides.
    NeedsBody,
}

/// What can be told from the head of a request alone.
pub fn find_in_head(rules: &Rules, parts: &Parts) -> Result<Found> {
    for source in &rules.key.0 {
        if !source.is_in_head() {
            return Ok(Found::NeedsBody);
        }
        if let Some(key) = in_head(source, parts)? {
            return limited(rules, &key);
        }
    }
    Ok(Found::Missing)
}

/// The key of a request whose body is there. A place that cannot be read is an error, and no place after it is tried.
pub async fn find(rules: &Rules, request: &Whole<'_>) -> Result<Found> {
    let mut document = None;
    for source in &rules.key.0 {
        let found = match source {
            Source::Header(_) | Source::Query(_) => in_head(source, request.parts)?,
            Source::Body(path) => field(path, request.document(&mut document).await?)?,
            Source::Template(template) => {
                let document = match context::needs_body(template) {
                    true => request.document(&mut document).await?,
                    false => None,
                };
                context::fill(request, template, document)?
            }
            Source::Derive => return Ok(Found::Derive),
        };
        if let Some(key) = found {
            return limited(rules, &key);
        }
    }
    Ok(Found::Missing)
}

fn limited(rules: &Rules, key: &str) -> Result<Found> {
    let max = rules.key_bytes_max;
    if key.len() > max {
        let found = key.len();
        return Err(Error::invalid(format!(
            "the key must have 1 to {max} bytes, found {found}"
        )));
    }
    Key::new(key).map(Found::Key)
}

fn in_head(source: &Source, parts: &Parts) -> Result<Option<String>> {
    match source {
        Source::Header(name) => header(name, parts),
        Source::Query(name) => parameter(name, parts),
        Source::Body(_) | Source::Template(_) | Source::Derive => Ok(None),
    }
}

fn header(name: &HeaderName, parts: &Parts) -> Result<Option<String>> {
    let mut values = parts.headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Error::invalid(format!("{name} is sent more than once")));
    }
    text::parse(name, value.as_bytes()).map(Some)
}

fn parameter(name: &str, parts: &Parts) -> Result<Option<String>> {
    let pairs = query::pairs(parts.uri.query().unwrap_or_default());
    let mut values = pairs
        .into_iter()
        .filter(|(found, _)| found == name.as_bytes());
    let Some((_, value)) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Error::invalid(format!(
            "the parameter {name} is sent more than once"
        )));
    }
    String::from_utf8(value)
        .map(Some)
        .map_err(|_| Error::invalid(format!("the parameter {name} is not UTF-8")))
}

/// A request whose body has been read.
#[derive(Debug)]
pub struct Whole<'a> {
    /// Its head.
    pub parts: &'a Parts,
    /// What the route's pattern found in the path.
    pub params: &'a [(String, String)],
    /// Its body.
    pub body: &'a [u8],
}

impl Whole<'_> {
    /// The body as JSON, read once; a form is an object of its fields. `None` if it is empty.
    async fn document<'a>(&self, read: &'a mut Option<Option<Value>>) -> Result<Option<&'a Value>> {
        if read.is_none() {
            *read = Some(body::read(self).await?);
        }
        Ok(read.as_ref().and_then(Option::as_ref))
    }
}

fn field(path: &JsonPath, document: Option<&Value>) -> Result<Option<String>> {
    let Some(document) = document else {
        return Ok(None);
    };
    match path.find(document).as_deref() {
        None => Err(Error::invalid(format!(
            "there is too much in the body to find the key at {path}"
        ))),
        Some([] | [Value::Null]) => Ok(None),
        Some([Value::String(text)]) => Ok(Some(text.clone())),
        // Longer numbers would be read as doubles, and two of them as one.
        Some([Value::Number(number)]) if number.is_i64() || number.is_u64() => {
            Ok(Some(number.to_string()))
        }
        Some([_]) => Err(Error::invalid(format!(
            "the key at {path} must be one string or one whole number"
        ))),
        Some([..]) => Err(Error::invalid(format!(
            "the key at {path} is there more than once"
        ))),
    }
}

#[cfg(test)]
mod tests;
