//! The service around the user's own.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Method, Request, Response};
use http_body_util::Either;
use semel_core::Tracer;
use tower_service::Service;

use crate::body::{AnyBody, Body};
#[cfg(feature = "axum")]
use crate::fingerprint::AskedUri;
use crate::guard::{Admission, Failure, Guard, Upstream, no_outcome, only_asked};
use crate::outcomes::Question;
use crate::problem::Problem;
use crate::reserved::{self, Clean};
use crate::trace;

/// A service whose guarded requests take effect once.
#[derive(Debug, Clone)]
pub struct Guarded<S> {
    inner: S,
    guard: Guard,
    methods: Arc<[Method]>,
    tracer: Tracer,
}

impl<S> Guarded<S> {
    pub(super) const fn new(
        inner: S,
        guard: Guard,
        methods: Arc<[Method]>,
        tracer: Tracer,
    ) -> Self {
        Self {
            inner,
            guard,
            methods,
            tracer,
        }
    }
}

impl<S, B, R> Service<Request<B>> for Guarded<S>
where
    S: Service<Request<Body>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: fmt::Display + Send + 'static,
    B: AnyBody,
    R: AnyBody,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        // Only a claim says these, and only to the service; also of a request that no guard looks at.
        reserved::strip(request.headers_mut(), &reserved::REQUEST);
        #[cfg(feature = "axum")]
        remember_uri(&mut request);
        let span = trace::server(&self.tracer, &request);
        trace::hand_on(&mut request, &span);
        trace::inject(request.headers_mut(), &span);
        let request = request.map(Clean::request);
        // The clone stays; what was made ready is used.
        let clone = self.inner.clone();
        let ready = std::mem::replace(&mut self.inner, clone);
        let guard = self
            .methods
            .contains(request.method())
            .then(|| self.guard.clone());
        let outcomes = self.guard.rules().outcomes.as_ref();
        let asks = outcomes.is_some_and(|place| place.is(request.uri().path()));
        let asked = asks.then(|| self.guard.clone());
        Box::pin(async move {
            let request = match asked {
                Some(guard) => match outcome(&guard, request).await {
                    Ok(response) => return Ok(response),
                    Err(request) => request,
                },
                None => request,
            };
            let response = match guard {
                Some(guard) => guarded(ready, &guard, request).await,
                None => passed(ready, request.map(Body::stream)).await,
            };
            if let Ok(response) = &response {
                trace::answered(&span, response.status());
            }
            response
        })
    }
}

async fn guarded<S, B, R>(
    inner: S,
    guard: &Guard,
    request: Request<B>,
) -> Result<Response<Body>, S::Error>
where
    S: Service<Request<Body>, Response = Response<R>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: fmt::Display + Send + 'static,
    B: AnyBody,
    R: AnyBody,
{
    match guard.admit(request, &[]).await {
        Admission::Refused(response) => Ok(response),
        Admission::Pass(request) => passed(inner, request.map(rejoined)).await,
        Admission::Observed(request, observation) => {
            let response = passed(inner, request.map(rejoined)).await;
            observation.ended(response.as_ref().ok().map(Response::status));
            response
        }
        Admission::Guarded(admitted) => Ok(admitted.run(Inner(inner)).await),
    }
}

/// The outcome that a request asks for; the request if it asks for one of another scope, which another layer may have.
async fn outcome<B>(guard: &Guard, request: Request<B>) -> Result<Response<Body>, Request<B>> {
    let question =
        only_asked(request.method()).and_then(|()| Question::read(request.uri().query()));
    let question = match question {
        Ok(question) if question.scope != guard.rules().scope => return Err(request),
        Ok(question) => question,
        Err(problem) => return Ok(problem.into_response()),
    };
    let (head, _) = request.into_parts();
    let answered = guard.outcome(&head, &question).await;
    let answered = answered.and_then(|found| found.ok_or_else(no_outcome));
    Ok(answered.unwrap_or_else(Problem::into_response))
}

fn rejoined<B>(body: Either<B, Body>) -> Body
where
    B: AnyBody,
{
    match body {
        Either::Left(unread) => Body::stream(unread),
        Either::Right(read) => read,
    }
}

async fn passed<S, R>(mut inner: S, request: Request<Body>) -> Result<Response<Body>, S::Error>
where
    S: Service<Request<Body>, Response = Response<R>>,
    R: AnyBody,
{
    Ok(cleaned(inner.call(request).await?).map(Body::stream))
}

/// A router that nests this service has taken its prefix away; two nests must not look like one.
#[cfg(feature = "axum")]
fn remember_uri<B>(request: &mut Request<B>) {
    use axum::extract::OriginalUri;

    let extensions = request.extensions_mut();
    if extensions.get::<AskedUri>().is_none()
        && let Some(OriginalUri(uri)) = extensions.get::<OriginalUri>().cloned()
    {
        extensions.insert(AskedUri(uri));
    }
}

/// A response without the service's word about its outcome, which is for the guard alone.
fn cleaned<R>(mut response: Response<R>) -> Response<Clean<R>> {
    reserved::strip(response.headers_mut(), &reserved::RESPONSE);
    response.map(Clean::response)
}

/// The user's service as an upstream.
struct Inner<S>(S);

impl<S, R> Upstream for Inner<S>
where
    S: Service<Request<Body>, Response = Response<R>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: fmt::Display + Send + 'static,
    R: AnyBody,
{
    type Body = Clean<R>;

    async fn call(mut self, request: Request<Body>) -> Result<Response<Clean<R>>, Failure> {
        // A task of its own: a handler that blocks its thread must not keep the lease from being renewed.
        // Given up, it is cancelled like a call without a task: it must not go on unseen.
        let mut handler = Handler(tokio::spawn(self.0.call(request)));
        let called = match (&mut handler.0).await {
            Ok(called) => called,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return Err(Failure::Broken("the runtime is going down".to_owned())),
            },
        };
        // What a service did before it failed is not known.
        let called = called.map_err(|error| Failure::Broken(error.to_string()))?;
        // The guard reads the service's word in the headers; trailers come too late for it.
        Ok(called.map(Clean::response))
    }
}

/// A handler in a task of its own, which ends with whoever waits for it.
struct Handler<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for Handler<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
