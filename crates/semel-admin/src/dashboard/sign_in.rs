//! Signing in with a token, and out.

use std::time::Duration;

use axum::extract::{Extension, Request, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use semel_http::problem::{Problem, Type};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use super::cookies::{Jar, Keep};
use super::visitor::Visitor;
use super::{csrf, frame, serve};
use crate::input::{BYTES_MAX, spool};
use crate::refused::Refused;
use crate::router::Shared;
use crate::tokens::{Needs, Token};

/// Where one signs in.
pub(super) const SIGN_IN: &str = "/sign-in";
/// Where one signs out.
pub(super) const SIGN_OUT: &str = "/sign-out";
/// The most wrong attempts at once. Each keeps its place for [`SLOWED`], so that answers to guesses are few however many connections make
/// them. A right one takes no place: guesses of others keep no operator out.
pub(super) const ATTEMPTS_MAX: usize = 8;
const SLOWED: Duration = Duration::from_millis(500);
/// How long an attempt waits for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest address to come back to.
const NEXT_BYTES_MAX: usize = 2_048;

/// What the page is asked with.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Query {
    next: String,
}

/// What is posted.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Form {
    form_token: String,
    token: String,
    next: String,
}

/// The address of the page, from which one comes back to where one wanted to go.
pub(super) fn address(wanted: &Uri) -> String {
    let next = wanted.path_and_query();
    address_from(next.map_or("/", |wanted| wanted.as_str()))
}

/// The same with the address to come back to as a text.
pub(super) fn address_from(next: &str) -> String {
    match next {
        "/" => SIGN_IN.to_owned(),
        next => super::ui::address(SIGN_IN, &[("next".to_owned(), next.to_owned())]),
    }
}

/// The page. One who is signed in, or need not, goes on.
pub(super) async fn page(
    State(app): State<Shared>,
    Extension(visitor): Extension<Visitor>,
    uri: Uri,
) -> Response {
    let query = uri.query().unwrap_or_default();
    let query: Query = serde_urlencoded::from_str(query).unwrap_or_default();
    match visitor.caller {
        Some(_) => serve::redirect(local(&query.next)),
        None => Html(form(&app, &visitor, &query.next, None)).into_response(),
    }
}

fn form(app: &Shared, visitor: &Visitor, next: &str, wrong: Option<&str>) -> String {
    let token = app.dashboard.csrf.token(&visitor.visit);
    frame::sign_in(&token, local(next), wrong).into_string()
}

/// Opens a session.
pub(super) async fn sign_in(
    State(app): State<Shared>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Response {
    let headers = request.headers().clone();
    match read(&app, &visitor, request).await {
        Ok(form) => attempt(&app, &visitor, form).await,
        Err(refused) => Err(refused),
    }
    .unwrap_or_else(|refused| serve::refuse(&headers, refused))
}

async fn read(app: &Shared, visitor: &Visitor, request: Request) -> Result<Form, Refused> {
    let (parts, body) = request.into_parts();
    csrf::check_origin(&parts.headers)?;
    let spooled = spool(app, &parts.headers, body, BYTES_MAX).await?;
    let text = serve::form(&spooled.bytes)?;
    let form: Form = serde_urlencoded::from_str(&text)
        .map_err(|error| Problem::new(Type::InvalidInput, error.to_string()))?;
    let csrf = &app.dashboard.csrf;
    csrf.check(&visitor.visit, Some(&form.form_token))?;
    Ok(form)
}

async fn attempt(app: &Shared, visitor: &Visitor, posted: Form) -> Result<Response, Refused> {
    let dashboard = &app.dashboard;
    let now = dashboard.gate.now();
    let tokens = dashboard.gate.tokens();
    let found = tokens.find(posted.token.trim());
    let token = match found.map(|token| (token, refusal(token, now))) {
        Some((token, None)) => token.clone(),
        Some((_, Some(why))) => return Ok(wrong(app, visitor, &posted, why)),
        None => {
            slow_down(&dashboard.attempts).await?;
            tracing::warn!(target: "semel::admin", "refused to sign in: no such token");
            return Ok(wrong(app, visitor, &posted, "There is no such token."));
        }
    };
    tracing::info!(target: "semel::admin", token = token.name().as_str(), "signed in");
    let id = dashboard.sessions.open(token, now)?;
    let mut response = serve::redirect(local(&posted.next));
    let keep = Keep::Seconds(dashboard.sessions.lasts().as_secs());
    let cookie = dashboard.cookies.set(Jar::Session, &id, keep);
    response.headers_mut().append(SET_COOKIE, cookie);
    Ok(response)
}

/// What a wrong attempt waits for before it is told so.
async fn slow_down(attempts: &Semaphore) -> Result<(), Refused> {
    let turn = timeout(TURN_TIMEOUT, attempts.acquire()).await;
    let _turn = turn.map_err(|_| {
        let detail = "too many attempts to sign in at once; try again in a while";
        Problem::new(Type::Overloaded, detail)
    })?;
    sleep(SLOWED).await;
    Ok(())
}

/// Why a token that exists does not open the dashboard.
fn refusal(token: &Token, now: semel_core::Timestamp) -> Option<&'static str> {
    if token.is_expired(now) {
        return Some("This token has expired.");
    }
    match Needs::Read.allows(token.role()) {
        true => None,
        false => Some(
            "This token is for the claims API; the dashboard needs one with the role read, operate or admin.",
        ),
    }
}

fn wrong(app: &Shared, visitor: &Visitor, posted: &Form, why: &str) -> Response {
    let page = form(app, visitor, &posted.next, Some(why));
    (StatusCode::FORBIDDEN, Html(page)).into_response()
}

/// Ends the session, here and in the browser.
pub(super) async fn sign_out(
    State(app): State<Shared>,
    Extension(visitor): Extension<Visitor>,
    request: Request,
) -> Response {
    let headers: HeaderMap = request.headers().clone();
    if let Err(refused) = read(&app, &visitor, request).await {
        return serve::refuse(&headers, refused);
    }
    if visitor.is_signed_in {
        app.dashboard.sessions.close(&visitor.visit);
    }
    let mut response = serve::redirect(SIGN_IN);
    let forget = app.dashboard.cookies.forget(Jar::Session);
    response.headers_mut().append(SET_COOKIE, forget);
    response
}

/// An address of this dashboard; anything else is its first page, so that a link to sign in leads nowhere else.
pub(super) fn local(next: &str) -> &str {
    let is_path = next.starts_with('/') && !next.starts_with("//") && next.len() <= NEXT_BYTES_MAX;
    let is_plain = next
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_path && is_plain { next } else { "/" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_comes_back_to_this_dashboard_only() {
        for (next, to) in [
            (
                "/keys?state=unknown&key=a%20b",
                "/keys?state=unknown&key=a%20b",
            ),
            ("", "/"),
            ("keys", "/"),
            ("//evil.example/", "/"),
            ("/\\evil.example", "/"),
            ("https://evil.example/", "/"),
            ("/a\r\nSet-Cookie: b", "/"),
            ("/é", "/"),
        ] {
            assert_eq!(local(next), to, "{next:?}");
        }
        assert_eq!(address(&Uri::from_static("/")), "/sign-in");
        let wanted = Uri::from_static("/keys?a=1&b=2");
        assert_eq!(address(&wanted), "/sign-in?next=%2Fkeys%3Fa%3D1%26b%3D2");
    }
}
