//! What a template sees: the body's fields, and `body`, `path`, `query`, `header` by name.

use percent_encoding::percent_decode_str;
use semel_core::{Error, Result, Template};
use serde_json::{Map, Value};

use super::{Whole, parameter};

/// Whether a template takes anything from the body.
pub(super) fn needs_body(template: &Template) -> bool {
    let in_head = |field: &str| matches!(split(field).0, "path" | "query" | "header");
    template.fields().any(|field| !in_head(&field))
}

/// The key that a template makes of a request; `None` if one of its fields is missing.
pub(super) fn fill(
    request: &Whole<'_>,
    template: &Template,
    document: Option<&Value>,
) -> Result<Option<String>> {
    let mut context = Map::new();
    for field in template.fields() {
        let (root, name) = split(&field);
        let found = match root {
            "path" => Some(Value::String(in_path(request, name)?)),
            "query" => parameter(name, request.parts)?.map(Value::String),
            "header" => in_header(request, name)?.map(Value::String),
            _ => {
                let value = match root {
                    "body" => document,
                    name => document.and_then(|document| document.get(name)),
                };
                context.extend(value.map(|value| (root.to_owned(), value.clone())));
                continue;
            }
        };
        if let Some(value) = found {
            put(&mut context, &field, value);
        }
    }
    template.find(&Value::Object(context))
}

fn split(field: &str) -> (&str, &str) {
    field.split_once('.').unwrap_or((field, ""))
}

/// A name that the route's pattern does not have is missing in every request: that is no request without a key.
fn in_path(request: &Whole<'_>, name: &str) -> Result<String> {
    let mut params = request.params.iter();
    let (_, value) = params.find(|(known, _)| known == name).ok_or_else(|| {
        Error::invalid(format!("the path of this route has no part named {name:?}"))
    })?;
    let decoded = percent_decode_str(value).decode_utf8();
    let decoded =
        decoded.map_err(|_| Error::invalid(format!("{name} in the path is not UTF-8")))?;
    Ok(decoded.into_owned())
}

fn in_header(request: &Whole<'_>, name: &str) -> Result<Option<String>> {
    let mut values = request.parts.headers.get_all(name).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(Error::invalid(format!("{name} is sent more than once")));
    }
    let text = std::str::from_utf8(value.as_bytes());
    let text = text.map_err(|_| Error::invalid(format!("{name} is not UTF-8")))?;
    Ok(Some(text.to_owned()))
}

/// Puts a value where the template looks for a field: each dot goes one object deeper.
fn put(context: &mut Map<String, Value>, field: &str, value: Value) {
    let Some((name, rest)) = field.split_once('.') else {
        context.insert(field.to_owned(), value);
        return;
    };
    let inner = context
        .entry(name)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(inner) = inner {
        put(inner, rest, value);
    }
}
