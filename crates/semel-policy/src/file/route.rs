//! `gateway.routes`: which requests, and what is special about them.

use schemars::{JsonSchema, Schema, json_schema};
use semel_core::Scope;
use semel_http::host::HostPattern;
use semel_http::pattern;
use serde::Deserialize;

use super::quota::Quota;
use super::settings::Settings;
use crate::value::{Many, Name, Refusal, Service, Text, Word};

/// One kind of request that is guarded.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// Which requests.
    #[serde(rename = "match")]
    pub matches: Match,
    /// The service for these, if it is another one.
    pub upstream: Option<Word<Service>>,
    /// Which operation this is, with the version of its meaning, such as payments@1. Default: the
    /// method and the pattern.
    pub scope: Option<Word<Scope>>,
    /// What one tenant may bring to this route, besides limits.tenant.
    #[serde(default)]
    pub limits: Quota,
    /// What holds for this route.
    #[serde(rename = "(rest)")]
    #[schemars(flatten)]
    pub settings: Settings,
}

/// Which requests.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// The methods. Default: POST and PATCH.
    pub methods: Option<Many<Method>>,
    /// The hosts that the requests are for, such as api.example.com or *.example.com. Default: any.
    pub host: Option<Many<Word<HostPattern>>>,
    /// The path, with `{name}` for one segment and `{*rest}` for all that follow.
    pub path: Word<Pattern>,
    /// Whether method and path are compared byte by byte, and not the way lenient services read them. Default: false.
    #[serde(default)]
    pub exact: bool,
}

/// A method that can be guarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "a method is its own description")]
pub enum Method {
    Post,
    Patch,
    Put,
    Delete,
    Get,
}

impl Method {
    /// What a route guards unless it says otherwise.
    pub const DEFAULT: [Self; 2] = [Self::Post, Self::Patch];

    /// The method of a request.
    pub const fn method(self) -> http::Method {
        match self {
            Self::Post => http::Method::POST,
            Self::Patch => http::Method::PATCH,
            Self::Put => http::Method::PUT,
            Self::Delete => http::Method::DELETE,
            Self::Get => http::Method::GET,
        }
    }
}

/// A pattern of paths, such as `/orders/{id}/capture` or `/v1/{*rest}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Text for Pattern {
    const EXPECTED: &'static str = "a path such as /orders/{id} or /v1/{*rest}";

    fn parse(text: &str) -> Result<Self, Refusal> {
        let Name(text) = Name::parse(text).map_err(|_| Refusal::Unlike)?;
        if !text.starts_with('/') {
            return Err(Refusal::Unlike);
        }
        pattern::check(&text).map_err(Refusal::Said)?;
        match matchit::Router::new().insert(text.as_str(), ()) {
            Ok(()) => Ok(Self(text)),
            Err(_) => Err(Refusal::Unlike),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^/", "examples": ["/orders/{id}/capture"] })
    }
}

impl Text for HostPattern {
    const EXPECTED: &'static str =
        "a host such as api.example.com or *.example.com, without a port";

    fn parse(text: &str) -> Result<Self, Refusal> {
        text.parse().map_err(|_| Refusal::Unlike)
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": r"^(\*\.)?[^:*/]+$|^\[", "examples": ["api.example.com"] })
    }
}

impl Route {
    /// The default methods on `path`, with nothing special about them.
    pub(crate) fn of(path: Pattern) -> Self {
        Self {
            matches: Match {
                methods: None,
                host: None,
                path: Word(path),
                exact: false,
            },
            upstream: None,
            scope: None,
            limits: Quota::default(),
            settings: Settings::default(),
        }
    }
}
