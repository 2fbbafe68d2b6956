//! Traces over HTTP: what a caller says of its trace, what is said to the service, and the words of OpenTelemetry's conventions.
//!
//! A door begins a span for each request and puts its handle into the request's extensions ([`hand_on`]); what works on the request
//! finds it there. Neither keys nor tenants are written to spans, and of a path only the route's pattern: an operation shows as the
//! digest of its identity, which is the same for all its duplicates.

use bytes::Bytes;
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use semel_core::once::Settlement;
use semel_core::trace::{
    FinishedSpan, Kind, Origin, Span, SpanHandle, TRACEPARENT, TRACESTATE, TraceContext, Tracer,
};
use semel_core::{Headers, Identity, Outcome};

use crate::guard::Failure;

const PARENT: HeaderName = HeaderName::from_static(TRACEPARENT);
const STATE: HeaderName = HeaderName::from_static(TRACESTATE);

/// An outcome remembers under this name which span ran. No header's own name can begin so, and none is made of it in a replay.
const RAN: &str = ":traceparent";

/// Begins the span of a request that arrived.
pub fn server<B>(tracer: &Tracer, request: &Request<B>) -> Span {
    let name = method(request.method());
    let span = tracer.begin(Kind::Server, name, || {
        Origin::Request(caller(request.headers()))
    });
    span.record(|span| span.set("http.request.method", name));
    span
}

/// Begins the span of a request that is about to be sent.
pub fn client(parent: &SpanHandle, asked: &Method, host: &str, port: u16) -> Span {
    let name = method(asked);
    let span = parent.child(Kind::Client, name);
    span.record(|span| {
        span.set("http.request.method", name);
        span.set("server.address", host.to_owned());
        span.set("server.port", port);
    });
    span
}

/// The trace that a caller says its request belongs to. Several of them say nothing.
pub fn caller(headers: &HeaderMap) -> Option<TraceContext> {
    let mut all = headers.get_all(PARENT).iter();
    let (Some(parent), None) = (all.next(), all.next()) else {
        return None;
    };
    let states = headers.get_all(STATE).iter().map(HeaderValue::as_bytes);
    Some(TraceContext::parse(parent.as_bytes())?.with_state(states))
}

/// Writes into these headers which span caused the request. Without a tracer they stay as they are.
pub fn inject(headers: &mut HeaderMap, span: &SpanHandle) {
    let Some(context) = span.context() else {
        return;
    };
    let parent = HeaderValue::try_from(context.to_string());
    headers.insert(
        PARENT,
        parent.expect("digits and dashes are a valid header"),
    );
    match context.state().map(HeaderValue::from_str) {
        Some(Ok(state)) => headers.insert(STATE, state),
        _ => headers.remove(STATE),
    };
}

/// The span that a request belongs to.
pub fn of(extensions: &Extensions) -> SpanHandle {
    extensions.get::<SpanHandle>().cloned().unwrap_or_default()
}

/// From now on the request belongs to this span.
pub fn hand_on<B>(request: &mut Request<B>, span: &SpanHandle) {
    if span.context().is_some() {
        request.extensions_mut().insert(span.clone());
    }
}

/// Writes which answer a request got. What a client did wrong is no failure of who answers it.
pub fn answered(span: &SpanHandle, status: StatusCode) {
    span.record(|span| {
        span.set("http.response.status_code", status.as_u16());
        let is_failure = match span.kind {
            Kind::Server => status.is_server_error(),
            _ => status.is_client_error() || status.is_server_error(),
        };
        if is_failure {
            span.fail(status.as_str().to_owned(), "");
        }
    });
}

/// Writes why a request got no answer.
pub fn failed(span: &SpanHandle, failure: &Failure) {
    span.record(|span| {
        let kind = match failure {
            Failure::NotReached(_) => "not-reached",
            Failure::Broken(_) => "broken",
            Failure::TimedOut(_) => "timeout",
            Failure::Unreadable(_) => "unreadable",
        };
        span.fail(kind, &failure.to_string());
    });
}

/// Writes which route a request took.
pub fn routed(span: &SpanHandle, asked: &Method, pattern: &str) {
    span.record(|span| {
        span.name(format!("{} {pattern}", method(asked)));
        span.set("http.route", pattern.to_owned());
    });
}

/// Writes which operation a span is about: the digest of the identity, and the scope, which is none of the caller's words.
pub fn about(span: &mut FinishedSpan, identity: &Identity) {
    span.set("semel.scope", identity.scope().to_string());
    span.set("semel.identity", identity.digest().to_string());
}

/// Writes what the run means for the record, which remembers the span from now on.
pub(crate) fn ran(span: &SpanHandle, settlement: &mut Settlement) {
    span.record(|span| {
        let word = match settlement {
            Settlement::Settle(_) => "settle",
            Settlement::Release => "release",
            Settlement::Unknown(_) => "unknown",
        };
        span.set("semel.settlement", word);
    });
    if let Settlement::Settle(outcome) = settlement {
        remember(span, outcome);
    }
}

/// An outcome remembers which span brought it, if that is recorded.
pub fn remember(span: &SpanHandle, outcome: &mut Outcome) {
    if let Some(context) = span.sampled() {
        let context = Bytes::from(context.to_string());
        outcome.headers = outcome.headers.with(RAN, Some(context));
    }
}

/// Links a replay to the span that ran.
pub fn replayed(span: &SpanHandle, headers: &Headers) {
    span.record(|span| {
        let ran = headers.iter().find(|(name, _)| *name == RAN);
        if let Some(ran) = ran.and_then(|(_, value)| TraceContext::parse(value)) {
            span.link(ran);
        }
    });
}

/// A method as the conventions write it.
fn method(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::CONNECT => "CONNECT",
        Method::TRACE => "TRACE",
        _ => "_OTHER",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    fn headers(fields: &[(&'static str, &'static str)]) -> HeaderMap {
        let fields = fields.iter().map(|(name, value)| {
            let name = HeaderName::from_static(name);
            (name, HeaderValue::from_static(value))
        });
        fields.collect()
    }

    #[test]
    fn one_traceparent_is_believed_and_two_are_not() {
        let one = headers(&[("traceparent", GOOD), ("tracestate", "a=1")]);
        let found = caller(&one).unwrap();
        assert_eq!(
            (found.to_string().as_str(), found.state()),
            (GOOD, Some("a=1"))
        );
        assert_eq!(caller(&headers(&[])), None);
        let two = headers(&[("traceparent", GOOD), ("traceparent", GOOD)]);
        assert_eq!(caller(&two), None);
        assert_eq!(caller(&headers(&[("traceparent", "x")])), None);
    }

    #[test]
    fn without_a_tracer_headers_stay_as_they_are() {
        let mut sent = headers(&[("traceparent", GOOD), ("tracestate", "a=1")]);
        inject(&mut sent, &SpanHandle::default());
        assert_eq!(
            sent,
            headers(&[("traceparent", GOOD), ("tracestate", "a=1")])
        );
    }
}
