//! HTTP/2 at both ends, by hyper.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use semel_http::Body;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A client's end.
pub(crate) struct Client {
    sender: SendRequest<Body>,
    /// Ends when the connection does.
    pub(crate) connection: JoinHandle<bool>,
}

/// A response with all of its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) head: http::response::Parts,
    pub(crate) body: Bytes,
    pub(crate) trailers: Option<HeaderMap>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        Self::on(TcpStream::connect(address).await.unwrap()).await
    }

    pub(crate) async fn on<T>(io: T) -> Self
    where
        T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let io = TokioIo::new(io);
        let (sender, connection) = handshake(TokioExecutor::new(), io).await.unwrap();
        let connection = tokio::spawn(async move { connection.await.is_ok() });
        Self { sender, connection }
    }

    /// Waits for the head of a response only; dropped, it resets its stream.
    pub(crate) async fn begin(&self, request: Request<Body>) -> hyper::Result<Response<Incoming>> {
        self.sender.clone().send_request(request).await
    }

    pub(crate) async fn call(&self, request: Request<Body>) -> hyper::Result<Answer> {
        let response = self.sender.clone().send_request(request).await?;
        let (head, body) = response.into_parts();
        let collected = body.collect().await?;
        Ok(Answer {
            trailers: collected.trailers().cloned(),
            body: collected.to_bytes(),
            head,
        })
    }
}

/// A request that HTTP/2 can carry.
pub(crate) fn request(method: &str, path: &str, body: &str) -> Request<Body> {
    Request::builder()
        .method(method)
        .uri(format!("http://shop.example{path}"))
        .body(Body::from(Bytes::copy_from_slice(body.as_bytes())))
        .unwrap()
}

/// A service that speaks HTTP/2 and says what it saw. It stops with the value.
pub(crate) struct Upstream {
    pub(crate) addr: SocketAddr,
    pub(crate) connections: Arc<AtomicUsize>,
    pub(crate) requests: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Upstream {
    /// Over TLS if there is an acceptor.
    pub(crate) async fn start(tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let (connections, requests) =
            (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (connected, asked) = (connections.clone(), requests.clone());
        let task = tokio::spawn(async move {
            let mut serving = tokio::task::JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                connected.fetch_add(1, Ordering::SeqCst);
                let (tls, asked) = (tls.clone(), asked.clone());
                serving.spawn(async move {
                    match tls {
                        None => serve(tcp, asked).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(tcp).await {
                                serve(stream, asked).await;
                            }
                        }
                    }
                });
            }
        });
        Self {
            addr,
            connections,
            requests,
            task,
        }
    }
}

async fn serve<T>(io: T, asked: Arc<AtomicUsize>)
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(move |request| {
        asked.fetch_add(1, Ordering::SeqCst);
        echo(request)
    });
    let _ = http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(io), service)
        .await;
}

/// Says in headers what it saw, gives the body back, and ends with a trailer.
async fn echo(request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let (head, body) = request.into_parts();
    let body = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => Full::new(Bytes::from_static(b"broken"))
            .collect()
            .await
            .unwrap()
            .to_bytes(),
    };
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", body.len().into());
    let authority = head
        .uri
        .authority()
        .map_or("none", |authority| authority.as_str());
    let response = Response::builder()
        .header("x-version", format!("{:?}", head.version))
        .header("x-authority", authority)
        .header("x-path", head.uri.path_and_query().unwrap().as_str())
        .header("x-has-host", head.headers.contains_key("host").to_string())
        .header(
            "x-fence",
            head.headers.contains_key("semel-fence").to_string(),
        )
        .header("trailer", "x-sum");
    Ok(response.body(Body::whole(body, Some(trailers))).unwrap())
}
