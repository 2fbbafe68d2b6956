//! What only Semel says: clients cannot say it, and do not hear what is meant for the guard.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use axum::routing::any;
use futures_util::stream;
use http_body_util::StreamBody;
use semel_core::{MemoryStore, Once};
use semel_http::rules::Mode;
use semel_http::{Rules, SemelLayer};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Answers with the names of Semel's headers that reached it, with a word and a trailer.
async fn handle(request: Request) -> Response<Body> {
    let seen = request.headers().iter().filter(|(name, _)| {
        let name = name.as_str();
        name.starts_with("semel") || name.starts_with("idempotent")
    });
    let seen: Vec<_> = seen
        .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
        .collect();
    let data = format!("saw [{}]", seen.join(" ")).into();
    let mut trailers = HeaderMap::new();
    trailers.insert("semel-outcome", "final".parse().unwrap());
    trailers.insert("x-sum", "42".parse().unwrap());
    let frames = [
        http_body::Frame::data(data),
        http_body::Frame::trailers(trailers),
    ];
    let frames = frames.map(Ok::<_, std::io::Error>);
    let response = Response::builder()
        .header("semel-outcome", "final")
        .header("trailer", "x-sum, semel-outcome");
    response
        .body(Body::new(StreamBody::new(stream::iter(frames))))
        .unwrap()
}

async fn serve(change: impl FnOnce(&mut Rules)) -> SocketAddr {
    let once = Once::new(MemoryStore::new());
    let mut rules = Rules::new("payments@1".parse().unwrap());
    change(&mut rules);
    let app = Router::new().route("/pay", any(handle));
    let app = app.layer(SemelLayer::new(&once, rules));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    addr
}

/// The whole answer, as it is on the wire.
async fn send(addr: SocketAddr, method: &str, more: &str) -> String {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let text = format!(
        "{method} /pay HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nTE: trailers\r\nContent-Length: 0\r\n\
         Semel-Fence: 999\r\nSemel_Fence: 999\r\nSemel-Attempt: 999\r\nSEMEL_ATTEMPT: 999\r\n\
         Idempotent_Replayed: 999\r\n{more}\r\n"
    );
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn on_every_way_through_the_layer() {
    let keyed = "Idempotency-Key: k\r\n";
    let observe = |rules: &mut Rules| rules.mode = Mode::Observe;
    let small = |rules: &mut Rules| rules.response_bytes_max = 3;
    for (name, addr, method, more, saw) in [
        ("no guard", serve(|_| {}).await, "GET", "", "saw []"),
        ("passed", serve(|_| {}).await, "POST", "", "saw []"),
        ("observed", serve(observe).await, "POST", keyed, "saw []"),
        (
            "guarded",
            serve(|_| {}).await,
            "POST",
            keyed,
            "saw [semel-attempt=1 semel-fence=",
        ),
        (
            "streamed",
            serve(small).await,
            "POST",
            keyed,
            "saw [semel-attempt=1 semel-fence=",
        ),
    ] {
        let answer = send(addr, method, more).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{name}: {answer}");
        assert!(
            answer.contains(saw) && !answer.contains("999"),
            "{name}: {answer}"
        );
        assert!(answer.contains("x-sum: 42"), "{name}: {answer}");
        // The list of trailers may name it; it is not said.
        assert!(!answer.contains("semel-outcome: "), "{name}: {answer}");
        if name == "guarded" {
            let replay = send(addr, method, more).await;
            assert!(replay.contains("idempotent-replayed: true"), "{replay}");
            assert!(replay.contains("x-sum: 42"), "{replay}");
            assert!(!replay.contains("semel-outcome"), "{replay}");
        }
    }
}
