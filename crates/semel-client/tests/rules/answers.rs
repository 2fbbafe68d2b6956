//! Which answers end an operation, and which are tried again.

use semel_client::{Cause, Error, Kind, Response};

use crate::support::{Reply, Server, client, client_with, hurried, last_status, problem, reply};

/// Sends one operation to a server that gives `first` and then 201.
async fn send(first: Reply) -> (Result<Response, Error>, usize) {
    let server = Server::start([first, reply(201)]).await;
    let result = client().post(server.url()).body("1").send().await;
    (result, server.seen().len())
}

#[tokio::test]
async fn what_passes_by_itself_is_tried_again() {
    for first in [
        reply(408),
        reply(425),
        reply(429),
        reply(502),
        reply(503),
        reply(504),
        problem(503, "store-unavailable"),
        problem(502, "upstream-unreachable"),
    ] {
        let (result, requests) = send(first.clone()).await;
        let response = result.unwrap();
        let found = (response.status().as_u16(), response.tries(), requests);
        assert_eq!(found, (201, 2, 2), "{first:?}");
    }
}

#[tokio::test]
async fn an_operation_in_progress_is_asked_about_again() {
    for status in [202, 409, 425] {
        let (result, requests) = send(problem(status, "in-progress")).await;
        let found = (result.unwrap().status().as_u16(), requests);
        assert_eq!(found, (201, 2), "{status}");
    }
}

#[tokio::test]
async fn a_settled_answer_is_never_retried() {
    for first in [
        reply(200),
        reply(202),
        reply(304),
        reply(400),
        reply(401),
        reply(403),
        reply(404),
        reply(409),
        reply(422),
        reply(500),
        reply(501),
        problem(400, "key-missing"),
        problem(413, "body-too-large"),
        problem(409, "sold-out"),
    ] {
        let (result, requests) = send(first.clone()).await;
        let response = result.unwrap();
        assert_ne!(response.status(), 201, "{first:?}");
        assert_eq!((response.tries(), requests), (1, 1), "{first:?}");
    }
}

#[tokio::test]
async fn a_mismatch_is_never_retried() {
    let (result, requests) = send(problem(422, "key-reused").header("Retry-After", "0")).await;
    let error = result.unwrap_err();
    assert_eq!((error.kind(), requests), (Kind::KeyReused, 1));
    assert!(!error.is_retryable());
    assert_eq!(last_status(&error), Some(422));
    assert_eq!(error.tries(), 1);
    assert!(error.key().is_some());
}

/// Semel says 500 to the caller whose run panicked, and 409 to those who ask later.
#[tokio::test]
async fn an_unknown_outcome_is_never_retried() {
    for status in [409, 500] {
        let first = problem(status, "outcome-unknown").header("Retry-After", "0");
        let (result, requests) = send(first).await;
        let error = result.unwrap_err();
        assert_eq!((error.kind(), requests), (Kind::OutcomeUnknown, 1));
        assert!(!error.is_retryable());
        assert_eq!(last_status(&error), Some(status));
        assert!(error.to_string().contains(error.key().unwrap().as_str()));
    }
}

#[tokio::test]
async fn an_outcome_that_became_unknown_on_the_way_is_told_by_the_next_try() {
    let script = [
        problem(504, "outcome-unknown"),
        problem(409, "outcome-unknown"),
    ];
    let server = Server::start(script).await;
    let error = client().post(server.url()).send().await.unwrap_err();
    assert_eq!((error.kind(), error.tries()), (Kind::OutcomeUnknown, 2));
}

#[tokio::test]
async fn a_replay_is_told_apart_from_a_run() {
    for (value, expected) in [(Some("true"), true), (Some("false"), false), (None, false)] {
        let first = reply(201).header("X-Payment", "7").body("paid");
        let first = match value {
            Some(value) => first.header("Idempotent-Replayed", value),
            None => first,
        };
        let response = send(first).await.0.unwrap();
        assert_eq!(response.is_replayed(), expected, "{value:?}");
        assert_eq!(response.headers()["x-payment"], "7");
        assert_eq!(response.into_body(), "paid");
    }
}

#[tokio::test]
async fn a_replayed_failure_is_the_outcome() {
    let (result, requests) = send(reply(503).header("Idempotent-Replayed", "true")).await;
    assert_eq!((result.unwrap().status().as_u16(), requests), (503, 1));
}

#[tokio::test]
async fn giving_up_keeps_the_key_and_the_last_answer() {
    let server = Server::start([reply(503), reply(502).body("the last")]).await;
    let client = client_with(hurried().tries_max(3));
    let error = client.post(server.url()).send().await.unwrap_err();

    assert_eq!((error.kind(), error.tries()), (Kind::GaveUp, 3));
    assert!(error.is_retryable());
    assert_eq!(error.key().unwrap().as_str(), server.seen()[0].key());
    assert!(matches!(error.cause(), Some(Cause::Response(last)) if last.body() == "the last"));
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn the_key_of_an_error_continues_the_operation() {
    let server = Server::start([reply(503), reply(201)]).await;
    let client = client_with(hurried().tries_max(1));
    let error = client.post(server.url()).send().await.unwrap_err();

    let key = error.key().unwrap().clone();
    client.post(server.url()).key(key).send().await.unwrap();
    assert_eq!(server.seen()[0], server.seen()[1]);
}
