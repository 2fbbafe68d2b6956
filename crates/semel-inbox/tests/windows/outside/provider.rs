//! A pretend provider: the same key has one effect, however often it comes, and without a key every request has one.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use axum::extract::{Path, State};
use http::HeaderMap;

/// The books of all providers.
#[derive(Default)]
pub(super) struct Provider(HashMap<String, Book>);

#[derive(Default)]
struct Book {
    requests: usize,
    effects: HashSet<String>,
}

impl Provider {
    pub(super) fn effects(&self, name: &str) -> usize {
        self.0.get(name).map_or(0, |book| book.effects.len())
    }

    pub(super) fn requests(&self, name: &str) -> usize {
        self.0.get(name).map_or(0, |book| book.requests)
    }
}

/// `POST /provider/{name}`
pub(super) async fn take(
    State(provider): State<Arc<Mutex<Provider>>>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> String {
    let mut provider = provider.lock().unwrap();
    let book = provider.0.entry(name).or_default();
    book.requests += 1;
    let key = headers.get("idempotency-key");
    let key = key.map(|key| key.to_str().unwrap().to_owned());
    let key = key.unwrap_or_else(|| format!("request {}", book.requests));
    book.effects.insert(key);
    format!("{{\"effects\":{}}}", book.effects.len())
}
