//! Who may come in: the holder of a token, or, where there are none, every program of this machine. What a caller may do once it is in,
//! its role says (`tokens`).
//!
//! Without tokens the admin side listens on loopback only. A web page in a browser on the same
//! machine can reach loopback, too: it would come under its own name (a name that it made resolve
//! to 127.0.0.1) or with a form. So names other than `localhost` are refused, and whatever may change something
//! must say that it is JSON, which a page cannot do across origins without being allowed to.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use axum::http::request::Parts;
use axum::http::uri::{Authority, Uri};
use axum::http::{HeaderMap, HeaderName};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use semel_core::{Clock, Timestamp};
use semel_http::problem::{Problem, Type};

use crate::current::Current;
use crate::refused::Refused;
use crate::tokens::{Caller, Needs, Tokens};

/// Addresses that answer to everybody: they tell nothing but whether the process works.
pub(crate) const OPEN: [&str; 2] = ["/healthz", "/readyz"];

#[derive(Debug, Clone)]
pub(crate) struct Gate {
    /// A reload replaces them; the next request of an open connection is judged by the new ones.
    tokens: Current<Tokens>,
    /// Says which tokens have expired.
    clock: Arc<dyn Clock>,
}

impl Gate {
    pub(crate) const fn new(tokens: Current<Tokens>, clock: Arc<dyn Clock>) -> Self {
        Self { tokens, clock }
    }

    /// Lets a request in and says whose it is, or why it stays outside. An open address has no caller.
    pub(crate) fn check(&self, parts: &Parts) -> Result<Option<Caller>, Problem> {
        if OPEN.contains(&parts.uri.path()) {
            return Ok(None);
        }
        let tokens = self.tokens.get();
        match tokens.is_empty() {
            true => check_host(parts).map(|()| Some(Caller::Local)),
            false => self.identify(&tokens, &parts.headers).map(Some),
        }
    }

    /// Whether the caller of an open address has shown, although it need not, that it may look at everything.
    pub(crate) fn may_read(&self, parts: &Parts) -> bool {
        let tokens = self.tokens.get();
        match tokens.is_empty() {
            true => check_host(parts).is_ok(),
            false if parts.headers.contains_key(AUTHORIZATION) => self
                .identify(&tokens, &parts.headers)
                .is_ok_and(|caller| Needs::Read.allows(caller.role())),
            false => false,
        }
    }

    /// As [`Gate::check`] for a page, whose visitor may be known by a session instead: without a bearer token nobody is known yet.
    pub(crate) fn check_page(&self, parts: &Parts) -> Result<Option<Caller>, Problem> {
        let tokens = self.tokens.get();
        match tokens.is_empty() {
            true => check_host(parts).map(|()| Some(Caller::Local)),
            false if parts.headers.contains_key(AUTHORIZATION) => {
                self.identify(&tokens, &parts.headers).map(Some)
            }
            false => Ok(None),
        }
    }

    /// The tokens that hold.
    pub(crate) fn tokens(&self) -> Tokens {
        self.tokens.get()
    }

    /// The moment by which tokens expire.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    fn identify(&self, tokens: &Tokens, headers: &HeaderMap) -> Result<Caller, Problem> {
        let found = bearer(headers).and_then(|shown| tokens.find(shown));
        match found {
            Some(token) if token.is_expired(self.clock.now()) => {
                let name = token.name();
                tracing::warn!(target: "semel::admin", token = name.as_str(), "refused an expired token");
                let detail = format!("the token {name} has expired");
                Err(Problem::new(Type::Unauthorized, detail))
            }
            Some(token) => Ok(Caller::Token(Arc::clone(token))),
            None => {
                let detail =
                    "send the header Authorization: Bearer TOKEN with a token of the admin side";
                Err(Problem::new(Type::Unauthorized, detail))
            }
        }
    }
}

/// What every call that may change something passes once its path and method are known: it says that it is JSON, and all that
/// it asks for is in its body, so that a misspelt parameter is never silently ignored.
pub(crate) async fn only_json(request: Request, next: Next) -> Response {
    match check_call(request.headers(), request.uri()) {
        Ok(()) => next.run(request).await,
        Err(problem) => Refused::from(problem).into_response(),
    }
}

