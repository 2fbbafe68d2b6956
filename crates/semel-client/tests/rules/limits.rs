//! What is bounded: tries, time, and what is read.

use std::time::Duration;

use semel_client::{Cause, Kind, Retry, TIME_MAX};

use crate::support::{Reply, Server, Step, client, client_with, hurried, reply};

#[tokio::test]
async fn no_more_tries_are_made_than_the_policy_allows() {
    for tries_max in [1, 2, 7] {
        let server = Server::start([reply(503)]).await;
        let client = client_with(hurried().tries_max(tries_max));
        let error = client.post(server.url()).send().await.unwrap_err();
        assert_eq!((error.kind(), error.tries()), (Kind::GaveUp, tries_max));
        assert_eq!(server.seen().len(), tries_max as usize);
    }
}

#[tokio::test]
async fn a_policy_of_one_try_tries_once() {
    let server = Server::start([reply(503)]).await;
    let error = client_with(Retry::never()).post(server.url()).send().await;
    assert_eq!(error.unwrap_err().tries(), 1);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn the_budget_ends_a_try_that_hangs() {
    let server = Server::start([Step::Silence]).await;
    let retry = hurried()
        .try_timeout(TIME_MAX)
        .budget(Duration::from_millis(20));
    let client = client_with(retry);
    let error = client.post(server.url()).send().await.unwrap_err();
    assert_eq!((error.kind(), error.tries()), (Kind::GaveUp, 1));
    assert!(matches!(error.cause(), Some(Cause::Timeout)), "{error}");
}

#[tokio::test]
async fn a_wait_beyond_the_budget_is_not_begun() {
    let server = Server::start([reply(503)]).await;
    let hour = Duration::from_secs(3_600);
    let retry = Retry::default().delay_first(hour).delay_max(hour);
    let error = client_with(retry).post(server.url()).send().await;
    assert_eq!(error.unwrap_err().tries(), 1);
}

#[tokio::test]
async fn a_body_up_to_the_limit_is_read() {
    for sent in [reply(200), reply(200).chunked()] {
        let server = Server::start([sent.body("12345")]).await;
        let client = client().body_bytes_max(5);
        let response = client.post(server.url()).send().await.unwrap();
        assert_eq!(response.body(), "12345");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_not_read() {
    let chunked: fn(Reply) -> Reply = Reply::chunked;
    for framing in [|reply| reply, chunked] {
        let server = Server::start([framing(reply(200).body("123456"))]).await;
        let client = client().body_bytes_max(5);
        let error = client.post(server.url()).send().await.unwrap_err();

        assert_eq!((error.kind(), error.tries()), (Kind::Limit, 1));
        assert!(!error.is_retryable() && error.key().is_some());
        let Some(Cause::TooLarge { status, bytes_max }) = error.cause() else {
            panic!("expected a body that is too large, found {error:?}");
        };
        assert_eq!((status.as_u16(), *bytes_max), (200, 5));
        assert_eq!(server.seen().len(), 1);
    }
}

/// The body is cut short: to read it would be to lose the connection and try again.
#[tokio::test]
async fn a_body_that_announces_itself_over_the_limit_is_not_begun() {
    let server = Server::start([reply(200).body("12345").cut_short()]).await;
    let client = client().body_bytes_max(5);
    let error = client.post(server.url()).send().await.unwrap_err();
    assert_eq!((error.kind(), error.tries()), (Kind::Limit, 1));
}

#[tokio::test]
async fn a_large_page_of_a_failing_proxy_does_not_end_the_tries() {
    let server = Server::start([reply(502).body("a long apology"), reply(201)]).await;
    let client = client().body_bytes_max(5);
    let response = client.post(server.url()).send().await.unwrap();
    assert_eq!((response.status().as_u16(), response.tries()), (201, 2));
}

#[tokio::test]
async fn giving_up_on_a_large_page_says_so() {
    let server = Server::start([reply(502).body("a long apology")]).await;
    let client = client_with(hurried().tries_max(2)).body_bytes_max(5);
    let error = client.post(server.url()).send().await.unwrap_err();
    assert_eq!((error.kind(), error.tries()), (Kind::GaveUp, 2));
    assert!(matches!(error.cause(), Some(Cause::TooLarge { .. })));
}
