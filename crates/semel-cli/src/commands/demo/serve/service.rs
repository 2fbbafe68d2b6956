//! The pretend payment service behind the gateway. It guards nothing by itself, takes its time, and is killed now and then.

use std::io::ErrorKind;
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

/// How often the service asks for its port, and how long after one another.
const BIND_MAX: u32 = 50;
const BIND_EVERY: Duration = Duration::from_millis(100);

/// How often the service has done something, whatever it was.
type Effects = Arc<AtomicU64>;

/// Binds the address and gives what serves there.
pub(crate) async fn listen(
    address: SocketAddr,
) -> Result<(SocketAddr, impl Future<Output = ()> + Send + 'static)> {
    let failed = |e| Error::new(Kind::Unavailable, "the demo's service cannot listen").caused_by(e);
    let listener = bind(address).await.map_err(failed)?;
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

/// Between a kill and the next start the port belongs to none, and may be taken for a moment.
async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    for _ in 1..BIND_MAX {
        match TcpListener::bind(address).await {
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                tokio::time::sleep(BIND_EVERY).await;
            }
            bound => return bound,
        }
    }
    TcpListener::bind(address).await
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_port_that_is_taken_for_a_moment_is_waited_for() {
        let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = taken.local_addr().unwrap();
        let binding = tokio::spawn(bind(address));
        // The first try fails before the port is free.
        tokio::task::yield_now().await;
        assert!(!binding.is_finished());
        drop(taken);
        let bound = binding.await.unwrap().unwrap();
        assert_eq!(bound.local_addr().unwrap(), address);
    }
}
