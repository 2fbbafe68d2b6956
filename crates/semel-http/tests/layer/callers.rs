//! Callers that hang up, break off, or come in crowds.

use semel_core::State;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::{Answer, Asked, Service};

pub(crate) async fn raw(service: &Service, text: &str) -> Answer {
    let mut stream = TcpStream::connect(service.addr).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    Answer::read(&mut stream).await
}

#[tokio::test]
async fn a_caller_that_hangs_up_during_the_run_cancels_nothing() {
    let service = Service::start(|_| {}).await;
    let slow = Asked::pay("k", "").at("/slow");
    let mut stream = TcpStream::connect(service.addr).await.unwrap();
    stream.write_all(slow.text().as_bytes()).await.unwrap();
    service.shop.began.acquire().await.unwrap().forget();
    drop(stream);
    service.shop.permits.add_permits(1);
    let again = service.send(&slow).await;
    assert_eq!((again.status, again.is_replay()), (200, true));
    assert_eq!(service.effects(), 1);
}

#[tokio::test]
async fn a_body_that_breaks_off_runs_nothing() {
    let service = Service::start(|_| {}).await;
    let half =
        "POST /pay HTTP/1.1\r\nHost: shop\r\nIdempotency-Key: k\r\nContent-Length: 9\r\n\r\n1234";
    let mut stream = TcpStream::connect(service.addr).await.unwrap();
    stream.write_all(half.as_bytes()).await.unwrap();
    drop(stream);
    let whole = service.pay("k", "123456789").await;
    assert_eq!((whole.status, whole.is_replay()), (201, false));
    assert_eq!(service.effects(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_at_once_one_runs() {
    let service = Service::start(|rules| {
        rules.in_progress.wait = std::time::Duration::from_secs(60);
    })
    .await;
    let asked = Asked::pay("k", "42");
    let all = futures_util::future::join_all((0..200).map(|_| service.send(&asked))).await;
    assert!(all.iter().all(|answer| answer.body == "effect 1 of 42"));
    assert_eq!(all.iter().filter(|answer| !answer.is_replay()).count(), 1);
    assert_eq!(service.effects(), 1);
}

#[tokio::test]
async fn a_panic_leaves_an_unknown_outcome_and_runs_once() {
    let service = Service::start(|_| {}).await;
    let asked = Asked::pay("k", "").at("/panic");
    let first = service.send(&asked).await;
    assert_eq!(
        (first.status, first.problem()),
        (500, "outcome-unknown".into())
    );
    let again = service.send(&asked).await;
    assert_eq!(
        (again.status, again.problem()),
        (409, "outcome-unknown".into())
    );
    assert!(again.body.contains("run-panicked"), "{}", again.body);
    assert_eq!(service.effects(), 1);
    let page = service.once.store().list(Default::default()).await.unwrap();
    assert!(matches!(page.records[0].state, State::Unknown { .. }));
}

#[tokio::test]
async fn a_handler_that_is_given_up_does_not_go_on_unseen() {
    let short = std::time::Duration::from_millis(50);
    let service = Service::start(|rules| rules.timeout = short).await;
    let asked = Asked::pay("k", "").at("/slow");
    let given_up = service.send(&asked).await;
    assert_eq!(
        (given_up.status, given_up.problem()),
        (504, "upstream-timeout".into())
    );
    // Whoever still waited would take the permit now and have its effect.
    service.shop.permits.add_permits(1);
    let again = service.send(&asked).await;
    assert_eq!(
        (again.status, again.problem()),
        (409, "outcome-unknown".into())
    );
    assert_eq!(
        (service.effects(), service.shop.permits.available_permits()),
        (0, 1)
    );
}
