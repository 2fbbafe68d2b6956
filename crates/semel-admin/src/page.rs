//! A plain page for people: how things stand, and where to look further.

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::HeaderName;
use axum::http::header::{CONTENT_SECURITY_POLICY, X_FRAME_OPTIONS};
use axum::response::{Html, IntoResponse};
use semel_core::{duration, store};

use crate::health::Readiness;
use crate::refused::ask;
use crate::router::{App, Shared};

/// The page around what changes. No script, nothing from elsewhere.
const TEMPLATE: &str = include_str!("page.html");

/// The page needs its own style and nothing else; nobody may frame it.
const HEADERS: [(HeaderName, &str); 2] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
    ),
    (X_FRAME_OPTIONS, "DENY"),
];

/// A page for people.
#[utoipa::path(get, path = "/", tag = "health",
    responses((status = 200, description = "How things stand", body = String, content_type = "text/html")))]
pub(crate) async fn status(State(app): State<Shared>) -> impl IntoResponse {
    let store = app.parts.store.inner();
    let readiness = app.parts.health.readiness(&app.probed).await;
    // A store that is away shows in the parts; the page comes all the same.
    let stats = match readiness.ready {
        true => ask(store.stats()).await.ok(),
        false => None,
    };
    let page = TEMPLATE
        .replace("{{version}}", env!("CARGO_PKG_VERSION"))
        .replace("{{repository}}", env!("CARGO_PKG_REPOSITORY"))
        .replace("{{parts}}", &parts(&readiness))
        .replace("{{counts}}", &counts(&app, stats.as_ref()));
    (HEADERS, Html(page))
}

fn parts(readiness: &Readiness) -> String {
    let mut html = String::new();
    for part in &readiness.parts {
        let (class, said) = match &part.why {
            None => ("good", "ready"),
            Some(why) => ("bad", why.as_ref()),
        };
        let (name, said) = (escaped(part.name), escaped(said));
        // Writing to a string cannot fail.
        let _ = write!(
            html,
            "<tr><th>{name}</th><td class=\"{class}\">{said}</td></tr>"
        );
    }
    html
}

fn counts(app: &App, stats: Option<&store::Stats>) -> String {
    let Some(stats) = stats else {
        return String::new();
    };
    let age = |since: Option<semel_core::Timestamp>| {
        since.map_or(String::new(), |since| {
            format!("the oldest for {}", duration::show(app.now().since(since)))
        })
    };
    let rows = [
        ("running", stats.running, age(stats.oldest_running)),
        ("unknown", stats.unknown, age(stats.oldest_unknown)),
        ("settled", stats.settled, String::new()),
        ("archived", stats.archived, String::new()),
        ("late outcomes", stats.late_outcomes, String::new()),
        ("bytes on disk", stats.bytes.unwrap_or(0), String::new()),
    ];
    let row = |(name, number, more): &(&str, u64, String)| {
        format!("<tr><th>{name}</th><td class=\"number\">{number}</td><td>{more}</td></tr>")
    };
    rows.iter().map(row).collect()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
