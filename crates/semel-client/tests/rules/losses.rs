//! Connections that fail, break and stall.

use std::error::Error as _;
use std::time::Duration;

use semel_client::{Cause, Kind, reqwest};
use tokio::net::TcpSocket;

use crate::support::{Server, Step, client, client_with, hurried, reply};

#[tokio::test]
async fn a_lost_connection_is_tried_again() {
    for (first, requests) in [(Step::HangUp, 1), (Step::ReadAndHangUp, 2)] {
        let server = Server::start([first.clone(), reply(201).into()]).await;
        let response = client().post(server.url()).body("1").send().await.unwrap();
        let found = (response.tries(), server.seen().len());
        assert_eq!(found, (2, requests), "{first:?}");
    }
}

#[tokio::test]
async fn half_an_answer_is_no_answer() {
    let replayed = reply(201)
        .body("whole")
        .header("Idempotent-Replayed", "true");
    for status in [201, 404, 500] {
        let script = [reply(status).body("hal").cut_short(), replayed.clone()];
        let server = Server::start(script).await;
        let response = client().post(server.url()).send().await.unwrap();
        assert_eq!(response.body(), "whole", "{status}");
        assert!(response.is_replayed());
        assert_eq!(server.seen()[0], server.seen()[1]);
    }
}

#[tokio::test]
async fn a_refused_connection_is_tried_until_the_tries_are_used_up() {
    // Bound and not listening: the port is taken, and refuses.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/?token=secret", socket.local_addr().unwrap());
    let client = client_with(hurried().tries_max(3));
    let error = client.post(url).send().await.unwrap_err();

    assert_eq!((error.kind(), error.tries()), (Kind::GaveUp, 3));
    assert!(matches!(error.cause(), Some(Cause::Connection(cause)) if cause.is_connect()));
    assert!(error.source().is_some() && error.response().is_none());
    assert!(error.key().is_some() && error.is_retryable());
    assert!(error.to_string().contains("refused"), "{error}");
    assert!(!format!("{error} {error:?}").contains("secret"));
}

/// A slow machine may lose more tries to the clock than the first; each is tried again.
#[tokio::test]
async fn a_try_without_an_answer_is_tried_again() {
    let server = Server::start([Step::Silence, reply(201).into()]).await;
    let retry = hurried()
        .tries_max(50)
        .try_timeout(Duration::from_millis(100));
    let response = client_with(retry).post(server.url()).send().await.unwrap();

    assert_eq!(response.status(), 201);
    assert!(response.tries() > 1);
    let key = response.key().as_str();
    assert!(server.seen().iter().all(|seen| seen.key() == key));
}

#[tokio::test]
async fn a_timeout_of_the_http_client_is_a_timeout() {
    let server = Server::start([Step::Silence]).await;
    let http = reqwest::Client::builder().no_proxy();
    let http = http.timeout(Duration::from_millis(1)).build().unwrap();
    let client = semel_client::Client::new(http).retry(hurried().tries_max(2));
    let error = client.post(server.url()).send().await.unwrap_err();
    assert_eq!((error.kind(), error.tries()), (Kind::GaveUp, 2));
    assert!(matches!(error.cause(), Some(Cause::Timeout)), "{error}");
}

#[tokio::test]
async fn a_dropped_operation_is_continued_under_its_key() {
    let server = Server::start([Step::Silence, reply(201).into()]).await;
    let client = client();
    let request = client.post(server.url()).body("1");
    tokio::select! {
        answer = request.send() => panic!("silence was taken for {answer:?}"),
        () = server.reached() => {}
    }

    let response = request.send().await.unwrap();
    assert_eq!(response.tries(), 1);
    assert_eq!(server.seen()[0], server.seen()[1]);
}

#[tokio::test]
async fn an_operation_can_be_sent_from_a_task_of_its_own() {
    let server = Server::start([reply(201)]).await;
    let request = client().delete(server.url());
    let task = tokio::spawn(async move { request.send().await });
    assert_eq!(task.await.unwrap().unwrap().status(), 201);
    assert_eq!(server.seen()[0].line, "DELETE /payments?a=1 HTTP/1.1");
}
