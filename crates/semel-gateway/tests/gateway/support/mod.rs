//! What the tests are made of: scripted upstreams, raw clients, gateways, stores that fail.

pub(crate) mod frames;
pub(crate) mod gateway;
pub(crate) mod http2;
pub(crate) mod message;
pub(crate) mod peer;
pub(crate) mod tls;
pub(crate) mod upstream;

pub(crate) use gateway::{Running, config, start, start_on};
pub(crate) use peer::Peer;
pub(crate) use semel_testkit::gate::Gate;
pub(crate) use upstream::{OK, Upstream, reply};

/// How long a test waits for what must come before it fails; no test relies on how long anything takes.
pub(crate) const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// Waits until something is true that nobody announces.
pub(crate) async fn until(mut is_true: impl FnMut() -> bool) {
    let waiting = async {
        while !is_true() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .expect("it to become true");
}

/// A configuration whose only route guards POSTs to `/pay`, by rules that the test changes.
pub(crate) fn guarding(
    upstream: impl std::fmt::Display,
    change: impl FnOnce(&mut semel_http::Rules),
) -> semel_gateway::Config {
    let mut route = semel_gateway::Route::new(http::Method::POST, "/pay").unwrap();
    change(&mut route.rules);
    let mut config = config(upstream);
    config.routes = vec![route];
    config
}
