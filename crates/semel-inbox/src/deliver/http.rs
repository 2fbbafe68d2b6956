//! The handler that posts messages to a URL.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::policy::retry::Failure;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::Url;
use semel_core::{Error, Result};

use super::answer::{self, Meaning};
use super::{headers, intents, steps};
use crate::exchange::{self, Answer};
use crate::handler::{Ctx, Done, Handler, Handling};

/// How long an answer may take unless the handler says otherwise; the consumer's deadline holds as well.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Delivers messages to a URL. See the [module](super) for what is sent and what answers mean.
///
/// ```
/// use semel_inbox::HttpHandler;
///
/// let handler = HttpHandler::new("http://127.0.0.1:9000/notifications")?
///     .header("authorization", "Bearer …")?
///     .keep("x-trace-id".parse().expect("it is a header's name"));
/// # Ok::<(), semel_core::Error>(())
/// ```
#[must_use]
pub struct HttpHandler {
    client: reqwest::Client,
    url: Url,
    timeout: Duration,
    headers: HeaderMap,
    keep: Vec<HeaderName>,
    /// Whether the log has heard of headers that cannot be delivered.
    has_told: AtomicBool,
}

impl HttpHandler {
    /// A handler behind this URL.
    pub fn new(url: &str) -> Result<Self> {
        let client = exchange::client_builder().build().map_err(|error| {
            Error::invalid("the HTTP client cannot be made").caused_by(error.without_url())
        })?;
        Self::with_client(url, client)
    }

    /// The same with a client of its own; see [`crate::client_builder`].
    pub fn with_client(url: &str, client: reqwest::Client) -> Result<Self> {
        let parsed = Url::parse(url).ok();
        let parsed = parsed.filter(|url| matches!(url.scheme(), "http" | "https"));
        let url = parsed.ok_or_else(|| {
            Error::invalid("a handler's URL is http(s)://HOST[:PORT]/…, found something else")
        })?;
        Ok(Self {
            client,
            url,
            timeout: TIMEOUT,
            headers: HeaderMap::new(),
            keep: Vec::new(),
            has_told: AtomicBool::new(false),
        })
    }

    /// With one more header; its value may be a secret.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self> {
        let bad = || Error::invalid(format!("a handler's header {name:?} is not valid"));
        let name: HeaderName = name.parse().map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }

    /// How long an answer may take; 60 seconds by default. The consumer's deadline holds as well.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Keeps one more header of answers in the outcome.
    pub fn keep(mut self, name: HeaderName) -> Self {
        self.keep.push(name);
        self
    }

    /// Delivers until the answer is not a step.
    async fn deliver(&self, ctx: &Ctx) -> Result<Done, Failure> {
        let mut head = headers::of(ctx);
        if let Some(names) = head.get(headers::DROPPED)
            && !self.has_told.swap(true, Ordering::Relaxed)
        {
            let consumer = ctx.consumer();
            tracing::debug!(%consumer, ?names, "headers that HTTP cannot carry are not delivered, only named");
        }
        for (name, value) in &self.headers {
            head.insert(name, value.clone());
        }
        loop {
            match steps::header(&ctx.steps())? {
                Some(done) => head.insert("semel-steps", done),
                None => head.remove("semel-steps"),
            };
            let answer = self.post(head.clone(), ctx).await?;
            match answer::meaning(&answer, ctx.now()) {
                Meaning::Done => return self.done(ctx, answer),
                Meaning::Skip => return Ok(Done::skipped()),
                Meaning::Failed(failure) => return Err(failure),
                Meaning::Step(step) => {
                    // A step that comes again would be delivered for ever.
                    if ctx.steps().iter().any(|done| done.name == step.name) {
                        let name = &step.name;
                        return Err(Failure::terminal(format!(
                            "the handler answered step {name:?}, which is done already"
                        )));
                    }
                    ctx.check_steps(&step.name)?;
                    ctx.remember(step).await?;
                }
            }
        }
    }

    async fn post(&self, head: HeaderMap, ctx: &Ctx) -> Result<Answer, Failure> {
        let mut request = reqwest::Request::new(Method::POST, self.url.clone());
        *request.headers_mut() = head;
        *request.body_mut() = Some(ctx.message().payload().clone().into());
        let answer = exchange::exchange(&self.client, request, self.timeout, ctx.span()).await;
        answer.map_err(|broken| answer::broken(&broken))
    }

    fn done(&self, ctx: &Ctx, mut answer: Answer) -> Result<Done, Failure> {
        let body = match answer.media_type().as_deref() {
            Some(intents::MEDIA_TYPE) => {
                let (result, drafts) = intents::parse(&answer.body)?;
                for draft in drafts {
                    ctx.send(draft)?;
                }
                let json = HeaderValue::from_static("application/json");
                answer.headers.insert(CONTENT_TYPE, json);
                result
            }
            _ => answer.body.clone(),
        };
        Ok(Done::with_outcome(answer.outcome(&self.keep, body)))
    }
}

impl Handler for HttpHandler {
    fn handle(&self, ctx: Ctx) -> Handling<'_> {
        Box::pin(async move { self.deliver(&ctx).await })
    }
}

impl std::fmt::Debug for HttpHandler {
    /// URLs and headers may hold secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpHandler")
            .field("host", &self.url.host_str())
            .finish_non_exhaustive()
    }
}
