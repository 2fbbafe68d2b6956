//! TLS towards clients and towards upstreams.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use semel_core::{MemoryStore, Once};
use semel_gateway::{Gateway, Kind, Tls};
use semel_http::event::Nobody;

use crate::support::gateway::{get, post};
use crate::support::http2::{self, Client};
use crate::support::tls::Certificate;
use crate::support::{OK, Peer, Upstream, config, start};

fn server_tls(certificate: &Certificate) -> Option<Tls> {
    Some(Tls::new(certificate.cert.clone(), certificate.key.clone()))
}

#[tokio::test]
async fn clients_speak_http1_or_http2_over_tls() {
    let upstream = Upstream::answering(OK).await;
    let certificate = Certificate::new();
    let mut config = config(upstream.url());
    config.tls = server_tls(&certificate);
    let gateway = start(config);

    let stream = certificate
        .connect(gateway.addr, &["http/1.1"])
        .await
        .unwrap();
    let mut peer = Peer::new(stream);
    peer.send(get("/one")).await;
    assert_eq!(peer.response().await.unwrap().text(), "ok");

    let stream = certificate.connect(gateway.addr, &["h2"]).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let client = Client::on(stream).await;
    let answer = client
        .call(http2::request("GET", "/two", ""))
        .await
        .unwrap();
    assert_eq!(&answer.body[..], b"ok");
    for request in upstream.seen() {
        assert_eq!(request.header("x-forwarded-proto"), Some("https"));
    }
}

#[tokio::test]
async fn upstreams_speak_http2_over_tls_if_they_can() {
    let certificate = Certificate::new();
    let upstream = http2::Upstream::start(Some(certificate.acceptor(&["h2", "http/1.1"]))).await;
    let mut config = config(format!("https://localhost:{}", upstream.addr.port()));
    config.upstream.ca = Some(certificate.cert.clone());
    let gateway = start(config);
    for _ in 0..3 {
        let response = gateway.call(get("/x?y=1")).await;
        assert_eq!(response.header("x-version"), Some("HTTP/2.0"));
        assert_eq!(response.header("x-authority"), Some("shop.example"));
        assert_eq!(response.header("x-has-host"), Some("false"));
        assert_eq!(response.header("x-path"), Some("/x?y=1"));
    }
    assert_eq!(upstream.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_upstream_that_cannot_be_trusted_is_not_reached_and_nothing_is_kept() {
    let (certificate, other) = (Certificate::new(), Certificate::new());
    let upstream = http2::Upstream::start(Some(certificate.acceptor(&["h2"]))).await;
    let mut config = config(format!("https://localhost:{}", upstream.addr.port()));
    config.upstream.ca = Some(other.cert.clone());
    let gateway = start(config.clone());
    let expected = (502, "upstream-unreachable".to_owned());
    assert_eq!(gateway.call(get("/")).await.problem(), expected);
    assert_eq!(gateway.post("/pay", "k", "{}").await.problem(), expected);

    // The claim was released: once the upstream can be trusted, the same key runs.
    config.upstream.ca = Some(certificate.cert.clone());
    gateway.handle.reload(&config).unwrap();
    let response = gateway.post("/pay", "k", "{}").await;
    assert_eq!((response.status(), response.is_replay()), (200, false));
    assert_eq!(upstream.requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_new_certificate_is_used_after_a_reload() {
    let upstream = Upstream::answering(OK).await;
    let (old, new) = (Certificate::new(), Certificate::new());
    let mut config = config(upstream.url());
    config.tls = server_tls(&old);
    let gateway = start(config.clone());
    let mut before = Peer::new(old.connect(gateway.addr, &[]).await.unwrap());
    config.tls = server_tls(&new);
    gateway.handle.reload(&config).unwrap();
    assert!(old.connect(gateway.addr, &[]).await.is_err());
    let mut after = Peer::new(new.connect(gateway.addr, &[]).await.unwrap());
    for peer in [&mut before, &mut after] {
        peer.send(post("/", "k", "{}")).await;
        assert_eq!(peer.response().await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let (certificate, other) = (Certificate::new(), Certificate::new());
    let bind = |cert: &PathBuf, key: &PathBuf, ca: Option<PathBuf>| {
        let mut config = config(if ca.is_some() {
            "https://a"
        } else {
            "http://a"
        });
        config.upstream.ca = ca;
        config.tls = Some(Tls::new(cert.clone(), key.clone()));
        let once = Once::new(MemoryStore::new());
        Gateway::bind(config, once, std::sync::Arc::new(Nobody)).unwrap_err()
    };
    let gone = PathBuf::from("/nowhere/cert.pem");
    for (error, named) in [
        (bind(&gone, &certificate.key, None), &gone),
        (bind(&certificate.cert, &gone, None), &gone),
        (bind(&certificate.cert, &other.key, None), &certificate.cert),
        (
            bind(&certificate.key, &certificate.key, None),
            &certificate.key,
        ),
        (
            bind(&certificate.cert, &certificate.key, Some(gone.clone())),
            &gone,
        ),
        (
            bind(&certificate.cert, &certificate.key, Some(other.key.clone())),
            &other.key,
        ),
    ] {
        assert_eq!(error.kind(), Kind::Tls, "{error}");
        assert!(
            error.to_string().contains(&named.display().to_string()),
            "{error}"
        );
    }
}
