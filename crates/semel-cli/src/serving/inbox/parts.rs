//! What the file says about consumers, as what the engine takes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use semel_inbox::source::{Compare, Locator, Source};
use semel_inbox::{FileSource, HttpClient, HttpHandler, Rule, Webhook};
use semel_policy::CompiledConsumer;
use semel_policy::consumer::{self, Deliver};
use semel_policy::file::consumer as written;
use semel_policy::value::SourceUrl;

use super::brokers;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// The service that handles the messages of a consumer.
pub(super) fn deliver(consumer: &CompiledConsumer) -> Result<&Deliver> {
    consumer.deliver.as_ref().ok_or_else(|| {
        let name = consumer.name();
        let message = format!(
            "consumer {name}: expected deliver, because semel serve gives messages to a service, found none"
        );
        Error::new(Exit::Configuration, message)
    })
}

/// The handler of a consumer, with the headers and the patience that the file names.
pub(super) fn handler(consumer: &CompiledConsumer, client: &HttpClient) -> Result<HttpHandler> {
    let deliver = deliver(consumer)?;
    let handler = HttpHandler::with_client(deliver.url.as_str(), client.clone())?;
    let mut handler = handler.timeout(deliver.timeout);
    for (name, value) in &deliver.headers {
        handler = handler.header(name.as_str(), value.expose())?;
    }
    Ok(handler)
}

/// Where a message says who it is.
pub(crate) fn rule(consumer: &CompiledConsumer) -> Rule {
    let fields = &consumer.fields;
    let one = |found: &Option<consumer::Locator>| found.as_ref().map(place);
    Rule {
        id: fields.id.iter().map(place).collect(),
        id_later: fields.id_later.iter().map(place).collect(),
        tenant: one(&fields.tenant),
        kind: one(&fields.kind),
        lane: one(&fields.lane),
        sequence: one(&fields.sequence),
        cloud_events: fields.cloud_events,
        compare: match consumer.fingerprint {
            written::Fingerprint::CanonicalJson => Compare::CanonicalJson,
            written::Fingerprint::Raw => Compare::Raw,
            written::Fingerprint::Off => Compare::Nothing,
        },
        ..Rule::default()
    }
}

fn place(found: &consumer::Locator) -> Locator {
    match found {
        consumer::Locator::Header(name) => Locator::Header(name.as_str().to_owned()),
        consumer::Locator::Body(path) => Locator::Body(path.clone()),
        consumer::Locator::Template(template) => Locator::Template(template.clone()),
        consumer::Locator::Coordinates => Locator::Coordinates,
    }
}

/// The file or the broker that messages are read from.
pub(super) fn source(consumer: &CompiledConsumer) -> Result<Option<Arc<dyn Source>>> {
    match &consumer.source {
        None | Some(SourceUrl::Http) => Ok(None),
        Some(SourceUrl::Broker(url)) => brokers::source(consumer.name(), url).map(Some),
        Some(SourceUrl::File {
            path,
            follow,
            whole_lines,
        }) => Ok(Some(file(consumer, path, *follow, *whole_lines))),
    }
}

fn file(
    consumer: &CompiledConsumer,
    path: &Path,
    follow: bool,
    whole_lines: bool,
) -> Arc<dyn Source> {
    let mut source = FileSource::new(path).line_bytes_max(consumer.body_bytes_max);
    if follow {
        source = source.follow();
    }
    if whole_lines {
        source = source.whole_lines();
    }
    Arc::new(source)
}

/// Whether a consumer reads standard input: what has been read of it and not yet stored is only in one engine's memory.
pub(super) fn reads_stdin(consumers: &[CompiledConsumer]) -> bool {
    consumers.iter().any(|consumer| {
        matches!(&consumer.source, Some(SourceUrl::File { path, .. }) if path.as_os_str() == "-")
    })
}

/// The doors of all consumers that messages are posted to; a body may take so long to arrive.
pub(super) fn webhooks(
    consumers: &[CompiledConsumer],
    body_timeout: Duration,
) -> Result<Vec<Webhook>> {
    let posted = consumers.iter().filter(|consumer| consumer.is_posted());
    let hooks = posted.map(|consumer| Ok(webhook(consumer)?.body_timeout(body_timeout)));
    hooks.collect()
}

fn webhook(consumer: &CompiledConsumer) -> Result<Webhook> {
    let mut hook = Webhook::new(consumer.name().clone())
        .rule(rule(consumer))
        .body_bytes_max(consumer.body_bytes_max);
    if let Some(wait) = consumer.wait {
        hook = hook.wait(wait);
    }
    Ok(match &consumer.signature {
        Some(found) => hook.signature(found.checker()?),
        None => hook,
    })
}
