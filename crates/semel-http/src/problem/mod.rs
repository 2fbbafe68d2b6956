//! Refusals as `application/problem+json` (RFC 9457), one catalogue for all ports.
//!
//! Each document has `type`, `title`, `status`, `detail` and `ran`; each response has `Link: <…>; rel="describedby"` to the
//! page about its type, `Retry-After` if the same request is worth sending again, and `WWW-Authenticate` if it is 401.

mod catalogue;

pub use catalogue::{Ran, Type};

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LINK, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::body::Body;

/// The media type of problems.
pub const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

/// One problem, ready to be sent.
#[derive(Debug, Clone)]
pub struct Problem {
    kind: Type,
    status: StatusCode,
    ran: Ran,
    detail: String,
    retry_after: Option<Duration>,
    members: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
    called: Option<&'static str>,
}

impl Problem {
    /// A problem with a sentence about this occurrence. It must hold neither secrets nor payloads.
    pub fn new(kind: Type, detail: impl Into<String>) -> Self {
        Self {
            kind,
            status: kind.status(),
            ran: kind.ran(),
            detail: detail.into(),
            retry_after: kind.retry_after(),
            members: Map::new(),
            headers: Vec::new(),
            called: None,
        }
    }

    /// With a protocol's own word as its `type`, which is a relative reference to RFC 9457 (§3.1.1). The URN becomes the
    /// member `problem`, and the document is sent as `application/json`, which clients of such protocols expect.
    #[must_use]
    pub fn called(mut self, name: &'static str) -> Self {
        let urn = self.urn();
        self.called = Some(name);
        self.with("problem", urn)
    }

    /// With another status.
    #[must_use]
    pub const fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// With another word about whether the operation took effect.
    #[must_use]
    pub const fn ran(mut self, ran: Ran) -> Self {
        self.ran = ran;
        self
    }

    /// With another time to come back than the catalogue's, in whole seconds rounded up.
    #[must_use]
    pub const fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Without the advice to come back: the same request cannot succeed until a person has helped.
    #[must_use]
    pub const fn no_retry(mut self) -> Self {
        self.retry_after = None;
        self
    }

    /// With one more member.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// What is wrong.
    pub const fn kind(&self) -> Type {
        self.kind
    }

    /// The URN of what is wrong.
    fn urn(&self) -> String {
        format!("urn:semel:problem:{}", self.kind.name())
    }

    /// The status it is sent with.
    pub const fn code(&self) -> StatusCode {
        self.status
    }

    /// What is wrong this time.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The JSON document.
    pub fn document(&self) -> impl Serialize {
        Document {
            kind: self.called.map_or_else(|| self.urn(), str::to_owned),
            title: self.kind.title(),
            status: self.status.as_u16(),
            detail: &self.detail,
            ran: self.ran.name(),
            members: &self.members,
        }
    }

    /// The members of the document, to be one of several results in another.
    pub fn members(&self) -> Map<String, Value> {
        match serde_json::to_value(self.document()) {
            Ok(Value::Object(members)) => members,
            _ => unreachable!("a problem is a JSON object"),
        }
    }

    /// The response.
    pub fn into_response(self) -> Response<Body> {
        let document = serde_json::to_vec(&self.document());
        let document = Bytes::from(document.expect("text and numbers are valid JSON"));
        let mut response = Response::new(Body::from(document));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.extend(self.headers);
        let media_type = match self.called {
            Some(_) => HeaderValue::from_static("application/json"),
            None => MEDIA_TYPE,
        };
        headers.insert(CONTENT_TYPE, media_type);
        headers.append(LINK, described_by(self.kind));
        if let Some(wait) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds(wait));
        }
        if let Some(challenge) = self.kind.challenge()
            && self.status == StatusCode::UNAUTHORIZED
            && !headers.contains_key(WWW_AUTHENTICATE)
        {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        response
    }
}

/// The value of `Link` that leads to the page about a type.
pub fn described_by(kind: Type) -> HeaderValue {
    let link = format!("<{}>; rel=\"describedby\"", kind.page());
    HeaderValue::try_from(link).expect("the addresses of pages are valid in headers")
}

/// The value of `Retry-After`: whole seconds rounded up, at least one.
pub fn seconds(wait: Duration) -> HeaderValue {
    let seconds = wait.as_millis().div_ceil(1_000).max(1);
    u64::try_from(seconds).unwrap_or(u64::MAX).into()
}

/// The members in the order in which people read them.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    ran: &'static str,
    #[serde(flatten)]
    members: &'a Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_url_safe() {
        let names: HashSet<_> = Type::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), Type::ALL.len());
        let safe = |name: &&str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        assert!(names.iter().all(safe));
    }

    #[test]
    fn a_problem_says_what_is_wrong_and_when_to_come_back() {
        let problem = Problem::new(Type::InProgress, "it runs")
            .retry_after(Duration::from_millis(1_200))
            .with("fence", 7);
        assert_eq!(
            serde_json::to_value(problem.document()).unwrap(),
            json!({
                "type": "urn:semel:problem:in-progress",
                "title": "The first request with this key is still running",
                "status": 409,
                "detail": "it runs",
                "ran": "maybe",
                "fence": 7,
            })
        );
        let response = problem.into_response();
        assert_eq!(response.status(), StatusCode::CONFLICT);
        assert_eq!(response.headers()[RETRY_AFTER], "2");
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
    }
    #[test]
    fn every_problem_leads_to_its_page_and_401_names_a_scheme() {
        for kind in Type::ALL {
            let response = Problem::new(*kind, "why").into_response();
            let headers = response.headers();
            let link = headers[LINK].to_str().unwrap();
            let page = format!("/docs/problems/{}.md>; rel=\"describedby\"", kind.name());
            assert!(
                link.starts_with("<https://") && link.ends_with(&page),
                "{link}"
            );
            let challenged = headers.contains_key(WWW_AUTHENTICATE);
            assert_eq!(challenged, response.status() == 401, "{kind:?}");
            assert_eq!(
                headers.contains_key(RETRY_AFTER),
                kind.retry_after().is_some(),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn what_is_worth_sending_again_is_no_mistake_of_the_caller() {
        for kind in Type::ALL.iter().filter(|kind| kind.retry_after().is_some()) {
            let status = kind.status();
            let is_ours = status.is_server_error();
            assert!(is_ours || status == 409 || status == 429, "{kind:?}");
        }
        for kind in Type::ALL.iter().filter(|kind| kind.status() == 503) {
            assert!(kind.retry_after().is_some(), "{kind:?}");
        }
    }
}
