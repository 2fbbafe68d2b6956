//! Scratch.
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use std::{convert::Infallible, net::SocketAddr, sync::Arc, time::Duration};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn upstream() -> SocketAddr {
    let l = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let a = l.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (s, _) = l.accept().await.unwrap();
            s.set_nodelay(true).unwrap();
            tokio::spawn(async move {
                let svc = service_fn(|_r: Request<Incoming>| async {
                    Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(&[b'x'; 300]))))
                });
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(s), svc)
                    .await;
            });
        }
    });
    a
}
async fn minimal(up: SocketAddr) -> SocketAddr {
    let l = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let a = l.local_addr().unwrap();
    let mut c = HttpConnector::new();
    c.set_nodelay(true);
    let client: Client<_, Incoming> = Client::builder(TokioExecutor::new()).build(c);
    tokio::spawn(async move {
        loop {
            let (s, _) = l.accept().await.unwrap();
            s.set_nodelay(true).unwrap();
            let client = client.clone();
            tokio::spawn(async move {
                let svc = service_fn(move |mut r: Request<Incoming>| {
                    let client = client.clone();
                    async move {
                        let pq = r.uri().path_and_query().cloned().unwrap();
                        *r.uri_mut() = http::Uri::builder()
                            .scheme("http")
                            .authority(up.to_string())
                            .path_and_query(pq)
                            .build()
                            .unwrap();
                        client.request(r).await
                    }
                });
                let _ = auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(s), svc)
                    .await;
            });
        }
    });
    a
}
async fn load(
    a: SocketAddr,
    conns: usize,
    dur: Duration,
    req: Arc<dyn Fn(u64) -> String + Send + Sync>,
) -> f64 {
    let end = tokio::time::Instant::now() + dur;
    let mut ts = Vec::new();
    for c in 0..conns {
        let req = req.clone();
        ts.push(tokio::spawn(async move {
            let mut s = TcpStream::connect(a).await.unwrap();
            s.set_nodelay(true).unwrap();
            let mut n = 0u64;
            let mut buf = vec![0u8; 4096];
            while tokio::time::Instant::now() < end {
                s.write_all(req((c as u64) << 32 | n).as_bytes())
                    .await
                    .unwrap();
                let mut got = 0;
                loop {
                    let k = s.read(&mut buf[got..]).await.unwrap();
                    assert!(k > 0);
                    got += k;
                    if let Some(p) = buf[..got].windows(4).position(|w| w == b"\r\n\r\n") {
                        let head = std::str::from_utf8(&buf[..p]).unwrap().to_ascii_lowercase();
                        assert!(head.starts_with("http/1.1 200"), "{head}");
                        let cl: usize = head
                            .split("content-length: ")
                            .nth(1)
                            .unwrap()
                            .split("\r\n")
                            .next()
                            .unwrap()
                            .parse()
                            .unwrap();
                        if got >= p + 4 + cl {
                            break;
                        }
                    }
                }
                n += 1;
            }
            n
        }));
    }
    let mut t = 0;
    for x in ts {
        t += x.await.unwrap();
    }
    t as f64
}
fn cpu() -> f64 {
    let s = std::fs::read_to_string("/proc/self/stat").unwrap();
    let f: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
    (f[11].parse::<f64>().unwrap() + f[12].parse::<f64>().unwrap()) * 10_000.0
}
async fn cost(
    a: SocketAddr,
    conns: usize,
    dur: Duration,
    req: Arc<dyn Fn(u64) -> String + Send + Sync>,
) -> f64 {
    let c = cpu();
    let n = load(a, conns, dur, req).await;
    (cpu() - c) / n
}
#[tokio::main]
async fn main() {
    let which = std::env::args().nth(1).unwrap_or_default();
    let up = upstream().await;
    let min = minimal(up).await;
    let mut cfg = semel_gateway::Config::new(semel_gateway::Upstream::new(
        format!("http://{up}").parse().unwrap(),
    ));
    cfg.listen = "127.0.0.1:0".parse().unwrap();
    let gw = semel_gateway::Gateway::bind(
        cfg,
        semel_core::Once::new(semel_core::MemoryStore::new()),
        Arc::new(semel_http::event::Nobody),
    )
    .unwrap();
    let ours = gw.local_addr();
    tokio::spawn(gw.serve(std::future::pending()));
    let get: Arc<dyn Fn(u64) -> String + Send + Sync> = Arc::new(|_| {
        "GET /x/y?z=1 HTTP/1.1\r\nHost: localhost\r\nUser-Agent: probe\r\nAccept: */*\r\n\r\n"
            .into()
    });
    let post: Arc<dyn Fn(u64) -> String + Send + Sync> = Arc::new(|n| {
        format!(
            "POST /pay HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: k{n}\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{{\"amount\":123456789}}"
        )
    });
    let same: Arc<dyn Fn(u64) -> String + Send + Sync> = Arc::new(|n| {
        format!(
            "POST /pay HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: k{}\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{{\"amount\":123456789}}",
            n >> 32
        )
    });
    if which == "min" {
        let c = cpu();
        let n = load(min, 64, Duration::from_secs(20), get).await;
        println!("{n} {}", (cpu() - c) / n);
        return;
    }
    if which == "ours" {
        let c = cpu();
        let n = load(ours, 64, Duration::from_secs(20), get).await;
        println!("{n} {}", (cpu() - c) / n);
        return;
    }
    if which == "x" {
        println!("{}", load(ours, 64, Duration::from_secs(20), get).await);
        return;
    }
    for conns in [16, 64, 256] {
        for round in 0..4u64 {
            let d = Duration::from_millis(1500);
            let post: Arc<dyn Fn(u64) -> String + Send + Sync> = Arc::new(move |n| {
                format!(
                    "POST /pay HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: k{conns}-{round}-{n}\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n{{\"amount\":123456789}}"
                )
            });
            let direct = cost(up, conns, d, get.clone()).await;
            let b = cost(min, conns, d, get.clone()).await;
            let o = cost(ours, conns, d, get.clone()).await;
            let f = cost(ours, conns, d, post.clone()).await;
            let r = cost(ours, conns, d, same.clone()).await;
            println!(
                "conns {conns} round {round}: us/req direct {direct:.1} minimal {b:.1} ours {o:.1} (proxy part {:.1} vs {:.1}) first(mem) {f:.1} replay {r:.1}",
                b - direct,
                o - direct
            );
        }
    }
}
