//! A listener that runs for one test and answers with the path of each request.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use semel_listen::{Address, Drained, Handle, Listener, Peer, Settings, counted};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// How long a test waits for what must come before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Running {
    pub(crate) address: Address,
    pub(crate) handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Drained>,
}

pub(crate) fn start(settings: Settings) -> Running {
    start_at(&"127.0.0.1:0".parse().unwrap(), settings)
}

pub(crate) fn start_at(address: &Address, settings: Settings) -> Running {
    let listener = Listener::bind("test", address, settings).unwrap();
    let (address, handle) = (listener.address().clone(), listener.handle());
    let (stop, stopped) = oneshot::channel::<()>();
    let service = |peer: Arc<Peer>| counted(&peer, service_fn(answer));
    let task = tokio::spawn(listener.serve(service, async { drop(stopped.await) }));
    Running {
        address,
        handle,
        stop: Some(stop),
        task,
    }
}

/// `/problem` and `/broken` are answered as their names say, everything else with its path.
async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let builder = Response::builder();
    let builder = match path.as_str() {
        "/problem" => builder
            .status(409)
            .header("content-type", "application/problem+json"),
        "/broken" => builder.status(500),
        _ => builder,
    };
    Ok(builder.body(Full::from(path)).unwrap())
}

impl Running {
    pub(crate) fn tcp(&self) -> SocketAddr {
        self.address.tcp().unwrap()
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.tcp()).await.unwrap()
    }

    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
    }

    pub(crate) async fn drained(mut self) -> Drained {
        self.stop();
        self.task.await.unwrap()
    }
}

/// Asks on a connection that ends with the answer, and gives the whole answer.
pub(crate) async fn get(mut stream: impl AsyncRead + AsyncWrite + Unpin, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let asked = async {
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer).await;
        answer
    };
    tokio::time::timeout(PATIENCE, asked).await.unwrap()
}

/// Waits until something is true that is not announced.
pub(crate) async fn until(mut is_true: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_true().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap();
}
