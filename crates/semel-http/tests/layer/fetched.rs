//! Callers of a layer that answers 202 fetch the outcome by its key.

use std::time::Duration;

use semel_http::outcomes::Place;
use semel_http::rules::{Busy, BusyStatus};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{Answer, Asked, Service};

async fn service() -> Service {
    Service::start(|rules| {
        rules.outcomes = Some(Place::default());
        rules.in_progress = Busy {
            wait: Duration::ZERO,
            status: BusyStatus::Accepted,
        };
    })
    .await
}

async fn get(service: &Service, path: &str, headers: &str) -> Answer {
    let mut stream = TcpStream::connect(service.addr).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    Answer::read(&mut stream).await
}

#[tokio::test]
async fn a_layer_serves_the_place_that_its_202_names() {
    let service = service().await;
    let slow = Asked {
        path: "/slow",
        headers: vec![("Idempotency-Key", "k"), ("Authorization", "Bearer secret")],
        body: "{}",
    };
    let fetched = async {
        service.shop.began.acquire().await.unwrap().forget();
        let accepted = service.send(&slow).await;
        assert_eq!(accepted.status, 202);
        let location = accepted.all("location")[0].to_owned();
        let caller = "Authorization: Bearer secret\r\n";
        assert_eq!(get(&service, &location, caller).await.status, 202);
        assert_eq!(get(&service, &location, "").await.status, 404);
        service.shop.permits.add_permits(1);
        let patient = format!("{caller}Prefer: wait=20\r\n");
        get(&service, &location, &patient).await
    };
    let (first, fetched) = tokio::join!(service.send(&slow), fetched);
    assert_eq!((fetched.status, &fetched.body), (first.status, &first.body));
    assert!(fetched.is_replay());
    assert_eq!(service.effects(), 1);
}

#[tokio::test]
async fn a_layer_hands_on_what_is_asked_of_another_scope() {
    let service = service().await;
    let path = "/.semel/outcomes?scope=mail&key=k";
    let answer = get(&service, path, "").await;
    // The service itself has nothing there.
    assert_eq!(answer.status, 404);
    assert!(answer.all("content-type").is_empty());
    let own = get(&service, "/.semel/outcomes?scope=payments&key=k", "").await;
    assert_eq!(own.problem(), "not-found");
}
