//! The least that hyper needs to be a proxy: what comes in goes out, bodies streamed, connections kept.
//!
//! It does none of what a proxy must do in earnest: it takes no header away, has no time limit, no log. So it shows
//! what the libraries cost that the gateway is made of.

use std::net::SocketAddr;

use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, server};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use semel_core::{Error, Kind, Result};
use tokio::net::{TcpListener, TcpStream};

use crate::machine::io;

/// More idle connections than there are ever callers, so that none is opened twice.
const IDLE_MAX: usize = 1024;

type Client = legacy::Client<HttpConnector, Incoming>;

/// Serves until the process ends.
pub async fn serve(listen: SocketAddr, upstream: SocketAddr) -> Result<()> {
    let listener = TcpListener::bind(listen)
        .await
        .map_err(io("listening as a proxy"))?;
    let authority = Authority::try_from(upstream.to_string())
        .map_err(|e| Error::new(Kind::Internal, "an address must be an authority").caused_by(e))?;
    let client = client();
    loop {
        let (stream, _) = listener
            .accept()
            .await
            .map_err(io("accepting connections as a proxy"))?;
        // A connection that fails is its client's to notice.
        tokio::spawn(forward(stream, client.clone(), authority.clone()));
    }
}

fn client() -> Client {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    legacy::Client::builder(TokioExecutor::new())
        .pool_max_idle_per_host(IDLE_MAX)
        .build(connector)
}

async fn forward(stream: TcpStream, client: Client, upstream: Authority) -> hyper::Result<()> {
    // Without it the connection still works, only slower.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| pass(client.clone(), upstream.clone(), request));
    server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .await
}

async fn pass(
    client: Client,
    upstream: Authority,
    mut request: Request<Incoming>,
) -> std::result::Result<Response<Incoming>, legacy::Error> {
    *request.uri_mut() = moved(request.uri(), upstream);
    client.request(request).await
}

/// The same place on another host.
fn moved(uri: &Uri, host: Authority) -> Uri {
    let path = uri.path_and_query().cloned();
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Some(host);
    parts.path_and_query = path.or_else(|| Some(PathAndQuery::from_static("/")));
    Uri::from_parts(parts).expect("scheme, authority and path make a URI")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_and_query_move_to_the_upstream() {
        for (from, to) in [
            ("/payments?x=1", "http://127.0.0.1:80/payments?x=1"),
            ("http://a.example/y", "http://127.0.0.1:80/y"),
            ("http://a.example", "http://127.0.0.1:80/"),
        ] {
            let host = Authority::from_static("127.0.0.1:80");
            assert_eq!(moved(&from.parse().unwrap(), host), to);
        }
    }
}
