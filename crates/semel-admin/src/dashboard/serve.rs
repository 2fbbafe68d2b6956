//! Runs pages and acts, and answers with whole documents.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::header::{ACCEPT, ALLOW, LOCATION, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use maud::Markup;
use semel_http::problem::{Problem, Type};

use super::cookies::{Jar, Keep};
use super::page::{Act, Acted, Ask, Page};
use super::table::{self, PAGES, Route, Run};
use super::typed::Typed;
use super::visitor::Visitor;
use super::{assets, csrf, frame, headers, live, sign_in};
use crate::input::spool;
use crate::refused::Refused;
use crate::router::Shared;
use crate::tokens::Caller;

/// The largest form: a payload of a mebibyte that is edited, each of its bytes percent-encoded.
const FORM_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long the next page may take to show a notice.
const NOTICE_KEPT: Keep = Keep::Seconds(60);
/// For how long a browser remembers who decides: a month.
const BY_KEPT: Keep = Keep::Seconds(30 * 86_400);
/// The most bytes of a notice: it travels in a header.
const NOTICE_BYTES_MAX: usize = 300;

/// Whether a path is one of the dashboard's: `enter` decides then who may come in.
pub(crate) fn owns(path: &str) -> bool {
    table::find(path).is_some() || is_open(path) || [sign_in::SIGN_OUT, live::PATH].contains(&path)
}

/// What is served to those who are not signed in.
fn is_open(path: &str) -> bool {
    path == sign_in::SIGN_IN || path.starts_with(assets::PREFIX)
}

/// All addresses of the dashboard.
pub(crate) fn routes() -> Router<Shared> {
    let fixed = Router::new()
        .route("/assets/{name}", get(assets::serve))
        .route(sign_in::SIGN_IN, get(sign_in::page).post(sign_in::sign_in))
        .route(sign_in::SIGN_OUT, post(sign_in::sign_out))
        .route(live::PATH, get(live::stream));
    PAGES
        .iter()
        .fold(fixed, |router, route| router.route(route.path, of(route)))
}

fn of(route: &'static Route) -> MethodRouter<Shared> {
    let show = move |State(app): State<Shared>,
                     Extension(visitor): Extension<Visitor>,
                     uri,
                     headers| { show(app, route, visitor, uri, headers) };
    let act = move |State(app): State<Shared>, Extension(visitor): Extension<Visitor>, request| {
        act(app, route, visitor, request)
    };
    match route.act {
        Some(_) => get(show).post(act),
        None => get(show),
    }
}

/// Every request for the dashboard passes here first.
pub(crate) async fn enter(app: &Shared, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    let dashboard = &app.dashboard;
    let mut response = match dashboard.visitor(&parts) {
        Err(problem) => refuse(&parts.headers, problem.into()),
        Ok(visitor) if visitor.caller.is_none() && !is_open(parts.uri.path()) => {
            must_sign_in(app, &parts, body).await
        }
        Ok(visitor) => {
            let cookie = visitor.cookie(dashboard);
            parts.extensions.insert(visitor);
            let mut response = next.run(Request::from_parts(parts, body)).await;
            if let Some(cookie) = cookie {
                response.headers_mut().append(SET_COOKIE, cookie);
            }
            response
        }
    };
    headers::add(response.headers_mut());
    response
}

/// A browser is sent to sign in and comes back afterwards; one that posts a form and a program learn what is missing.
async fn must_sign_in(app: &Shared, parts: &Parts, body: Body) -> Response {
    if parts.method == Method::GET && wants_html(&parts.headers) {
        return redirect(&sign_in::address(&parts.uri));
    }
    let detail = "sign in, or send the header Authorization: Bearer TOKEN with a token of the admin side; nothing was changed";
    let refused = Problem::new(Type::Unauthorized, detail).into();
    match parts.method == Method::POST {
        true => refuse_unread(app, parts, body, refused).await,
        false => refuse(&parts.headers, refused),
    }
}

impl Ask {
    /// What a page is given.
    pub(super) fn new(
        app: &Shared,
        visitor: &Visitor,
        uri: Uri,
        headers: &HeaderMap,
    ) -> Result<Self, Refused> {
        let dashboard = &app.dashboard;
        let caller = visitor.caller.clone().ok_or_else(|| {
            Refused::from(Problem::new(Type::Unauthorized, "nobody is signed in"))
        })?;
        Ok(Self {
            app: app.clone(),
            caller,
            uri,
            form_token: dashboard.csrf.token(&visitor.visit),
            by: dashboard.cookies.get(headers, Jar::By),
            notice: dashboard.cookies.get(headers, Jar::Notice),
            is_signed_in: visitor.is_signed_in,
            is_update: false,
        })
    }
}

async fn show(
    app: Shared,
    route: &'static Route,
    visitor: Visitor,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let rendered = async {
        let ask = Ask::new(&app, &visitor, uri, &headers)?;
        ask.caller.must(route.needs)?;
        let page = (route.page)(ask.clone()).await?;
        Ok(document(&ask, page))
    };
    rendered
        .await
        .unwrap_or_else(|refused| refuse(&headers, refused))
}

