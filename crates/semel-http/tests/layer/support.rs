//! A payment service behind the layer, and a client that sees every byte.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use semel_core::Once;
use semel_http::{Budgets, RequestObserver, Rules, SemelLayer};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// A service that counts its effects. The store lives as long as it does.
pub(crate) struct Service {
    pub(crate) addr: SocketAddr,
    pub(crate) shop: Arc<Shop>,
    pub(crate) once: Once,
    _dir: TempDir,
}

/// What the service did.
pub(crate) struct Shop {
    pub(crate) effects: AtomicUsize,
    /// `/slow` takes a permit before it answers.
    pub(crate) permits: Semaphore,
    pub(crate) began: Semaphore,
}

impl Service {
    pub(crate) async fn start(change: impl FnOnce(&mut Rules)) -> Self {
        Self::watched(change, semel_http::event::Nobody).await
    }

    pub(crate) async fn watched(
        change: impl FnOnce(&mut Rules),
        watch: impl RequestObserver,
    ) -> Self {
        Self::on(|store| store, change, watch).await
    }

    /// The same with something around the store.
    pub(crate) async fn on<S: semel_core::Store>(
        around: impl FnOnce(semel_sqlite::SqliteStore) -> S,
        change: impl FnOnce(&mut Rules),
        watch: impl RequestObserver,
    ) -> Self {
        Self::with(around, change, |layer| layer.watched_by(watch)).await
    }

    /// The same within these budgets.
    pub(crate) async fn within(change: impl FnOnce(&mut Rules), budgets: Budgets) -> Self {
        Self::with(|store| store, change, |layer| layer.within(budgets)).await
    }

    async fn with<S: semel_core::Store>(
        around: impl FnOnce(semel_sqlite::SqliteStore) -> S,
        change: impl FnOnce(&mut Rules),
        settled: impl FnOnce(SemelLayer) -> SemelLayer,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = semel_sqlite::Config::new(dir.path().join("semel.db"))
            .open()
            .unwrap();
        let once = Once::new(around(store));
        let mut rules = Rules::new("payments@1".parse().unwrap());
        change(&mut rules);
        let shop = Arc::new(Shop {
            effects: AtomicUsize::new(0),
            permits: Semaphore::new(0),
            began: Semaphore::new(0),
        });
        let app = app(shop.clone()).layer(settled(SemelLayer::new(&once, rules)));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
        Self {
            addr,
            shop,
            once,
            _dir: dir,
        }
    }

    pub(crate) fn effects(&self) -> usize {
        self.shop.effects.load(Ordering::SeqCst)
    }

    /// One request on a connection of its own.
    pub(crate) async fn send(&self, request: &Asked<'_>) -> Answer {
        let mut stream = TcpStream::connect(self.addr).await.unwrap();
        stream.write_all(request.text().as_bytes()).await.unwrap();
        Answer::read(&mut stream).await
    }

    /// POST with a key and a body.
    pub(crate) async fn pay(&self, key: &str, body: &str) -> Answer {
        self.send(&Asked::pay(key, body)).await
    }
}

fn app(shop: Arc<Shop>) -> Router {
    Router::new()
        .route("/pay", post(pay))
        .route("/slow", post(slow))
        .route("/panic", post(panicking))
        .with_state(shop)
}

/// Does what the headers of the request ask for, and says how often it did anything.
async fn pay(State(shop): State<Arc<Shop>>, headers: HeaderMap, body: Bytes) -> Response {
    let nth = shop.effects.fetch_add(1, Ordering::SeqCst) + 1;
    let asked = |name: &str| Some(headers.get(name)?.to_str().unwrap().to_owned());
    let status = asked("x-status").map_or(201, |status| status.parse().unwrap());
    let text = match asked("x-bytes") {
        Some(bytes) => "x".repeat(bytes.parse().unwrap()),
        None => format!("effect {nth} of {}", String::from_utf8_lossy(&body)),
    };
    let text = asked("x-json").unwrap_or(text);
    let mut response = (StatusCode::from_u16(status).unwrap(), text).into_response();
    let headers = response.headers_mut();
    for cookie in ["a=1", "b=2"] {
        headers.append("set-cookie", cookie.parse().unwrap());
        headers.append("x-repeated", cookie.parse().unwrap());
    }
    if let Some(outcome) = asked("x-outcome") {
        headers.insert("semel-outcome", outcome.parse().unwrap());
    }
    if let Some(after) = asked("x-retry-after") {
        headers.insert("retry-after", after.parse().unwrap());
    }
    if asked("x-forged").is_some() {
        headers.insert("semel-redacted", "body".parse().unwrap());
    }
    if let Some(bytes) = asked("x-large") {
        let large = "y".repeat(bytes.parse().unwrap());
        headers.insert("a-large", large.parse().unwrap());
        headers.insert("x-after-large", "kept".parse().unwrap());
        headers.insert("location", "/pay/1".parse().unwrap());
    }
    response
}

