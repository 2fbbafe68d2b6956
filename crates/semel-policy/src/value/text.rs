//! The words that settings are made of. Most are types of other crates; here is how they are written.

use std::path::PathBuf;
use std::time::Duration;

use http::HeaderName;
use schemars::{Schema, json_schema};
use semel_core::identity::PART_BYTES_MAX;
use semel_core::{LeaseTerm, Scope, Template, duration};
use semel_http::path::JsonPath;
use semel_http::profile::Profile;
use semel_http::rules::{BusyStatus, StatusSet};
use semel_http::tenant::Algorithm;

use super::word::{Refusal, Text};
use crate::limits::{COUNT_MAX, NAME_BYTES_MAX};

macro_rules! texts {
    ($($type:ty, $expected:literal, |$text:ident| $parse:expr, $schema:tt;)+) => {$(
        impl Text for $type {
            const EXPECTED: &'static str = $expected;

            fn parse($text: &str) -> Result<Self, Refusal> {
                $parse
            }

            fn schema() -> Schema {
                json_schema!($schema)
            }
        }
    )+};
}

texts! {
    Duration, "a duration such as 30s",
        |text| duration::parse(text).map_err(unlike),
        { "type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$", "examples": ["30s", "24h"] };
    LeaseTerm, "a duration such as 30s",
        |text| Self::new(Duration::parse(text)?)
            .map_err(|_| Refusal::Expected("a duration from 1ms to 24h".to_owned())),
        { "type": "string", "pattern": "^[0-9]+(ms|s|m|h|d)$", "examples": ["30s"] };
    HeaderName, "the name of a header",
        |text| text.parse().map_err(unlike),
        { "type": "string", "minLength": 1 };
    JsonPath, "a path into JSON such as $.order.id",
        |text| text.parse().map_err(unlike),
        { "type": "string", "minLength": 1, "examples": ["$.order.id"] };
    Template, "a template such as {orderId}#{line.id}",
        |text| text.parse().map_err(|error: semel_core::Error| Refusal::Said(error.to_string())),
        { "type": "string", "pattern": r"\{[^}]+\}" };
    Scope, "a scope such as payments@1",
        |text| scope(text),
        { "type": "string", "minLength": 1, "maxLength": 255 };
    // One status or one class; a list of them is put together when rules are made.
    StatusSet, "a status such as 404 or 4xx",
        |text| text.parse().map(|one| Self::new(vec![one])).map_err(unlike),
        { "anyOf": [
            { "type": "string", "pattern": "^([2-5]xx|[2-5][0-9][0-9])$" },
            { "type": "integer", "minimum": 200, "maximum": 599 },
        ] };
    BusyStatus, "409, 425 or 202",
        |text| text.parse().map_err(unlike).and_then(|code: u16| code.try_into().map_err(unlike)),
        { "enum": [409, 425, 202] };
    Profile, "one of ietf, stripe, paypal, square, adyen, stripe-v2, acp",
        |text| text.parse().map_err(unlike),
        { "type": "string", "enum": ["ietf", "stripe", "paypal", "square", "adyen", "stripe-v2", "acp"] };
    Algorithm, "one of HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA",
        |text| text.parse().map_err(unlike),
        { "type": "string", "enum": ["HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"] };
    PathBuf, "the path of a file",
        |text| Name::parse(text).map(|name| name.0.into()),
        { "type": "string", "minLength": 1 };
    Name, "a text of 1 to 1024 bytes",
        |text| match text.len() {
            1..=NAME_BYTES_MAX => Ok(Self(text.to_owned())),
            _ => Err(Refusal::Unlike),
        },
        { "type": "string", "minLength": 1 };
    Count, "a whole number from 1 to 1000000",
        |text| number(text, COUNT_MAX).map(Self),
        { "type": "integer", "minimum": 1, "maximum": 1_000_000 };
    KeyBytes, "a whole number from 1 to 255",
        |text| number(text, PART_BYTES_MAX).map(Self),
        { "type": "integer", "minimum": 1, "maximum": 255 };
}

/// A name or another short text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name(pub String);

/// A number of things.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count(pub usize);

/// The length of a key, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyBytes(pub usize);

fn unlike<E>(_: E) -> Refusal {
    Refusal::Unlike
}

/// The core takes an `@` without a number behind it for a part of the name; in a file a version was meant.
fn scope(text: &str) -> Result<Scope, Refusal> {
    let scope: Scope = text
        .parse()
        .map_err(|error: semel_core::Error| Refusal::Said(error.to_string()))?;
    match scope.name().contains('@') || scope.version() == 0 {
        true => Err(Refusal::Expected(
            "a scope such as payments@1, with a whole number from 1 on behind its only @"
                .to_owned(),
        )),
        false => Ok(scope),
    }
}

fn number(text: &str, max: usize) -> Result<usize, Refusal> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (1..=max).contains(number));
    number.ok_or(Refusal::Unlike)
}
