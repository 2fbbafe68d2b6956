//! The layer begins the spans of a service that has none of its own, and tells the service of them.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::{Request, Response};
use semel_core::trace::{FinishedSpan, Kind, Sampling, SpanSink};
use semel_core::{MemoryStore, Once, TraceContext, Tracer};
use semel_http::{Body, Rules, SemelLayer};
use tower_layer::Layer;
use tower_service::Service;

const CALLER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<FinishedSpan>>);

impl SpanSink for Kept {
    fn ended(&self, span: FinishedSpan) {
        self.0.lock().unwrap().push(span);
    }
}

/// Says which `traceparent` it was told.
#[derive(Clone)]
struct Echo;

impl Service<Request<Body>> for Echo {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let mut response = Response::new(Body::empty());
        if let Some(told) = request.headers().get("traceparent") {
            response.headers_mut().insert("x-told", told.clone());
        }
        ready(Ok(response))
    }
}

async fn pay(layer: &SemelLayer) -> Response<Body> {
    let request = Request::post("/pay")
        .header("idempotency-key", "k-1")
        .header("traceparent", CALLER)
        .body(Body::empty());
    layer.layer(Echo).call(request.unwrap()).await.unwrap()
}

fn layer(tracer: Tracer) -> SemelLayer {
    let once = Once::new(MemoryStore::new());
    SemelLayer::new(&once, Rules::new("payments@1".parse().unwrap())).traced(tracer)
}

#[tokio::test]
async fn the_service_is_told_of_the_run_and_a_duplicate_is_linked_to_it() {
    let kept = Arc::<Kept>::default();
    let layer = layer(Tracer::new(kept.clone(), Sampling::default()));
    let first = pay(&layer).await;
    assert_eq!(first.status(), 200);
    assert!(
        pay(&layer)
            .await
            .headers()
            .contains_key("idempotent-replayed")
    );
    let spans = kept.0.lock().unwrap();
    let [run, request, duplicate] = &spans[..] else {
        panic!("{spans:#?}")
    };
    let caller = TraceContext::parse(CALLER.as_bytes()).unwrap();
    for one in [request, duplicate] {
        assert_eq!((one.kind, one.parent), (Kind::Server, Some(*caller.span())));
    }
    assert_eq!(
        (&*run.name, run.parent),
        ("run", Some(*request.context.span()))
    );
    assert_eq!(first.headers()["x-told"], run.context.to_string());
    assert_eq!(duplicate.links, std::slice::from_ref(&run.context));
}

#[tokio::test]
async fn without_a_tracer_the_service_is_told_what_the_caller_said() {
    let answer = pay(&layer(Tracer::off())).await;
    assert_eq!(answer.headers()["x-told"], CALLER);
}
