//! What callers send: JSON bodies and query parameters, bounded and checked.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use semel_core::Permit;
use semel_http::memory::{self, Full, Unread};
use semel_http::problem::{Problem, Type};
use serde::de::DeserializeOwned;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use crate::refused::Refused;
use crate::router::Shared;

/// The largest body of a call that needs no more.
pub(crate) const BYTES_MAX: usize = 64 * 1024;
/// The largest body of a claim, which may carry what was asked.
pub(crate) const CLAIM_BYTES_MAX: usize = 1024 * 1024;
/// The largest body of a call that brings an outcome: 16 MiB in base64, and headers.
pub(crate) const OUTCOME_BYTES_MAX: usize = 24 * 1024 * 1024;
/// The most bodies above [`BYTES_MAX`] that are read at once; the next ones wait.
pub(crate) const LARGE_BODIES_MAX: usize = 8;
/// How long a body may take to arrive, its turn included.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The body of a call.
pub(crate) trait Input: DeserializeOwned {
    /// The most bytes that it may have.
    const BYTES_MAX: usize = BYTES_MAX;
}

/// A JSON body, read within its limits.
pub(crate) struct Json<T> {
    /// What it says.
    pub(crate) value: T,
    /// Held until the call is answered, because that long its bytes are in memory.
    _spooled: Spooled,
}

impl<T: Input> FromRequest<Shared> for Json<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, app: &Shared) -> Result<Self, Refused> {
        let (parts, body) = request.into_parts();
        let spooled = spool(app, &parts.headers, body, T::BYTES_MAX).await?;
        let value = parse(&spooled.bytes)?;
        let _spooled = spooled;
        Ok(Self { value, _spooled })
    }
}

impl<T> Json<T> {
    /// What it says, for calls that wait: the turn and the memory are given back.
    pub(crate) fn into_value(self) -> T {
        self.value
    }
}

/// A body, and what is held while it is in memory.
pub(crate) struct Spooled {
    pub(crate) bytes: Bytes,
    _held: Permit,
    _turn: Option<OwnedSemaphorePermit>,
}

/// Reads a body within its limits.
pub(crate) async fn spool(
    app: &Shared,
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
) -> Result<Spooled, Refused> {
    let late = |_| Problem::new(Type::BodyTimeout, "the body took too long to arrive");
    let read = read(app, headers, body, bytes_max);
    timeout(BODY_TIMEOUT, read).await.map_err(late)?
}

async fn read(
    app: &Shared,
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
) -> Result<Spooled, Refused> {
    let told = memory::stated(headers);
    if told.is_some_and(|length| length > bytes_max) {
        return Err(too_large(bytes_max));
    }
    // A length that is not told may be any.
    let is_large = told.unwrap_or(bytes_max) > BYTES_MAX;
    let turn = match is_large {
        // The semaphore is never closed.
        true => app.large_bodies.clone().acquire_owned().await.ok(),
        false => None,
    };
    let read = memory::read(&app.parts.memory, headers, body, bytes_max).await;
    let spooled = |(bytes, _held)| Spooled {
        bytes,
        _held,
        _turn: turn,
    };
    read.map(spooled).map_err(|why| match why {
        Unread::TooLarge => too_large(bytes_max),
        Unread::Full => Full.problem().into(),
        Unread::Broken => Problem::new(Type::BodyBroken, "the body broke off").into(),
    })
}

fn too_large(bytes_max: usize) -> Refused {
    let detail = format!("a body of this call has at most {bytes_max} bytes");
    Problem::new(Type::BodyTooLarge, detail).into()
}

/// Reads JSON; an error says what was expected and where.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refused> {
    // The library would take an array for an object, its elements for the fields in their order.
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return Err(Problem::new(Type::InvalidInput, "expected a JSON object").into());
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let parsed = serde_path_to_error::deserialize(&mut json);
    let value = parsed.map_err(|error| {
        let (path, error) = (error.path().to_string(), error.into_inner());
        invalid(&path, &error)
    })?;
    json.end().map_err(|error| invalid(".", &error))?;
    Ok(value)
}

/// Input that breaks a rule, and the field that does.
fn invalid(path: &str, error: &serde_json::Error) -> Refused {
    // The library writes these where there is no field to name.
    match path {
        "." | "?" => Problem::new(Type::InvalidInput, error.to_string()).into(),
        field => refuse_field(field, &error.to_string()),
    }
}

/// A field that breaks a rule.
pub(crate) fn refuse_field(field: &str, why: &str) -> Refused {
    Problem::new(Type::InvalidInput, format!("{field}: {why}"))
        .with("field", field)
        .into()
}

/// Parameters after the question mark.
pub(crate) struct Params<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Shared> for Params<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &Shared) -> Result<Self, Refused> {
        check_utf8(parts.uri.query().unwrap_or_default())?;
        match Query::try_from_uri(&parts.uri) {
            Ok(Query(params)) => Ok(Self(params)),
            Err(rejection) => {
                let said = rejection.body_text();
                let why = said.strip_prefix("Failed to deserialize query string: ");
                Err(Problem::new(Type::InvalidInput, why.unwrap_or(&said)).into())
            }
        }
    }
}

/// The library would read other bytes as U+FFFD, and take two keys for one.
pub(crate) fn check_utf8(query: &str) -> Result<(), Refused> {
    match percent_decode_str(query).decode_utf8() {
        Ok(_) => Ok(()),
        Err(_) => {
            let detail = "a parameter is not UTF-8 after its percent-encoding is undone";
            Err(Problem::new(Type::InvalidInput, detail).into())
        }
    }
}

/// The parameters of a call that takes none, so that a misspelt one is never silently ignored.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NoParams {}
