//! A payment service that takes effect once, however often a payment is sent.
//!
//! ```sh
//! cargo run -p axum-payments &
//! curl -i http://127.0.0.1:8080/payments -H 'Idempotency-Key: order-17' -d '{"cents": 4200}'
//! curl -i http://127.0.0.1:8080/payments -H 'Idempotency-Key: order-17' -d '{"cents": 4200}'
//! ```
//!
//! The second answer is the first one again, with `Idempotent-Replayed: true`; the ledger has one line.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use semel::Once;
use semel::http::rules::Missing;
use semel::http::{Rules, SemelLayer};
use serde::Deserialize;
use serde_json::{Value, json};

static CHARGES: AtomicU64 = AtomicU64::new(0);

#[derive(Deserialize)]
struct Payment {
    cents: u64,
}

/// The effect: it must not happen twice.
async fn charge(Json(payment): Json<Payment>) -> (StatusCode, Json<Value>) {
    let number = CHARGES.fetch_add(1, Ordering::SeqCst) + 1;
    let receipt = json!({ "charge": number, "cents": payment.cents });
    (StatusCode::CREATED, Json(receipt))
}

async fn count() -> Json<Value> {
    Json(json!({ "charges": CHARGES.load(Ordering::SeqCst) }))
}

fn app(once: &Once) -> Result<Router, semel::Error> {
    let mut rules = Rules::new("payments@1".parse()?);
    rules.missing = Missing::Require;
    Ok(Router::new()
        .route("/payments", post(charge))
        .layer(SemelLayer::new(once, rules))
        .route("/charges", get(count)))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let once = Once::new(semel::sqlite::Config::new("payments.db").open()?);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    axum::serve(listener, app(&once)?)
        .with_graceful_shutdown(stop)
        .await?;
    // Runs go on when their clients leave: wait for them, or each deploy leaves unknown outcomes.
    let left = once.drain(Duration::from_secs(30)).await;
    match left {
        0 => Ok(()),
        left => Err(format!("{left} runs did not end in time, their outcomes are unknown").into()),
    }
}
