//! `admin`: the door for operators.

use std::path::Path;
use std::time::Duration;

use schemars::{JsonSchema, Schema, json_schema};
use serde::Deserialize;

use super::listening::{AccessLog, Tls};
use super::token::Token;
use crate::value::{Either, Listen, Many, Refusal, Secret, SignedIn, Text, Word};

/// The admin side: health, metrics, the claims API.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Either<Off, Door>")]
#[expect(
    clippy::large_enum_variant,
    reason = "a process has one, and it is nearly always on"
)]
pub enum Admin {
    /// It is not served.
    Off,
    /// It is served.
    On {
        /// The address it listens on.
        listen: Listen,
        /// What callers bring to do everything; this or one of `tokens` is required beyond loopback.
        token: Option<Secret>,
        /// Who else may call, and for what.
        tokens: Vec<Token>,
        /// Its certificate.
        tls: Option<Tls>,
        /// Which requests are logged.
        access_log: AccessLog,
        /// How long one stays signed in to the dashboard.
        session: Duration,
        /// Whether its cookies go over TLS only although it serves plain HTTP.
        secure_cookies: bool,
        /// What makes the process unready beside the store and the doors.
        readiness: Vec<Beside>,
    },
}

impl Admin {
    /// The address unless the file says otherwise.
    pub const LISTEN: Listen = Listen::loopback(7071);
    /// How long one stays signed in unless the file says otherwise.
    pub const SESSION: Duration = Duration::from_secs(8 * 60 * 60);

    /// Paths in the file are relative to its directory.
    pub(crate) fn resolve(&mut self, directory: &Path) {
        if let Self::On { listen, tls, .. } = self {
            listen.resolve(directory);
            if let Some(tls) = tls {
                tls.resolve(directory);
            }
        }
    }
}

impl Default for Admin {
    /// On loopback, without a token.
    fn default() -> Self {
        Self::On {
            listen: Self::LISTEN,
            token: None,
            tokens: Vec::new(),
            tls: None,
            access_log: AccessLog::Off,
            session: Self::SESSION,
            secure_cookies: false,
            readiness: Vec::new(),
        }
    }
}

impl From<Either<Off, Door>> for Admin {
    fn from(written: Either<Off, Door>) -> Self {
        match written {
            Either::Short(Off) => Self::Off,
            Either::Long(door) => Self::On {
                listen: door.listen.map_or(Self::LISTEN, |listen| listen.0),
                token: door.token.map(|token| token.0),
                tokens: door.tokens.unwrap_or_default(),
                tls: door.tls,
                access_log: door.access_log,
                session: door.session.map_or(Self::SESSION, |session| session.0.0),
                secure_cookies: door.secure_cookies,
                readiness: door.readiness.map_or_else(Vec::new, |many| many.0),
            },
        }
    }
}

impl JsonSchema for Admin {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Admin".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> Schema {
        Either::<Off, Door>::json_schema(generator)
    }
}

/// The word `off`.
struct Off;

impl Text for Off {
    const EXPECTED: &'static str = "off, or a map of listen, token, tokens, tls, access_log, session, secure_cookies, readiness";

    fn parse(text: &str) -> Result<Self, Refusal> {
        match text {
            "off" => Ok(Self),
            _ => Err(Refusal::Unlike),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "const": "off" })
    }
}

/// What readiness names, and what makes the process unready only where the file says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CountsForReadiness")]
pub enum Beside {
    /// A source of messages that is not read.
    Sources,
    /// A sweep that fails or is behind.
    Sweep,
    /// A service behind the gateway that is not reached.
    Upstreams,
}

/// The admin side when it is served.
#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Door {
    /// The address to listen on, or unix: and a path. Default: 127.0.0.1:7071.
    listen: Option<Word<Listen>>,
    /// What callers bring as a bearer token to do everything; this or tokens is required beyond loopback.
    token: Option<Word<Secret>>,
    /// More tokens, each with a name, a role and, for claims, a tenant and scopes.
    #[schemars(length(max = 255))]
    tokens: Option<Vec<Token>>,
    /// Serves HTTPS with this certificate.
    tls: Option<Tls>,
    /// Which requests are logged: off, errors, all, or a sample. Default: off.
    access_log: AccessLog,
    /// How long one stays signed in to the dashboard, from 1m to 30d. Default: 8h.
    session: Option<Word<SignedIn>>,
    /// Whether browsers reach it over TLS, which a proxy in front of it ends: cookies of the dashboard go over TLS only. Default: false.
    secure_cookies: bool,
    /// What makes /readyz say 503 beside the store and the doors: sources, sweep, upstreams. Default: none.
    readiness: Option<Many<Beside>>,
}
