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
use semel_core::{Headers, Identity, Outcome, Verdict};

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

/// The span of a request that is under way. If it is given up, because no answer came in time, the span says that, too.
#[derive(Debug)]
pub struct Sending(Option<Span>);

impl Sending {
    /// The request of this span is sent from now on.
    pub const fn of(span: Span) -> Self {
        Self(Some(span))
    }

    /// It has this answer, or none for this reason.
    pub fn ended(mut self, answer: Result<StatusCode, &Failure>) {
        let Some(span) = self.0.take() else {
            return;
        };
        match answer {
            Ok(status) => answered(&span, status),
            Err(failure) => failed(&span, failure),
        }
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        if let Some(span) = self.0.take() {
            let given_up = "given up before there was an answer";
            failed(&span, &Failure::TimedOut(given_up.to_owned()));
        }
    }
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

/// Writes what the run means for the record, which remembers the span from now on. One whose outcome is a failure, or is
/// not known, is a failure.
pub(crate) fn ran(span: &SpanHandle, settlement: &mut Settlement) {
    span.record(|span| {
        let (word, error) = match settlement {
            Settlement::Settle(outcome) => {
                let has_failed = outcome.verdict == Verdict::Failed;
                ("settle", has_failed.then_some("failed"))
            }
            Settlement::Release => ("release", None),
            Settlement::Unknown(_) => ("unknown", Some("unknown")),
        };
        span.set("semel.settlement", word);
        if let Some(error) = error {
            span.fail(error, "");
        }
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

/// The span that brought an outcome with these headers, if it was recorded.
pub fn ran_by(headers: &Headers) -> Option<TraceContext> {
    let (_, ran) = headers.iter().find(|(name, _)| *name == RAN)?;
    TraceContext::parse(ran)
}

/// The headers of an outcome without the span that [`ran_by`] reads.
pub fn answered_with(headers: &Headers) -> impl Iterator<Item = (&str, &Bytes)> {
    headers.iter().filter(|(name, _)| *name != RAN)
}

/// Links a replay to the span that ran.
pub fn replayed(span: &SpanHandle, headers: &Headers) {
    span.record(|span| {
        if let Some(ran) = ran_by(headers) {
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
    use semel_core::trace::{Sampling, SpanSink, Value};

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

    #[derive(Debug, Default)]
    struct Kept(std::sync::Mutex<Vec<FinishedSpan>>);

    impl SpanSink for Kept {
        fn ended(&self, span: FinishedSpan) {
            self.0.lock().unwrap().push(span);
        }
    }

    /// The span that `write` writes to.
    fn written(write: impl FnOnce(Span)) -> FinishedSpan {
        let kept = std::sync::Arc::<Kept>::default();
        let tracer = Tracer::new(kept.clone(), Sampling::default());
        write(tracer.begin(Kind::Internal, "x", || Origin::Request(None)));
        kept.0.lock().unwrap().pop().unwrap()
    }

    fn error_type(span: &FinishedSpan) -> Option<Value> {
        let mut said = span.attributes.iter();
        let (_, kind) = said.find(|(name, _)| *name == "error.type")?;
        Some(kind.clone())
    }

    #[test]
    fn a_request_that_is_given_up_is_a_failure_of_its_span() {
        let given_up = written(|span| drop(Sending::of(span)));
        assert_eq!(error_type(&given_up), Some(Value::from("timeout")));
        assert!(given_up.error.is_some());
        let answered = written(|span| Sending::of(span).ended(Ok(StatusCode::OK)));
        assert_eq!((error_type(&answered), answered.error), (None, None));
        let broken = Failure::Broken("x".to_owned());
        let failed = written(|span| Sending::of(span).ended(Err(&broken)));
        assert_eq!(error_type(&failed), Some(Value::from("broken")));
    }

    #[test]
    fn a_run_fails_if_its_outcome_does_or_is_not_known() {
        for (mut settlement, error) in [
            (Settlement::Settle(Outcome::succeeded("")), None),
            (Settlement::Release, None),
            (Settlement::Settle(Outcome::failed("")), Some("failed")),
            (Settlement::Unknown(None), Some("unknown")),
        ] {
            let span = written(|span| ran(&span, &mut settlement));
            assert_eq!(error_type(&span), error.map(Value::from), "{settlement:?}");
            assert_eq!(span.error.is_some(), error.is_some(), "{settlement:?}");
        }
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
