//! Attempts of which it is not known whether their effect happened: the consumer's policy decides, whatever made them unknown.

use std::time::Duration;

use semel_core::inbox::{Cause, Detail, State, UnknownPolicy};
use semel_inbox::{Done, Handler, HttpHandler, handler_fn};

use crate::support::server::{Reply, Server, status};
use crate::support::{Rig, consumer, identity, message, quick};

/// Runs one message under a policy, with this deadline, until it is in this state.
async fn ended(
    on_unknown: UnknownPolicy,
    deadline: Option<Duration>,
    handler: impl Handler,
    end: State,
) -> Detail {
    let rig = Rig::new();
    let mut policy = consumer("mail");
    policy.retry = quick(3);
    policy.on_unknown = on_unknown;
    policy.deadline = deadline.unwrap_or(policy.deadline);
    let running = rig.engine().consumer(policy, handler).build().unwrap();
    let running = running.start();
    rig.receive(message("mail", "m-1", "hi")).await;
    let detail = rig.until(&identity("mail", "m-1"), end).await;
    running.shutdown().await;
    detail
}

fn is_held(detail: &Detail) {
    assert_eq!(detail.entry.cause, Some(Cause::Unknown));
    assert_eq!(detail.attempts.len(), 1, "it ran once");
}

fn delivering_to(server: &Server, timeout: Duration) -> HttpHandler {
    HttpHandler::new(&server.url("/")).unwrap().timeout(timeout)
}

#[tokio::test]
async fn a_connection_cut_after_bytes_were_sent_is_held() {
    let server = Server::scripted(vec![Reply::Silence]).await;
    let handler = delivering_to(&server, Duration::from_secs(180));
    let detail = ended(UnknownPolicy::Hold, None, handler, State::Parked).await;
    is_held(&detail);
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn a_handler_that_does_not_answer_in_time_is_held() {
    let server = Server::scripted(vec![Reply::Never]).await;
    let handler = delivering_to(&server, Duration::from_millis(50));
    let detail = ended(UnknownPolicy::Hold, None, handler, State::Parked).await;
    is_held(&detail);
    assert_eq!(server.requests().len(), 1);
    let error = detail.entry.error.unwrap();
    assert!(error.contains("no answer within 50ms"), "{error}");
}

#[tokio::test]
async fn a_deadline_is_held() {
    let handler = handler_fn(|_| async { std::future::pending().await });
    let deadline = Some(Duration::from_millis(30));
    let detail = ended(UnknownPolicy::Hold, deadline, handler, State::Parked).await;
    is_held(&detail);
}

#[tokio::test]
async fn a_panic_is_held() {
    let handler = handler_fn(|_| async { panic!("of all things") });
    let detail = ended(UnknownPolicy::Hold, None, handler, State::Parked).await;
    is_held(&detail);
}

#[tokio::test]
async fn what_may_be_repeated_runs_again_and_each_time_counts() {
    let server = Server::scripted(vec![Reply::Silence, Reply::Silence, status(200)]).await;
    let handler = delivering_to(&server, Duration::from_secs(180));
    let detail = ended(UnknownPolicy::Rerun, None, handler, State::Completed).await;
    let causes: Vec<_> = detail.attempts.iter().map(|a| a.cause).collect();
    assert_eq!(causes, [Some(Cause::Unknown); 2]);
    let numbers: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.header("semel-attempt").unwrap().to_owned())
        .collect();
    assert_eq!(numbers, ["1", "2", "3"]);
}

#[tokio::test]
async fn a_failure_that_the_handler_names_is_no_unknown() {
    let handler = handler_fn(|ctx| async move {
        match ctx.attempt() {
            1 => Err(semel_inbox::Failure::retryable("busy")),
            _ => Ok(Done::new()),
        }
    });
    ended(UnknownPolicy::Hold, None, handler, State::Completed).await;
}
