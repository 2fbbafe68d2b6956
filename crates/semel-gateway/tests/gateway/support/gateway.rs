//! A gateway that runs for one test.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use semel_core::{MemoryStore, Once, Store};
use semel_gateway::{Config, Drained, Gateway, Handle, Upstream};
use semel_http::event::Nobody;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::message::Message;
use super::peer::Peer;

/// A configuration in front of `upstream`, on any free port.
pub(crate) fn config(upstream: impl Display) -> Config {
    let mut config = Config::new(Upstream::new(upstream.to_string().parse().unwrap()));
    config.listen = "127.0.0.1:0".parse().unwrap();
    config
}

/// A gateway that serves.
pub(crate) struct Running {
    pub(crate) addr: SocketAddr,
    pub(crate) handle: Handle,
    pub(crate) store: Arc<dyn Store>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Drained>,
}

/// A gateway with a store in memory.
pub(crate) fn start(config: Config) -> Running {
    start_on(config, Arc::new(MemoryStore::new()))
}

/// A gateway with this store.
pub(crate) fn start_on(config: Config, store: Arc<dyn Store>) -> Running {
    let once = Once::on(store.clone());
    let gateway = Gateway::bind(config, once, Arc::new(Nobody)).unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let (addr, handle) = (gateway.address().tcp().unwrap(), gateway.handle());
    let task = tokio::spawn(gateway.serve(async move {
        let _ = stopped.await;
    }));
    Running {
        addr,
        handle,
        store,
        stop: Some(stop),
        task,
    }
}

impl Running {
    pub(crate) async fn connect(&self) -> Peer {
        Peer::connect(self.addr).await
    }

    /// Sends a request on a connection of its own.
    pub(crate) async fn call(&self, request: impl AsRef<[u8]>) -> Message {
        let mut peer = self.connect().await;
        peer.send(request).await;
        peer.response().await.expect("a response")
    }

    /// Posts a JSON body with a key.
    pub(crate) async fn post(&self, path: &str, key: &str, body: &str) -> Message {
        self.call(post(path, key, body)).await
    }

    /// Begins to shut down; [`Running::drained`] waits for the end of it.
    pub(crate) fn stop(&mut self) {
        let _ = self.stop.take().expect("stopped only once").send(());
    }

    pub(crate) async fn drained(self) -> Drained {
        self.task.await.unwrap()
    }
}

/// A POST with a JSON body and a key.
pub(crate) fn post(path: &str, key: &str, body: &str) -> String {
    let len = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: shop.example\r\nContent-Type: application/json\r\n\
         Idempotency-Key: {key}\r\nContent-Length: {len}\r\n\r\n{body}"
    )
}

/// A GET on a connection that stays open.
pub(crate) fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: shop.example\r\n\r\n")
}
