//! The file's gateway section as a gateway's configuration.

use http::Uri;
use semel_gateway::{Config, Host, ReconcileUrl, Route, Upstream};
use semel_policy::file::{self, Gateway};
use semel_policy::value::{Count, Word};
use semel_policy::{CompiledReconcile, CompiledRoute};

use super::listening;
use crate::error::{Error, Result};
use crate::exit::Exit;

pub(super) fn config(section: &Gateway) -> Result<Config> {
    let upstream = section.upstream.as_ref().ok_or_else(|| {
        let message = "gateway.upstream: expected the address of a service, found none";
        Error::new(Exit::Configuration, message)
    })?;
    let mut config = Config::new(Upstream {
        url: url(upstream.as_str())?,
        h2c: section.upstream_http2,
        ca: section.upstream_tls.as_ref().map(|tls| tls.ca.0.clone()),
        host: match section.host {
            file::Host::Preserve => Host::Preserve,
            file::Host::Upstream => Host::Upstream,
        },
    });
    config.listen = listening::address(&section.listen);
    config.tls = section.tls.as_ref().map(listening::tls);
    config.access_log = listening::access_log(section.access_log);
    config.trust_forwarded = section.trust_forwarded;
    config.outcomes = section.outcomes.0.0.clone();
    config.policy_page = section.policy_page.path().map(str::to_owned);
    limits(&mut config, section);
    let routes = section
        .routes()
        .map_err(|error| Error::new(Exit::Configuration, error.to_string()))?;
    config.routes = routes.into_iter().map(route).collect::<Result<_>>()?;
    Ok(config)
}

fn limits(config: &mut Config, section: &Gateway) {
    let (limits, timeouts) = (&section.limits, &section.timeouts);
    config.limits.connections_max = limits.connections.0.0;
    config.limits.in_flight_max = limits.in_flight.0.0;
    let count = |number: Option<Word<Count>>| number.map(|number| number.0.0);
    config.limits.runs_max = count(limits.runs);
    config.limits.receiving_max = count(limits.receiving);
    config.limits.waiting_max = count(limits.waiting);
    config.limits.waiting_per_key_max = limits.waiting_per_key.0.0;
    config.limits.passing_max = count(limits.passing);
    config.limits.tunnels_max = count(limits.tunnels);
    config.limits.header_bytes_max = limits.header_bytes.0.0;
    config.limits.response_header_bytes_max = limits.response_header_bytes.0.0;
    config.limits.response_headers_max = limits.response_headers.0.0;
    config.limits.http2_connections_max = limits.http2_connections.0.0;
    config.timeouts.header = timeouts.header.0;
    config.timeouts.body_idle = timeouts.body_idle.0;
    config.timeouts.connect = timeouts.connect.0;
    config.timeouts.idle = timeouts.idle.0;
    config.timeouts.upstream_idle = timeouts.upstream_idle.0;
    config.timeouts.response_head = timeouts.response.0;
    config.timeouts.tunnel_idle = timeouts.tunnel_idle.0;
    config.timeouts.tunnel_closing = timeouts.tunnel_closing.0;
    config.timeouts.drain_pause = timeouts.drain_pause.0;
    config.timeouts.drain = timeouts.drain.0;
}

fn route(compiled: CompiledRoute) -> Result<Route> {
    Ok(Route {
        methods: compiled.methods,
        hosts: compiled.hosts,
        path: compiled.path,
        exact: compiled.exact,
        rules: compiled.rules,
        upstream: compiled.upstream.as_deref().map(url).transpose()?,
        reconcile: compiled.reconcile.as_ref().map(reconcile).transpose()?,
    })
}

fn reconcile(compiled: &CompiledReconcile) -> Result<ReconcileUrl> {
    let mut url: ReconcileUrl = compiled.url.parse().map_err(error)?;
    if let Some(timeout) = compiled.timeout {
        url = url.within(timeout);
    }
    for (name, value) in &compiled.headers {
        // The value is not told: it is a secret.
        let value = value.expose().parse().map_err(|_| {
            let message = format!("expected a value that the header {name} can hold");
            Error::new(Exit::Configuration, message)
        })?;
        url = url.with_header(name.clone(), value);
    }
    Ok(url)
}

fn url(text: &str) -> Result<Uri> {
    text.parse().map_err(|_| {
        let message = format!("expected an address such as http://127.0.0.1:8080, found {text:?}");
        Error::new(Exit::Configuration, message)
    })
}

pub(super) fn error(error: semel_gateway::Error) -> Error {
    Error::new(Exit::Configuration, error.to_string())
}
