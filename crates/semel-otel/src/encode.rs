//! Spans as messages of the protocol.

use bytes::Bytes;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;
use semel_core::trace::{FinishedSpan, Kind, TraceContext, Value};

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The bit of `flags` that says that a trace is recorded.
const SAMPLED: u32 = 1;

/// Who sends spans.
pub(crate) fn resource(service: &str, instance: &str) -> Resource {
    let attributes = [
        ("service.name", service),
        ("service.version", VERSION),
        ("service.instance.id", instance),
        ("telemetry.sdk.name", "semel"),
        ("telemetry.sdk.language", "rust"),
        ("telemetry.sdk.version", VERSION),
    ];
    let attributes = attributes.map(|(key, value)| pair(key, Any::StringValue(value.to_owned())));
    Resource {
        attributes: attributes.to_vec(),
        ..Resource::default()
    }
}

/// One request with all of these spans.
pub(crate) fn request(resource: &Resource, spans: Vec<FinishedSpan>) -> Bytes {
    let scope = InstrumentationScope {
        name: "semel".to_owned(),
        version: VERSION.to_owned(),
        ..InstrumentationScope::default()
    };
    let scoped = ScopeSpans {
        scope: Some(scope),
        spans: spans.into_iter().map(span).collect(),
        ..ScopeSpans::default()
    };
    let request = ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(resource.clone()),
            scope_spans: vec![scoped],
            ..ResourceSpans::default()
        }],
    };
    request.encode_to_vec().into()
}

fn span(span: FinishedSpan) -> Span {
    let kind = match span.kind {
        Kind::Internal => SpanKind::Internal,
        Kind::Server => SpanKind::Server,
        Kind::Client => SpanKind::Client,
        Kind::Producer => SpanKind::Producer,
        Kind::Consumer => SpanKind::Consumer,
    };
    let attributes = span.attributes.into_iter();
    let attributes = attributes.map(|(key, value)| pair(key, any(value)));
    Span {
        trace_id: span.context.trace().to_vec(),
        span_id: span.context.span().to_vec(),
        trace_state: state(&span.context),
        parent_span_id: span.parent.map(Vec::from).unwrap_or_default(),
        flags: flags(&span.context),
        name: span.name.into_owned(),
        kind: kind.into(),
        start_time_unix_nano: span.began,
        end_time_unix_nano: span.ended,
        attributes: attributes.collect(),
        links: span.links.iter().map(link).collect(),
        status: span.error.map(|message| Status {
            message,
            code: StatusCode::Error.into(),
        }),
        ..Span::default()
    }
}

fn link(context: &TraceContext) -> Link {
    Link {
        trace_id: context.trace().to_vec(),
        span_id: context.span().to_vec(),
        trace_state: state(context),
        flags: flags(context),
        ..Link::default()
    }
}

fn flags(context: &TraceContext) -> u32 {
    match context.is_sampled() {
        true => SAMPLED,
        false => 0,
    }
}

fn state(context: &TraceContext) -> String {
    context.state().unwrap_or_default().to_owned()
}

fn any(value: Value) -> Any {
    match value {
        Value::Text(text) => Any::StringValue(text.into_owned()),
        Value::Int(number) => Any::IntValue(number),
        Value::Bool(truth) => Any::BoolValue(truth),
    }
}

fn pair(key: &str, value: Any) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}