fn check_call(headers: &HeaderMap, uri: &Uri) -> Result<(), Problem> {
    if !is_json(headers) {
        let detail = "send the header Content-Type: application/json, once; nothing was changed";
        return Err(Problem::new(Type::MediaType, detail));
    }
    match uri.query() {
        None | Some("") => Ok(()),
        Some(_) => {
            let detail = "this call takes a body and no parameters; nothing was changed";
            Err(Problem::new(Type::InvalidInput, detail))
        }
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = only(headers, &AUTHORIZATION)?.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// The one value of a header; nothing if it is repeated, so that no two readers can disagree.
pub(crate) fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

fn check_host(parts: &Parts) -> Result<(), Problem> {
    let host = only(&parts.headers, &HOST).and_then(|host| host.parse::<Authority>().ok());
    // A request line with an address of its own must not say anything else than the header.
    let named = parts.uri.authority().into_iter().chain(&host);
    if host.is_some() && named.map(Authority::host).all(is_this_machine) {
        return Ok(());
    }
    Err(Problem::new(
        Type::HostRefused,
        "without tokens the admin side answers to localhost and to IP addresses only",
    ))
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

fn is_json(headers: &HeaderMap) -> bool {
    only(headers, &CONTENT_TYPE).is_some_and(|value| {
        let essence = value.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use axum::http::Request;
    use semel_core::SystemClock;

    fn check(token: Option<&str>, request: axum::http::request::Builder) -> Result<(), Type> {
        let secret = token.map(|token| Secret::new(token).unwrap());
        let tokens = secret.map(Tokens::admin).unwrap_or_default();
        let gate = Gate::new(tokens.into(), Arc::new(SystemClock::new()));
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let checked = gate.check(&parts).map(drop);
        checked.map_err(|problem| problem.kind())
    }

    #[test]
    fn without_a_token_only_this_machines_names_are_answered() {
        for (host, answered) in [
            ("localhost:7071", true),
            ("LOCALHOST", true),
            ("127.0.0.1:7071", true),
            ("[::1]:7071", true),
            ("10.0.0.7", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:7071", false),
            ("user@localhost", true),
            ("", false),
            ("a b", false),
        ] {
            let checked = check(None, Request::get("/metrics").header(HOST, host));
            assert_eq!(checked.is_ok(), answered, "{host:?}: {checked:?}");
        }
        let two = Request::get("/")
            .header(HOST, "localhost")
            .header(HOST, "evil");
        assert_eq!(check(None, two), Err(Type::HostRefused));
        let absolute = Request::get("http://evil.example/").header(HOST, "localhost");
        assert_eq!(check(None, absolute), Err(Type::HostRefused));
        assert_eq!(check(None, Request::get("/")), Err(Type::HostRefused));
    }

    #[test]
    fn with_a_token_every_address_but_health_needs_it() {
        let with = |value: &str| {
            let request = Request::get("/metrics").header(HOST, "semel.example");
            check(Some("s3cret"), request.header(AUTHORIZATION, value))
        };
        assert_eq!(with("Bearer s3cret"), Ok(()));
        assert_eq!(with("bearer  s3cret"), Ok(()));
        for wrong in ["Bearer s3cre", "Bearer", "Basic s3cret", "s3cret", ""] {
            assert_eq!(with(wrong), Err(Type::Unauthorized), "{wrong:?}");
        }
        for open in OPEN {
            assert_eq!(check(Some("s3cret"), Request::get(open)), Ok(()));
        }
    }

    #[test]
    fn what_may_change_something_must_say_that_it_is_json() {
        let check = |request: axum::http::request::Builder| {
            let (parts, ()) = request.body(()).unwrap().into_parts();
            check_call(&parts.headers, &parts.uri).map_err(|problem| problem.kind())
        };
        let post = || Request::post("/api/v1/claims");
        let with = |value: &str| check(post().header(CONTENT_TYPE, value));
        assert_eq!(with("application/json"), Ok(()));
        assert_eq!(with("Application/JSON; charset=utf-8"), Ok(()));
        for form in ["text/plain", "application/x-www-form-urlencoded", ""] {
            assert_eq!(with(form), Err(Type::MediaType), "{form}");
        }
        assert_eq!(check(post()), Err(Type::MediaType));
        let asked = Request::post("/api/v1/claims?lease=1s");
        let asked = asked.header(CONTENT_TYPE, "application/json");
        assert_eq!(check(asked), Err(Type::InvalidInput));
    }
}
