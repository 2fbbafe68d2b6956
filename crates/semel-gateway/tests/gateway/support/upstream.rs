//! A service that does exactly what a test tells it, over a real socket.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::PATIENCE;
use super::message::Message;
use super::peer::Peer;

/// The shortest success.
pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// A response with a status, some headers and a body.
pub(crate) fn reply(status: &str, headers: &str, body: &str) -> String {
    let len = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {len}\r\n{headers}\r\n{body}")
}

/// A scripted service. It stops with the value.
pub(crate) struct Upstream {
    pub(crate) addr: SocketAddr,
    seen: Arc<Mutex<Vec<Message>>>,
    /// Connections accepted, and requests read to their end.
    counts: watch::Sender<(usize, usize)>,
    task: JoinHandle<()>,
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Upstream {
    /// Gives every request the same answer.
    pub(crate) async fn answering(answer: impl Into<String>) -> Self {
        let answer = answer.into();
        Self::start(move |_request, mut peer| {
            let answer = answer.clone();
            async move {
                peer.send(answer).await;
                Some(peer)
            }
        })
        .await
    }

    /// Lets `serve` answer every request; a connection that it gives back is read further.
    pub(crate) async fn start<F, Fut>(serve: F) -> Self
    where
        F: Fn(Message, Peer) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<Peer>> + Send + 'static,
    {
        let seen: Arc<Mutex<Vec<Message>>> = Arc::default();
        let (counts, log) = (watch::Sender::new((0, 0)), seen.clone());
        let (noted, serve) = (counts.clone(), Arc::new(serve));
        let (addr, task) = listen(counts.clone(), move |mut peer| {
            let (log, noted, serve) = (log.clone(), noted.clone(), serve.clone());
            async move {
                while let Some(request) = peer.request().await {
                    log.lock().unwrap().push(request.clone());
                    noted.send_modify(|(_, requests)| *requests += 1);
                    match serve(request, peer).await {
                        Some(kept) => peer = kept,
                        None => return,
                    }
                }
            }
        })
        .await;
        Self {
            addr,
            seen,
            counts,
            task,
        }
    }

    /// Lets `serve` have every connection from its first byte.
    pub(crate) async fn raw<F, Fut>(serve: F) -> Self
    where
        F: Fn(Peer) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let counts = watch::Sender::new((0, 0));
        let (addr, task) = listen(counts.clone(), serve).await;
        Self {
            addr,
            seen: Arc::default(),
            counts,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// How many requests were read to their end: how often the effect happened.
    pub(crate) fn effects(&self) -> usize {
        self.counts.borrow().1
    }

    pub(crate) fn connections(&self) -> usize {
        self.counts.borrow().0
    }

    /// Waits until this many requests were read.
    pub(crate) async fn arrived(&self, requests: usize) {
        let mut counts = self.counts.subscribe();
        let arrived = counts.wait_for(|(_, seen)| *seen >= requests);
        timeout(PATIENCE, arrived)
            .await
            .expect("more requests")
            .unwrap();
    }

    /// Waits until this many connections were made.
    pub(crate) async fn connected(&self, connections: usize) {
        let mut counts = self.counts.subscribe();
        let connected = counts.wait_for(|(seen, _)| *seen >= connections);
        timeout(PATIENCE, connected)
            .await
            .expect("more connections")
            .unwrap();
    }

    /// The requests so far.
    pub(crate) fn seen(&self) -> Vec<Message> {
        self.seen.lock().unwrap().clone()
    }

    /// The only request so far.
    pub(crate) fn only(&self) -> Message {
        let mut seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen.remove(0)
    }
}

async fn listen<F, Fut>(
    counts: watch::Sender<(usize, usize)>,
    serve: F,
) -> (SocketAddr, JoinHandle<()>)
where
    F: Fn(Peer) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        // Connections end with the service, so that a dropped one is really gone.
        let mut connections = tokio::task::JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).unwrap();
            counts.send_modify(|(connections, _)| *connections += 1);
            connections.spawn(serve(Peer::new(stream)));
        }
    });
    (addr, task)
}

/// An address where nobody listens. It stays taken, so that nobody else can begin to.
pub(crate) struct Nowhere {
    _socket: TcpSocket,
    pub(crate) url: String,
}

impl Nowhere {
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let url = format!("http://{}", socket.local_addr().unwrap());
        let _socket = socket;
        Self { _socket, url }
    }
}
