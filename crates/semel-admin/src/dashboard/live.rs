//! The live part of a page as server-sent events: rendered again every two seconds, sent if it changed.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use semel_http::problem::{Problem, Type};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, sleep};

use super::csrf;
use super::page::Ask;
use super::serve;
use super::table::{self, Route};
use super::visitor::Visitor;
use crate::refused::Refused;
use crate::router::Shared;

/// Where streams are.
pub(super) const PATH: &str = "/live";
/// The most streams at once; one more is refused, and its page stays as it was served.
pub(super) const STREAMS_MAX: usize = 32;
/// How often the page is rendered.
const EVERY: Duration = Duration::from_secs(2);
/// How often something is sent although nothing changed, so that a browser that went away is noticed.
const BEAT: Duration = Duration::from_secs(15);

#[derive(Debug, Deserialize)]
struct Query {
    /// Path and parameters of the page.
    page: String,
}

/// One browser that looks at one page.
struct Stream {
    app: Shared,
    route: &'static Route,
    uri: Uri,
    /// The request that opened it; who made it is asked again before each event, so that a session that ended sees nothing more.
    parts: Parts,
    stopping: watch::Receiver<bool>,
    sent: Option<blake3::Hash>,
    sent_at: Instant,
    is_over: bool,
    _room: OwnedSemaphorePermit,
}

/// Streams the live part of a page.
pub(super) async fn stream(
    State(app): State<Shared>,
    Extension(_): Extension<Visitor>,
    parts: Parts,
) -> Response {
    let headers: HeaderMap = parts.headers.clone();
    match open(&app, parts) {
        Ok(stream) => {
            let events = stream::unfold(stream, |mut stream| async {
                let event = stream.next().await?;
                Some((Ok::<_, Infallible>(event), stream))
            });
            let body = Body::from_stream(events);
            ([(CONTENT_TYPE, "text/event-stream")], body).into_response()
        }
        Err(refused) => serve::refuse(&headers, refused),
    }
}

fn open(app: &Shared, parts: Parts) -> Result<Stream, Refused> {
    csrf::check_site(&parts.headers)?;
    let query = parts.uri.query().unwrap_or_default();
    let query: Query = serde_urlencoded::from_str(query)
        .map_err(|error| Problem::new(Type::InvalidInput, error.to_string()))?;
    let uri: Option<Uri> = query.page.parse().ok();
    let found = uri.and_then(|uri| Some((table::find(uri.path())?, uri)));
    let (route, uri) = found.ok_or_else(|| {
        let detail = "page: expected the path and the parameters of a page of the dashboard";
        Problem::new(Type::InvalidInput, detail)
    })?;
    let room = app.dashboard.streams.clone().try_acquire_owned();
    let room = room.map_err(|_| {
        let detail = format!("{STREAMS_MAX} pages are watched already");
        Problem::new(Type::Overloaded, detail)
    })?;
    Ok(Stream {
        app: app.clone(),
        route,
        uri,
        parts,
        stopping: app.dashboard.stopping.clone(),
        sent: None,
        sent_at: Instant::now(),
        is_over: false,
        _room: room,
    })
}

impl Stream {
    /// The next event; `None` at the end.
    async fn next(&mut self) -> Option<String> {
        loop {
            if self.is_over || !self.wait().await {
                return None;
            }
            let event = match self.render().await {
                Ok(html) => event("live", &html),
                Err(refused) => {
                    let problem = refused.problem();
                    self.is_over = matches!(problem.kind(), Type::Unauthorized | Type::Forbidden);
                    event(
                        if self.is_over { "over" } else { "trouble" },
                        problem.detail(),
                    )
                }
            };
            let hash = blake3::hash(event.as_bytes());
            let is_new = self.sent != Some(hash);
            if is_new || self.sent_at.elapsed() >= BEAT {
                (self.sent, self.sent_at) = (Some(hash), Instant::now());
                return Some(if is_new { event } else { ":\n\n".to_owned() });
            }
        }
    }

    /// Waits for the next turn, the first one without delay; false if the process stops.
    async fn wait(&mut self) -> bool {
        if self.sent.is_none() {
            return true;
        }
        tokio::select! {
            () = sleep(EVERY) => true,
            _ = self.stopping.wait_for(|stopping| *stopping) => false,
        }
    }

    async fn render(&self) -> Result<String, Refused> {
        let visitor = self.app.dashboard.visitor(&self.parts)?;
        let ask = Ask::new(&self.app, &visitor, self.uri.clone(), &self.parts.headers)?.update();
        ask.caller.must(self.route.needs)?;
        let page = (self.route.page)(ask).await?;
        Ok(page.live.unwrap_or_default().into_string())
    }
}

/// An event in the form of the standard: every line of the data has its own prefix.
fn event(name: &str, data: &str) -> String {
    let data = data.replace("\r\n", "\n").replace('\r', "\n");
    let mut text = format!("event: {name}\n");
    for line in data.split('\n') {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::event;

    #[test]
    fn no_content_ends_an_event_early() {
        let sent = event("live", "a\n\nevent: evil\r\ndata: b\rc");
        let expected =
            "event: live\ndata: a\ndata: \ndata: event: evil\ndata: data: b\ndata: c\n\n";
        assert_eq!(sent, expected);
    }
}
