//! What is outside of every process that is killed: the source and the provider, over HTTP on loopback.

mod provider;
mod queue;

pub(crate) use queue::Delivered;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::routing::post;

use provider::Provider;
use queue::Queue;

use crate::workshop::eventually;

/// The path of the provider that intents are sent to.
pub(crate) const INTENTS: &str = "intents";
/// The path of the provider that handlers call themselves.
pub(crate) const CALLS: &str = "calls";

/// The source and the provider.
pub(crate) struct Outside {
    addr: SocketAddr,
    queue: Arc<Mutex<Queue>>,
    provider: Arc<Mutex<Provider>>,
    server: tokio::task::JoinHandle<()>,
}

impl Outside {
    pub(crate) async fn start() -> Self {
        let (queue, provider): (Arc<Mutex<Queue>>, Arc<Mutex<Provider>>) = Default::default();
        let router = Router::new()
            .route("/queue/next/{process}", post(queue::next))
            .route("/queue/ack", post(queue::ack))
            .with_state(queue.clone());
        let router = router.merge(
            Router::new()
                .route("/provider/{name}", post(provider::take))
                .with_state(provider.clone()),
        );
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self {
            addr,
            queue,
            provider,
            server,
        }
    }

    /// The base of all addresses here.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The address of a provider.
    pub(crate) fn provider(&self, name: &str) -> String {
        format!("{}/provider/{name}", self.url())
    }

    /// The source has a delivery for whoever asks next.
    pub(crate) fn deliver(&self, id: &str) {
        self.queue.lock().unwrap().deliver(id);
    }

    /// How many deliveries the source was not told about.
    pub(crate) fn unacked(&self) -> usize {
        self.queue.lock().unwrap().unacked()
    }

    /// Waits until the source was told about everything.
    pub(crate) async fn until_acked(&self) {
        let look = async || (self.unacked() == 0).then_some(());
        eventually("everything is acknowledged", look).await;
    }

    /// How many effects a provider has had.
    pub(crate) fn effects(&self, name: &str) -> usize {
        self.provider.lock().unwrap().effects(name)
    }

    /// How many requests a provider has seen.
    pub(crate) fn requests(&self, name: &str) -> usize {
        self.provider.lock().unwrap().requests(name)
    }
}

impl Drop for Outside {
    fn drop(&mut self) {
        self.server.abort();
    }
}
