//! The pretend handlers of messages and the pretend mail provider: each does what makes one situation of the dashboard.
//!
//! What a message meets follows from the message alone (its body says `fate`), but for the handler that is away now and then.

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use semel_core::{Error, Kind, Result};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::Instant;

/// The handler of the search index is away for the first part of each round, after a moment at the start.
const ROUND: Duration = Duration::from_secs(30);
const AWAY: Duration = Duration::from_secs(6);
const WELL_AT_FIRST: Duration = Duration::from_secs(2);

/// The answer that asks for mails to be sent.
const INTENTS: &str = "application/vnd.semel.intents+json";

/// Serves handlers and provider until the task is dropped.
pub(super) async fn serve(address: std::net::SocketAddr) -> Result<()> {
    let failed =
        |e| Error::new(Kind::Unavailable, "the demo's handlers cannot listen").caused_by(e);
    let router = Router::new()
        .route("/handlers/{consumer}", post(handle))
        .route("/provider/mail", post(mail))
        .with_state(Instant::now());
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    axum::serve(listener, router).await.map_err(failed)
}

/// Whether the search index is away at this moment.
fn is_away(since_start: Duration) -> bool {
    let well = since_start.checked_sub(WELL_AT_FIRST);
    well.is_some_and(|well| well.as_millis() % ROUND.as_millis() < AWAY.as_millis())
}

async fn handle(
    State(started): State<Instant>,
    Path(consumer): Path<String>,
    body: Bytes,
) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    tokio::time::sleep(Duration::from_millis(15)).await;
    if consumer == "search-index" && is_away(started.elapsed()) {
        return failed(
            StatusCode::SERVICE_UNAVAILABLE,
            "the search index is being moved",
        );
    }
    match message["fate"].as_str() {
        Some("busy") => failed(StatusCode::LOCKED, "database is locked"),
        Some("broken") => failed(
            StatusCode::INTERNAL_SERVER_ERROR,
            "NullPointerException at InvoiceRenderer.line(InvoiceRenderer.java:212)",
        ),
        Some("rejected") => failed(
            StatusCode::UNPROCESSABLE_ENTITY,
            "expected a VAT number for customers in the EU, found none",
        ),
        Some("gone") => failed(StatusCode::GONE, "the account was closed"),
        // Longer than the consumer of payouts waits: whether the money moved is unknown.
        Some("silent") => std::future::pending().await,
        _ if consumer == "order-emails" => mails(&message),
        _ => StatusCode::NO_CONTENT.into_response(),
    }
}

/// What the handler of orders wants sent, once for each order.
fn mails(message: &Value) -> Response {
    let to = message["to"].as_str().unwrap_or("ada@example.org");
    let body = json!({
        "result": { "mails": 1 },
        "intents": [{
            "name": "confirmation",
            "target": "mail",
            "body": { "to": to, "subject": "Your order", "fate": message["mail"] },
        }],
    });
    ([(CONTENT_TYPE, INTENTS)], body.to_string()).into_response()
}

/// The provider takes most mails; some it refuses for good, and some addresses make it fail.
async fn mail(body: Bytes) -> Response {
    let mail: Value = serde_json::from_slice(&body).unwrap_or_default();
    match mail["fate"].as_str() {
        Some("bounced") => failed(StatusCode::BAD_REQUEST, "550 5.1.1 mailbox does not exist"),
        Some("greylisted") => failed(StatusCode::TOO_EARLY, "451 4.7.1 try again later"),
        _ => StatusCode::ACCEPTED.into_response(),
    }
}

fn failed(status: StatusCode, error: &str) -> Response {
    let body = json!({ "error": error }).to_string();
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_index_is_away_and_comes_back() {
        let away = |secs| is_away(Duration::from_secs(secs));
        assert!(!away(0) && away(2) && away(7) && !away(8) && !away(31) && away(32));
    }
}
