//! A pretend payment provider with idempotency keys of its own, as real ones have them, and with their bad days: it is busy, or it
//! charges and its answer gets lost.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use bytes::Bytes;
use semel_testkit::random::Random;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What the provider was asked to charge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Charge {
    pub(crate) shop: String,
    pub(crate) order: String,
    pub(crate) cents: u64,
}

/// The provider's books: outside of the process that is killed.
#[derive(Debug, Clone)]
pub(crate) struct Provider(Arc<Mutex<Books>>);

#[derive(Debug)]
struct Books {
    by_key: HashMap<String, Charge>,
    calls: u64,
    answers_lost: u64,
    random: Random,
}

/// What the books say at the end.
#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) charges: Vec<Charge>,
    pub(crate) calls: u64,
    pub(crate) answers_lost: u64,
}

impl Provider {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Books {
            by_key: HashMap::new(),
            calls: 0,
            answers_lost: 0,
            random: Random::new(seed),
        })))
    }

    pub(crate) fn router(&self) -> Router {
        Router::new()
            .route("/charges", post(charge))
            .with_state(self.clone())
    }

    pub(crate) fn statement(&self) -> Statement {
        let books = self.books();
        Statement {
            charges: books.by_key.values().cloned().collect(),
            calls: books.calls,
            answers_lost: books.answers_lost,
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn charge(
    State(provider): State<Provider>,
    headers: HeaderMap,
    Json(charge): Json<Charge>,
) -> Response {
    let Some(key) = headers
        .get("idempotency-key")
        .and_then(|key| key.to_str().ok())
    else {
        return (StatusCode::BAD_REQUEST, "an idempotency key is required").into_response();
    };
    let mut books = provider.books();
    books.calls += 1;
    if books.random.chance(5) {
        return (
            StatusCode::SERVICE_UNAVAILABLE,
            [("retry-after", "0")],
            "busy",
        )
            .into_response();
    }
    match books.by_key.entry(key.to_owned()) {
        Entry::Occupied(known) if *known.get() != charge => {
            return (
                StatusCode::UNPROCESSABLE_ENTITY,
                "another charge had this key",
            )
                .into_response();
        }
        Entry::Occupied(_) => {}
        Entry::Vacant(free) => {
            free.insert(charge);
        }
    }
    if books.random.chance(5) {
        books.answers_lost += 1;
        return lost();
    }
    Json(json!({ "charged": true })).into_response()
}

/// An answer whose connection breaks in the middle.
fn lost() -> Response {
    let pieces = [Ok(Bytes::from("{")), Err(std::io::Error::other("cut"))];
    Response::new(Body::from_stream(futures_util::stream::iter(pieces)))
}
