//! Addresses that the gateway answers by itself. A route that has the address wins, so nothing that is guarded is hidden.

use bytes::Bytes;
use http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue, Method, Request, Response};
use semel_http::Body;
use semel_http::policy::{Policy, Stated};

use crate::config::Route;
use crate::error::{Error, Result};

/// What the gateway answers by itself.
#[derive(Debug)]
pub(crate) struct Own {
    policy: Option<PolicyPage>,
}

/// The idempotency policy, as it is written out.
#[derive(Debug)]
struct PolicyPage {
    path: String,
    json: Bytes,
    text: Bytes,
}

impl Own {
    /// What a configuration with these routes has of it.
    pub(crate) fn new(policy_page: Option<&str>, routes: &[Route]) -> Result<Self> {
        let policy = policy_page.map(|path| PolicyPage::new(path, routes));
        Ok(Self {
            policy: policy.transpose()?,
        })
    }

    /// The answer to a request that no route has, if it is for an address of the gateway's own.
    pub(crate) fn answer<B>(&self, request: &Request<B>) -> Option<Response<Body>> {
        let page = self.policy.as_ref()?;
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let is_here = is_read && request.uri().path() == page.path;
        is_here.then(|| page.response(request.headers()))
    }
}

impl PolicyPage {
    fn new(path: &str, routes: &[Route]) -> Result<Self> {
        let is_path = path.starts_with('/') && !path.contains(['?', '#']);
        if !is_path || path.parse::<http::uri::PathAndQuery>().is_err() {
            let message = format!("the policy page needs a path such as /policy, found {path:?}");
            return Err(Error::invalid(message));
        }
        let policy = Policy::of(routes.iter().map(|route| Stated {
            methods: &route.methods,
            hosts: &route.hosts,
            path: &route.path,
            rules: &route.rules,
            reconciles: route.reconcile.is_some(),
        }));
        Ok(Self {
            path: path.to_owned(),
            json: policy.json().into(),
            text: policy.to_string().into(),
        })
    }

    fn response(&self, headers: &HeaderMap) -> Response<Body> {
        let (kind, body) = match prefers_text(headers) {
            true => ("text/plain; charset=utf-8", &self.text),
            false => ("application/json", &self.json),
        };
        let mut response = Response::new(Body::from(body.clone()));
        let fields = [
            (CONTENT_TYPE, kind),
            (VARY, "Accept"),
            // It follows every reload of the configuration.
            (CACHE_CONTROL, "no-cache"),
        ];
        let fields = fields.map(|(name, value)| (name, HeaderValue::from_static(value)));
        response.headers_mut().extend(fields);
        response
    }
}

/// Browsers ask for text, and programs for JSON or for anything.
fn prefers_text(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter();
    let accepted = accepted.map(|value| String::from_utf8_lossy(value.as_bytes()).to_lowercase());
    let accepted = accepted.collect::<Vec<_>>().join(",");
    accepted.contains("text/") && !accepted.contains("json")
}