async fn slow(State(shop): State<Arc<Shop>>, headers: HeaderMap) -> Response {
    shop.began.add_permits(1);
    shop.permits.acquire().await.unwrap().forget();
    shop.effects.fetch_add(1, Ordering::SeqCst);
    let mut response = "slowly done".into_response();
    if let Some(outcome) = headers.get("x-outcome") {
        response
            .headers_mut()
            .insert("semel-outcome", outcome.clone());
    }
    response
}

async fn panicking(State(shop): State<Arc<Shop>>) -> &'static str {
    shop.effects.fetch_add(1, Ordering::SeqCst);
    panic!("the service has a bug")
}

/// A request.
#[derive(Clone)]
pub(crate) struct Asked<'a> {
    pub(crate) path: &'a str,
    pub(crate) headers: Vec<(&'a str, &'a str)>,
    pub(crate) body: &'a str,
}

impl<'a> Asked<'a> {
    pub(crate) fn pay(key: &'a str, body: &'a str) -> Self {
        Self {
            path: "/pay",
            headers: vec![("Idempotency-Key", key)],
            body,
        }
    }

    /// A request without a key in a header.
    pub(crate) fn plain(body: &'a str) -> Self {
        Self {
            path: "/pay",
            headers: vec![],
            body,
        }
    }

    pub(crate) fn at(mut self, path: &'a str) -> Self {
        self.path = path;
        self
    }

    pub(crate) fn with(mut self, name: &'a str, value: &'a str) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn text(&self) -> String {
        let fields = self.headers.iter().map(|(n, v)| format!("{n}: {v}\r\n"));
        let fields: String = fields.collect();
        let (path, length, body) = (self.path, self.body.len(), self.body);
        let host = match self.headers.iter().any(|(name, _)| *name == "Host") {
            true => "",
            false => "Host: shop\r\n",
        };
        format!(
            "POST {path} HTTP/1.1\r\n{host}Connection: close\r\n{fields}\
             Content-Length: {length}\r\n\r\n{body}"
        )
    }
}

/// A response as it came.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) async fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).await.unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text
            .split_once("\r\n\r\n")
            .unwrap_or_else(|| panic!("no head: {text:?}"));
        let mut lines = head.lines();
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let field = |line: &str| {
            let (name, value) = line.split_once(": ").unwrap();
            (name.to_owned(), value.to_owned())
        };
        Self {
            status: status.parse().unwrap(),
            headers: lines.map(field).collect(),
            body: body.to_owned(),
        }
    }

    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        let named = self.headers.iter().filter(|(found, _)| found == name);
        named.map(|(_, value)| value.as_str()).collect()
    }

    pub(crate) fn is_replay(&self) -> bool {
        self.all("idempotent-replayed") == ["true"]
    }

    /// The name of the problem that it is.
    pub(crate) fn problem(&self) -> String {
        assert_eq!(
            self.all("content-type"),
            ["application/problem+json"],
            "{self:?}"
        );
        let document: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        let name = document["type"].as_str().unwrap();
        let name = name.strip_prefix("urn:semel:problem:").unwrap();
        // What every problem of every port has.
        let page = format!("/docs/problems/{name}.md>; rel=\"describedby\"");
        assert!(self.all("link")[0].ends_with(&page), "{self:?}");
        assert!(document["ran"].is_string(), "{self:?}");
        let challenged = !self.all("www-authenticate").is_empty();
        assert_eq!(challenged, self.status == 401, "{self:?}");
        name.to_owned()
    }
}
