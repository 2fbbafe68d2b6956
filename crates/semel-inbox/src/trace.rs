//! Traces of messages, in the words of OpenTelemetry's conventions for messaging.
//!
//! A message carries the context of its creation in its header `traceparent`: its producer's, or that of the request which posted it, or
//! that of the attempt which wanted it sent. Each attempt is a span of its own with a link there, because between the two lies a queue
//! and often a batch; what an attempt causes, requests and intents, is a part of it.

use bytes::Bytes;
use semel_core::Headers;
use semel_core::inbox::{Cause, Detail, Disposition, Job, Message, Receipt};
use semel_core::trace::{
    Kind, Origin, Span, SpanHandle, TRACEPARENT, TRACESTATE, TraceContext, Tracer,
};
use semel_core::{Identity, Scope};
use semel_http::trace;

use crate::source::HeaderField;

/// Where a message may say what it comes from: as itself, or as a CloudEvent over HTTP and over Kafka.
const CARRIED: [&str; 3] = [TRACEPARENT, "ce-traceparent", "ce_traceparent"];

/// What a message says about its creation.
pub(crate) fn carried(headers: &Headers) -> Option<TraceContext> {
    let find = |wanted: &str| {
        let mut found = headers.iter();
        found.find(|(name, _)| name.eq_ignore_ascii_case(wanted))
    };
    let (_, parent) = CARRIED.iter().find_map(|name| find(name))?;
    let state = find(TRACESTATE).map(|(_, state)| &state[..]);
    Some(TraceContext::parse(parent)?.with_state(state))
}

/// The headers of a message that this span creates.
pub(crate) fn carry(headers: Headers, span: &SpanHandle) -> Headers {
    let Some(context) = span.context() else {
        return headers;
    };
    let state = context.state().map(|state| Bytes::from(state.to_owned()));
    let parent = Bytes::from(context.to_string());
    headers
        .with(TRACEPARENT, Some(parent))
        .with(TRACESTATE, state)
}

/// An intent carries what its handler says, or else the attempt that wants it sent.
pub(crate) fn intended(message: Message, span: &SpanHandle) -> Message {
    match span.context().is_none() || carried(message.headers()).is_some() {
        true => message,
        false => {
            let headers = carry(message.headers().clone(), span);
            message.with_headers(headers)
        }
    }
}

/// The same for a message that is on its way to a broker, whatever it said before.
pub(crate) fn published(headers: &mut Vec<HeaderField>, span: &SpanHandle) {
    let Some(context) = span.context() else {
        return;
    };
    let is_ours = |name: &str| {
        [TRACEPARENT, TRACESTATE]
            .iter()
            .any(|o| name.eq_ignore_ascii_case(o))
    };
    headers.retain(|(name, _)| !is_ours(name));
    let mut say = |name: &str, value: String| {
        headers.push((name.to_owned(), Some(Bytes::from(value))));
    };
    say(TRACEPARENT, context.to_string());
    if let Some(state) = context.state() {
        say(TRACESTATE, state.to_owned());
    }
}

/// Begins an attempt.
pub(crate) fn attempt(tracer: &Tracer, consumer: &Scope, job: &Job) -> Span {
    let message = &job.message;
    let span = tracer.begin(Kind::Consumer, "process", || {
        Origin::Message(carried(message.headers()))
    });
    span.record(|span| {
        span.name(format!("process {consumer}"));
        of_inbox(span, "process", consumer);
        trace::about(span, message.identity());
        span.set("semel.attempt", job.attempt);
        span.set("semel.generation", job.generation);
        span.set("semel.replay", job.replay);
        if !message.origin().topic.is_empty() {
            span.set("semel.origin", message.origin().topic.clone());
        }
    });
    span
}

fn of_inbox(span: &mut semel_core::trace::FinishedSpan, operation: &'static str, consumer: &Scope) {
    span.set("messaging.system", "semel");
    span.set("messaging.operation.name", operation);
    span.set("messaging.operation.type", operation);
    span.set("messaging.destination.name", consumer.to_string());
}

/// Writes what an attempt came to.
pub(crate) fn attempted(
    span: &SpanHandle,
    disposition: &Disposition,
    cause: Option<Cause>,
    error: Option<&str>,
) {
    span.record(|span| {
        span.set("semel.state", disposition.state().name());
        if let Some(error) = error {
            span.fail(cause.map_or("failed", Cause::name), error);
        }
    });
}

/// Writes that an attempt lost its claim, so that it may say nothing.
pub(crate) fn lost(span: &SpanHandle) {
    span.record(|span| span.fail("claim-lost", "another worker has claimed the message"));
}

/// A source delivered a message that was known. Nothing more will be seen of this delivery.
pub(crate) fn delivered_again(tracer: &Tracer, message: &Message, receipt: Receipt) {
    if matches!(receipt, Receipt::Stored { .. }) {
        return;
    }
    let span = tracer.begin(Kind::Consumer, "receive", || {
        Origin::Message(carried(message.headers()))
    });
    span.record(|span| {
        let consumer = message.identity().scope();
        span.name(format!("receive {consumer}"));
        of_inbox(span, "receive", consumer);
        trace::about(span, message.identity());
        span.set("semel.outcome", outcome(receipt));
    });
}

/// Writes what became of a message that was posted.
pub(crate) fn posted(span: &SpanHandle, identity: &Identity, receipt: Receipt) {
    span.record(|span| {
        trace::about(span, identity);
        span.set("semel.outcome", outcome(receipt));
    });
}

/// Links a duplicate to the creation of the first one and to the attempt that completed it, as far as they are kept.
pub(crate) fn linked(span: &SpanHandle, first: &Detail) {
    let created = first.message.as_ref().and_then(|m| carried(m.headers()));
    if let Some(created) = created {
        span.record(|span| span.link(created));
    }
    if let Some(settled) = &first.settled {
        trace::replayed(span, &settled.outcome.headers);
    }
}

const fn outcome(receipt: Receipt) -> &'static str {
    match receipt {
        Receipt::Stored { .. } => "stored",
        Receipt::Duplicate { .. } => "duplicate",
        Receipt::Conflict => "conflict",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn headers(fields: &[(&str, &'static str)]) -> Headers {
        let fields = fields.iter();
        let fields = fields.map(|(name, value)| ((*name).to_owned(), Bytes::from(*value)));
        Headers::new(fields.collect()).unwrap()
    }

    #[test]
    fn a_message_says_what_it_comes_from_as_itself_or_as_an_event() {
        let context = TraceContext::parse(GOOD.as_bytes());
        for name in [
            "traceparent",
            "Traceparent",
            "ce-traceparent",
            "ce_traceparent",
        ] {
            assert_eq!(carried(&headers(&[("a", "b"), (name, GOOD)])), context);
        }
        assert_eq!(carried(&headers(&[("traceparent", "x")])), None);
        assert_eq!(carried(&headers(&[])), None);
    }

    #[test]
    fn without_a_tracer_a_message_keeps_what_it_says() {
        let said = headers(&[("traceparent", GOOD), ("tracestate", "a=1")]);
        assert_eq!(carry(said.clone(), &SpanHandle::default()), said);
    }
}
