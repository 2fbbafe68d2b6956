//! Traces: what begins spans in all doors, and what sends them to a collector.
//!
//! The file says where they go; what it leaves out, the variables of OpenTelemetry may say.

use http::{HeaderName, HeaderValue, Uri};
use semel_admin::Metrics;
use semel_core::Tracer;
use semel_core::trace::Sampling;
use semel_otel::{Config, Endpoint, Exporter};
use semel_policy::File;
use semel_policy::file::{Callers, Messages, Tracing};

use crate::error::Result;

/// A variable of the environment that says something.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What begins spans, and what sends them as long as the process lives.
pub(super) struct Traces {
    pub(super) tracer: Tracer,
    exporter: Option<Exporter>,
}

impl Traces {
    /// Begins to export what the file wants traced, if it or the environment names a collector.
    pub(super) fn begin(file: &File) -> Result<Self> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let Some(config) = config(file, &variable) else {
            return Ok(Self {
                tracer: Tracer::off(),
                exporter: None,
            });
        };
        // Only the host: an address of the environment may hold a password.
        let endpoint = config.endpoint.as_str().parse::<Uri>().ok();
        let collector = endpoint.as_ref().and_then(Uri::host);
        tracing::info!(collector, "traces are exported");
        let (sink, exporter) = semel_otel::start(config)?;
        Ok(Self {
            tracer: Tracer::new(sink, sampling(&file.tracing)),
            exporter: Some(exporter),
        })
    }

    /// Shows what becomes of spans.
    pub(super) fn show(&self, metrics: &Metrics) {
        if let Some(exporter) = &self.exporter {
            let counts = exporter.counts();
            metrics.watch_spans(Box::new(move || {
                vec![
                    ("exported", counts.exported()),
                    ("queue-full", counts.queue_full()),
                    ("failed", counts.failed()),
                ]
            }));
        }
    }

    /// Sends what still waits.
    pub(super) async fn end(self) {
        if let Some(exporter) = self.exporter {
            exporter.shutdown().await;
        }
    }
}

fn sampling(tracing: &Tracing) -> Sampling {
    let share = tracing.sample.map(|sample| sample.0.get());
    Sampling {
        share: share.unwrap_or(Sampling::default().share),
        trust_callers: tracing.callers == Callers::Trust,
        join_messages: tracing.messages == Messages::Join,
    }
}

/// Where traces go; `None` if nothing names a collector.
fn config(file: &File, variable: Variables<'_>) -> Option<Config> {
    let tracing = &file.tracing;
    let named = tracing.endpoint.as_ref();
    let named = named.map(|endpoint| Endpoint::Base(endpoint.as_str().to_owned()));
    let is_named = named.is_some();
    let mut config = Config::new(named.or_else(|| endpoint_of(variable))?);
    let headers = file.tracing_headers().into_iter();
    config.headers = headers
        .filter_map(|(name, value)| Some((name, secret(value.expose())?)))
        .collect();
    // Those of the environment are for its own collector: they may hold a key that another one must not see.
    if config.headers.is_empty() && !is_named {
        config.headers = headers_of(variable);
    }
    let service = tracing.service.as_ref().map(|name| name.0.0.clone());
    let service = service.or_else(|| variable("OTEL_SERVICE_NAME"));
    config.service = service.unwrap_or(config.service);
    config.timeout = tracing.timeout.map_or(config.timeout, |time| time.0);
    config.every = tracing.every.map_or(config.every, |time| time.0);
    config.queue_max = tracing.queue.map_or(config.queue_max, |count| count.0.0);
    Some(config)
}

