//! `gateway`: the proxy in front of a service.

use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, json_schema};
use semel_http::policy;
use serde::Deserialize;

use super::limits::{Limits, Timeouts};
use super::listening::{AccessLog, Tls};
use super::route::Route;
use super::settings::Settings;
use crate::value::{Listen, OutcomesAt, Refusal, Service, Text, Word};

/// The proxy in front of a service, and what it guards.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Gateway {
    /// The address to listen on, or unix: and a path. Default: 127.0.0.1:7070.
    pub listen: Word<Listen>,
    /// The service behind it.
    pub upstream: Option<Word<Service>>,
    /// Which `Host` the service sees. Default: preserve.
    pub host: Host,
    /// Whether `Forwarded` and `X-Forwarded-*` of clients are believed; only behind a proxy that sets
    /// them. Default: false.
    pub trust_forwarded: bool,
    /// Where callers fetch outcomes by key, which a 202 says in Location; or off. Default: /.semel/outcomes.
    pub outcomes: Word<OutcomesAt>,
    /// Serves HTTPS with this certificate.
    pub tls: Option<Tls>,
    /// Which requests are logged: off, errors, all, or a sample. Default: off.
    pub access_log: AccessLog,
    /// How the service's certificate is checked.
    pub upstream_tls: Option<UpstreamTls>,
    /// Whether the service is spoken to in HTTP/2 without asking first. Over TLS it is always asked.
    /// Default: false.
    pub upstream_http2: bool,
    /// How much it takes on.
    pub limits: Limits,
    /// How long each phase may take.
    pub timeouts: Timeouts,
    /// Where the gateway publishes its idempotency policy: on, off, or a path. A route with the path wins. Default: on,
    /// which is /.well-known/idempotency-policy.
    pub policy_page: Word<PolicyPage>,
    /// What is guarded. Left out: every POST and PATCH, by the settings of the gateway.
    #[schemars(length(min = 1))]
    pub routes: Option<Vec<Route>>,
    /// What holds for every route that does not say otherwise.
    #[serde(rename = "(rest)")]
    #[schemars(flatten)]
    pub defaults: Settings,
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            listen: Word(Listen::loopback(7070)),
            upstream: None,
            host: Host::default(),
            trust_forwarded: false,
            outcomes: Word(OutcomesAt::default()),
            tls: None,
            access_log: AccessLog::Off,
            upstream_tls: None,
            upstream_http2: false,
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            policy_page: Word(PolicyPage::default()),
            routes: None,
            defaults: Settings::default(),
        }
    }
}

impl Gateway {
    /// Paths in the file are relative to its directory.
    pub(crate) fn resolve(&mut self, directory: &Path) {
        self.listen.0.resolve(directory);
        if let Some(tls) = &mut self.tls {
            tls.resolve(directory);
        }
        let ca = self.upstream_tls.iter_mut().map(|tls| &mut tls.ca);
        let routes = self
            .routes
            .iter_mut()
            .flatten()
            .map(|route| &mut route.settings);
        let settings = std::iter::once(&mut self.defaults).chain(routes);
        let keys = settings.filter_map(Settings::key_file_mut);
        for path in ca.chain(keys) {
            path.0 = directory.join(&path.0);
        }
    }
}

/// Where the idempotency policy is published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyPage(Option<String>);

impl PolicyPage {
    /// Its path; `None` if it is not published.
    pub fn path(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl Default for PolicyPage {
    fn default() -> Self {
        Self(Some(policy::PAGE.to_owned()))
    }
}

impl Text for PolicyPage {
    const EXPECTED: &'static str = "on, off, or a path such as /idempotency-policy";

    fn parse(text: &str) -> Result<Self, Refusal> {
        match text {
            "on" => Ok(Self::default()),
            "off" => Ok(Self(None)),
            path if is_path(path) => Ok(Self(Some(path.to_owned()))),
            _ => Err(Refusal::Unlike),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^(on|off|/[^?#]*)$" })
    }
}

fn is_path(text: &str) -> bool {
    let is_plain = text.starts_with('/') && !text.contains(['?', '#']);
    is_plain && text.parse::<http::uri::PathAndQuery>().is_ok()
}

/// Which `Host` the service sees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Host {
    /// The client's.
    #[default]
    Preserve,
    /// The service's own, from its address.
    Upstream,
}

/// How the service's certificate is checked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpstreamTls {
    /// Authorities that are trusted besides the system's, as a PEM file.
    pub ca: Word<PathBuf>,
}
