//! The file's gateway section as a gateway's configuration.

use http::Uri;
use semel_gateway::{Config, Host, ReconcileUrl, Route, Upstream};
use semel_policy::CompiledRoute;
use semel_policy::file::{self, Gateway};

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
    config.limits.header_bytes_max = limits.header_bytes.0.0;
    config.timeouts.header = timeouts.header.0;
    config.timeouts.connect = timeouts.connect.0;
    config.timeouts.idle = timeouts.idle.0;
    config.timeouts.upstream_idle = timeouts.upstream_idle.0;
    config.timeouts.response_head = timeouts.response.0;
    config.timeouts.drain_pause = timeouts.drain_pause.0;
    config.timeouts.drain = timeouts.drain.0;
}

fn route(compiled: CompiledRoute) -> Result<Route> {
    let reconcile = compiled
        .reconcile
        .as_deref()
        .map(str::parse::<ReconcileUrl>);
    Ok(Route {
        methods: compiled.methods,
        path: compiled.path,
        rules: compiled.rules,
        upstream: compiled.upstream.as_deref().map(url).transpose()?,
        reconcile: reconcile.transpose().map_err(error)?,
    })
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