/// The collector that the environment names, unless it wants to be spoken to in another protocol or not at all. An address for traces is used as it
/// is, one for everything has a path for traces.
fn endpoint_of(variable: Variables<'_>) -> Option<Endpoint> {
    let first = |names: [&str; 2]| names.into_iter().find_map(variable);
    let endpoint = match variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
        Some(traces) => Endpoint::Traces(traces),
        None => Endpoint::Base(variable("OTEL_EXPORTER_OTLP_ENDPOINT")?),
    };
    let protocol = first([
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        "OTEL_EXPORTER_OTLP_PROTOCOL",
    ]);
    if let Some(protocol) = protocol.filter(|protocol| protocol != "http/protobuf") {
        tracing::warn!(
            protocol,
            "the environment names a collector for a protocol that is not spoken, so nothing is traced: expected http/protobuf"
        );
        return None;
    }
    let is_off = variable("OTEL_SDK_DISABLED").is_some_and(|off| off.eq_ignore_ascii_case("true"));
    let exports = variable("OTEL_TRACES_EXPORTER").is_none_or(|exporter| exporter == "otlp");
    (!is_off && exports).then_some(endpoint)
}

/// `name=value,name=value`, as the environment writes headers: those for traces, or else those for everything. What cannot be one is left out.
fn headers_of(variable: Variables<'_>) -> Vec<(HeaderName, HeaderValue)> {
    let text = variable("OTEL_EXPORTER_OTLP_TRACES_HEADERS");
    let text = text.or_else(|| variable("OTEL_EXPORTER_OTLP_HEADERS"));
    let text = text.unwrap_or_default();
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    let headers = pairs.filter_map(|(name, value)| {
        Some((name.trim().parse().ok()?, secret(&decoded(value.trim()))?))
    });
    headers.collect()
}

/// Values are percent-encoded there.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn secret(value: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(value).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, variables: &[(&str, &str)]) -> Option<Config> {
        let file = File::parse("semel.yaml", text, []).unwrap();
        let find = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        config(&file, &find)
    }

    #[test]
    fn the_file_comes_before_the_environment() {
        let there = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://there:4318");
        let name = ("OTEL_SERVICE_NAME", "theirs");
        let file = "tracing: { endpoint: 'http://here:4318', service: ours, queue: 7 }";
        let config = of(file, &[there, name]).unwrap();
        assert_eq!(
            (
                config.endpoint.as_str(),
                config.service.as_str(),
                config.queue_max
            ),
            ("http://here:4318", "ours", 7)
        );
        let config = of("tracing: { sample: 0.1 }", &[there, name]).unwrap();
        assert_eq!(
            (config.endpoint.as_str(), config.service.as_str()),
            ("http://there:4318", "theirs")
        );
        assert!(of("tracing: { sample: 0.1 }", &[]).is_none());
    }

    #[test]
    fn a_collector_of_the_environment_may_be_off_or_speak_another_protocol() {
        let there = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://there:4317");
        for other in [
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_TRACES_EXPORTER", "none"),
        ] {
            assert!(of("", &[there, other]).is_none(), "{other:?}");
        }
    }

    #[test]
    fn headers_of_the_environment_are_decoded() {
        let there = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://there:4318");
        let headers = (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "api-key=a%20b, x=1%,=,bad name=2",
        );
        let config = of("", &[there, headers]).unwrap();
        assert_eq!(shown(&config), ["api-key: a b", "x: 1%"]);
        assert!(config.headers.iter().all(|(_, value)| value.is_sensitive()));
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "y=2");
        let config = of("", &[there, headers, traces]).unwrap();
        assert_eq!(shown(&config), ["y: 2"]);
    }

    #[test]
    fn headers_of_the_environment_go_to_its_own_collector_only() {
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret");
        let here = "tracing: { endpoint: 'http://here:4318' }";
        assert!(of(here, &[headers]).unwrap().headers.is_empty());
        let own = "tracing: { headers: { api-key: ours } }";
        let there = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://there:4318");
        let config = of(own, &[there, headers]).unwrap();
        assert_eq!(shown(&config), ["api-key: ours"]);
    }

    #[test]
    fn an_endpoint_for_traces_is_used_as_it_is() {
        let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://all:4318");
        let traces = (
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "http://traces:4318/in",
        );
        let endpoint = of("", &[all, traces]).unwrap().endpoint;
        assert_eq!(endpoint, Endpoint::Traces(traces.1.to_owned()));
        let endpoint = of("", &[all]).unwrap().endpoint;
        assert_eq!(endpoint, Endpoint::Base(all.1.to_owned()));
    }

    fn shown(config: &Config) -> Vec<String> {
        let headers = config.headers.iter();
        headers
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect()
    }
}
