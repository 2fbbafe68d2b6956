//! The proxy does to connections what it says, and nothing else.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use semel_testkit::proxy::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A server that answers each byte by eight of the same, and counts what it was asked.
async fn server() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let addr = listener.local_addr().expect("an address");
    let served = Arc::new(AtomicUsize::new(0));
    let count = served.clone();
    tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.expect("a client");
            let count = count.clone();
            tokio::spawn(async move {
                while let Ok(byte) = client.read_u8().await {
                    count.fetch_add(1, Ordering::SeqCst);
                    if client.write_all(&[byte; 8]).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    (addr, served)
}

/// Asks once; what came back until there were eight bytes or the connection ended.
async fn ask(client: &mut TcpStream, byte: u8) -> Vec<u8> {
    let mut answer = Vec::new();
    if client.write_all(&[byte]).await.is_err() {
        return answer;
    }
    while answer.len() < 8 {
        let mut chunk = [0; 8];
        match client.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(read) => answer.extend_from_slice(&chunk[..read]),
        }
    }
    answer
}

async fn through(proxy: &Proxy) -> TcpStream {
    TcpStream::connect(proxy.addr())
        .await
        .expect("the proxy accepts")
}

/// A connection that has been used.
async fn warm(proxy: &Proxy) -> TcpStream {
    let mut client = through(proxy).await;
    assert_eq!(ask(&mut client, b'w').await, b"wwwwwwww");
    client
}

#[tokio::test]
async fn everything_passes_until_it_is_told_otherwise() {
    let (target, served) = server().await;
    let proxy = Proxy::start(target).await;
    let mut client = warm(&proxy).await;
    assert_eq!(ask(&mut client, b'a').await, b"aaaaaaaa");
    assert_eq!(served.load(Ordering::SeqCst), 2);
    drop(client);
    let counts = proxy.until(|counts| counts.open == 0).await;
    assert_eq!((counts.connections, counts.cut), (1, 0));
}

#[tokio::test]
async fn a_reply_is_cut_in_the_middle_once_per_connection() {
    let (target, _) = server().await;
    let proxy = Proxy::start(target).await;
    let mut clients = [warm(&proxy).await, warm(&proxy).await];
    proxy.cut_after(11);
    for client in &mut clients {
        assert_eq!(ask(client, b'a').await, b"aaaaaaaa");
        assert_eq!(ask(client, b'b').await, b"bbb");
    }
    warm(&proxy).await;
    let counts = proxy.until(|counts| counts.cut == 2).await;
    assert_eq!((counts.connections, counts.swallowed), (3, 10));
}

#[tokio::test]
async fn a_reply_that_fits_the_limit_is_not_cut() {
    let (target, _) = server().await;
    let proxy = Proxy::start(target).await;
    let mut client = warm(&proxy).await;
    proxy.cut_after(8);
    assert_eq!(ask(&mut client, b'a').await, b"aaaaaaaa");
    proxy.resume();
    assert_eq!(ask(&mut client, b'b').await, b"bbbbbbbb");
}

#[tokio::test]
async fn with_a_limit_of_zero_the_request_is_served_and_its_answer_is_lost() {
    let (target, served) = server().await;
    let proxy = Proxy::start(target).await;
    let mut client = warm(&proxy).await;
    proxy.cut_after(0);
    assert_eq!(ask(&mut client, b'a').await, b"");
    assert_eq!(served.load(Ordering::SeqCst), 2);
    warm(&proxy).await;
}

#[tokio::test]
async fn held_replies_are_lost_and_their_connections_cut_when_it_ends() {
    let (target, served) = server().await;
    let proxy = Proxy::start(target).await;
    let (mut client, mut idle) = (warm(&proxy).await, warm(&proxy).await);
    proxy.hold_replies();
    let mut newcomer = through(&proxy).await;
    let asking = async { tokio::join!(ask(&mut client, b'a'), ask(&mut newcomer, b'b')) };
    let ending = async {
        proxy.until(|counts| counts.swallowed == 16).await;
        assert_eq!(proxy.counts().cut, 0);
        proxy.resume();
    };
    let ((lost, also_lost), ()) = tokio::join!(asking, ending);
    assert_eq!((lost, also_lost), (vec![], vec![]));
    assert_eq!(served.load(Ordering::SeqCst), 4);
    assert_eq!(ask(&mut idle, b'c').await, b"cccccccc");
}

#[tokio::test]
async fn nothing_passes_while_it_is_stalled_and_everything_afterwards() {
    let (target, served) = server().await;
    let proxy = Proxy::start(target).await;
    let mut client = warm(&proxy).await;
    proxy.stall();
    client.write_all(b"a").await.unwrap();
    let mut newcomer = through(&proxy).await;
    newcomer.write_all(b"b").await.unwrap();
    proxy.until(|counts| counts.open == 2).await;
    assert_eq!(served.load(Ordering::SeqCst), 1);
    proxy.resume();
    let mut answer = [0; 8];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"aaaaaaaa");
    newcomer.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"bbbbbbbb");
}

#[tokio::test]
async fn all_connections_are_cut_at_once_even_stalled_ones() {
    let (target, _) = server().await;
    let proxy = Proxy::start(target).await;
    let mut clients = [warm(&proxy).await, warm(&proxy).await];
    proxy.stall();
    proxy.cut_all();
    for client in &mut clients {
        assert_eq!(ask(client, b'a').await, b"");
    }
    assert_eq!(proxy.until(|counts| counts.open == 0).await.cut, 2);
    proxy.resume();
    warm(&proxy).await;
}

#[tokio::test]
async fn refused_connections_are_closed_and_open_ones_go_on() {
    let (target, _) = server().await;
    let proxy = Proxy::start(target).await;
    let mut client = warm(&proxy).await;
    proxy.refuse(true);
    assert_eq!(ask(&mut through(&proxy).await, b'a').await, b"");
    assert_eq!(ask(&mut client, b'a').await, b"aaaaaaaa");
    proxy.refuse(false);
    warm(&proxy).await;
    let counts = proxy.counts();
    assert_eq!((counts.refused, counts.connections), (1, 2));
}

#[tokio::test]
async fn connections_end_with_the_proxy() {
    let (target, _) = server().await;
    let proxy = Proxy::start(target).await;
    let mut client = warm(&proxy).await;
    drop(proxy);
    assert_eq!(ask(&mut client, b'a').await, b"");
}

#[tokio::test]
async fn a_server_that_is_away_ends_the_connection() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = gone.local_addr().unwrap();
    drop(gone);
    let proxy = Proxy::start(target).await;
    assert_eq!(ask(&mut through(&proxy).await, b'a').await, b"");
}