/// A page in its frame; a notice was shown now.
fn document(ask: &Ask, page: Page) -> Response {
    let mut response = Html(frame::page(ask, page).into_string()).into_response();
    if ask.notice.is_some() {
        let forget = ask.app.dashboard.cookies.forget(Jar::Notice);
        response.headers_mut().append(SET_COOKIE, forget);
    }
    response
}

async fn act(app: Shared, route: &'static Route, visitor: Visitor, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let (ask, run) = match admit(&app, route, &visitor, &parts) {
        Ok(admitted) => admitted,
        Err(refused) => return refuse_unread(&app, &parts, body, refused).await,
    };
    let spooled = spool(&app, &parts.headers, body, FORM_BYTES_MAX).await;
    let read = spooled.and_then(|spooled| Ok((form(&spooled.bytes)?, spooled)));
    // What holds room for the body holds it until the form is answered.
    let (form, _spooled) = match read {
        Ok((form, spooled)) => (Arc::<str>::from(form), spooled),
        Err(refused) => return refuse_form(&parts, refused, ""),
    };
    let acted = carry_out(&visitor, run, ask, Arc::clone(&form)).await;
    acted.unwrap_or_else(|refused| refuse_form(&parts, refused, &form))
}

/// Role, origin and token are checked in this order, the first two before the body is read.
fn admit(
    app: &Shared,
    route: &'static Route,
    visitor: &Visitor,
    parts: &Parts,
) -> Result<(Ask, Run), Refused> {
    let ask = Ask::new(app, visitor, parts.uri.clone(), &parts.headers)?;
    let (needs, run) = route.act.ok_or_else(|| {
        let detail = format!("{} takes no form", route.path);
        Refused::from(
            Problem::new(Type::MethodNotAllowed, detail)
                .header(ALLOW, HeaderValue::from_static("GET,HEAD")),
        )
    })?;
    ask.caller.must(needs)?;
    csrf::check_origin(&parts.headers)?;
    Ok((ask, run))
}

async fn carry_out(
    visitor: &Visitor,
    run: Run,
    ask: Ask,
    form: Arc<str>,
) -> Result<Response, Refused> {
    let act = Act {
        form,
        ask: ask.clone(),
    };
    let dashboard = &ask.app.dashboard;
    let token = act.field(csrf::FIELD);
    dashboard.csrf.check(&visitor.visit, token.as_deref())?;
    let by = act
        .field("by")
        .filter(|_| matches!(ask.caller, Caller::Local));
    Ok(match run(act).await? {
        Acted::Show(page) => document(&ask, page),
        Acted::Done { to, notice } => {
            let cookies = &dashboard.cookies;
            let notice = notice[..notice.floor_char_boundary(NOTICE_BYTES_MAX)].to_owned();
            let mut response = redirect(&to);
            let headers = response.headers_mut();
            headers.append(SET_COOKIE, cookies.set(Jar::Notice, &notice, NOTICE_KEPT));
            if let Some(by) = by {
                headers.append(SET_COOKIE, cookies.set(Jar::By, &by, BY_KEPT));
            }
            response
        }
    })
}

/// The text of a form.
pub(super) fn form(bytes: &[u8]) -> Result<String, Refused> {
    let text = std::str::from_utf8(bytes).ok();
    let text =
        text.ok_or_else(|| Problem::new(Type::InvalidInput, "a form is percent-encoded ASCII"))?;
    crate::input::check_utf8(text)?;
    Ok(text.to_owned())
}

/// To another page, by GET.
pub(super) fn redirect(to: &str) -> Response {
    // What is no header is no address either.
    let to = HeaderValue::try_from(to).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(LOCATION, to)]).into_response()
}

/// A refusal as a page for browsers, as a problem for programs.
pub(super) fn refuse(headers: &HeaderMap, refused: Refused) -> Response {
    refuse_with(headers, refused, frame::refusal)
}

/// The same of a form, with what was typed into it.
fn refuse_form(parts: &Parts, refused: Refused, form: &str) -> Response {
    refuse_with(&parts.headers, refused, |problem| {
        frame::refused_form(problem, &Typed::new(parts, form))
    })
}

/// The same of a form that was not read yet.
async fn refuse_unread(app: &Shared, parts: &Parts, body: Body, refused: Refused) -> Response {
    let typed = Typed::unread(app, parts, body).await;
    refuse_with(&parts.headers, refused, |problem| {
        frame::refused_form(problem, &typed)
    })
}

fn refuse_with(
    headers: &HeaderMap,
    refused: Refused,
    page: impl FnOnce(&Problem) -> Markup,
) -> Response {
    if !wants_html(headers) {
        return refused.into_response();
    }
    let problem = refused.problem();
    (problem.code(), Html(page(problem).into_string())).into_response()
}

pub(super) fn wants_html(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter();
    accepted.any(|value| {
        value
            .to_str()
            .is_ok_and(|value| value.contains("text/html"))
    })
}
