//! The pretend payment service behind the gateway. It guards nothing by itself, takes its time, and is killed now and then.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use semel_core::{Error, Kind, Result};
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// How long an ordinary answer takes, and one to a slow transfer: long enough to be killed in the middle of it.
const USUAL_MS: u64 = 40;
const SLOW_MS: u64 = 1_500;

/// How often the service has done something, whatever it was.
type Effects = Arc<AtomicU64>;

/// Binds the address and gives what serves there.
pub(crate) async fn listen(
    address: SocketAddr,
) -> Result<(SocketAddr, impl Future<Output = ()> + Send + 'static)> {
    let failed = |e| Error::new(Kind::Unavailable, "the demo's service cannot listen").caused_by(e);
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    let router = Router::new()
        .route("/payments", post(pay))
        .route("/transfers", post(pay))
        .route("/refunds", post(pay))
        .fallback(|| async { answer(StatusCode::OK, &json!({ "ok": true })) })
        .with_state(Effects::default());
    let serving = async move {
        // It ends with the process.
        let _ = axum::serve(listener, router).await;
    };
    Ok((bound, serving))
}

async fn pay(State(effects): State<Effects>, body: Bytes) -> Response {
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let is_slow = asked["slow"].as_bool().unwrap_or(false);
    let ms = if is_slow { SLOW_MS } else { USUAL_MS };
    tokio::time::sleep(Duration::from_millis(ms)).await;
    let nth = effects.fetch_add(1, Ordering::Relaxed);
    match asked["amount"].as_u64() {
        Some(amount) if amount % 17 == 0 => answer(
            StatusCode::PAYMENT_REQUIRED,
            &json!({ "error": "card_declined", "amount": amount }),
        ),
        Some(amount) => answer(
            StatusCode::CREATED,
            &json!({ "id": format!("pay_{nth}"), "amount": amount, "status": "succeeded" }),
        ),
        None => answer(
            StatusCode::UNPROCESSABLE_ENTITY,
            &json!({ "error": "expected an amount in cents" }),
        ),
    }
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (
        status,
        [(CONTENT_TYPE, "application/json")],
        body.to_string(),
    )
        .into_response()
}
