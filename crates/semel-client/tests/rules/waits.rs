//! What the server asks for in `Retry-After`.
//!
//! A wish that is heard is longer than the budget, and ends the tries; a wish that is not
//! heard or is cut leaves a wait that is over at once.

use std::time::Duration;

use crate::support::{Reply, Server, client_with, hurried, problem, reply};

const NOON: &str = "Wed, 21 Oct 2015 12:00:00 GMT";
const AN_HOUR_LATER: &str = "Wed, 21 Oct 2015 13:00:00 GMT";

/// How many tries are made if the first answer is `first`.
async fn tries(first: Reply, retry_after_max: Duration) -> u32 {
    let server = Server::start([first, reply(201)]).await;
    let client = client_with(hurried().retry_after_max(retry_after_max));
    match client.post(server.url()).send().await {
        Ok(response) => response.tries(),
        Err(error) => error.tries(),
    }
}

const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test]
async fn seconds_are_honoured() {
    for first in [reply(503), reply(429), problem(409, "in-progress")] {
        let found = tries(first.clone().header("Retry-After", "3600"), HOUR).await;
        assert_eq!(found, 1, "{first:?}");
        let found = tries(first.clone().header("Retry-After", "0"), HOUR).await;
        assert_eq!(found, 2, "{first:?}");
    }
}

#[tokio::test]
async fn a_date_is_compared_with_the_answers_own() {
    let later = reply(503).header("Retry-After", AN_HOUR_LATER);
    assert_eq!(tries(later.clone().header("Date", NOON), HOUR).await, 1);
    let past = later.header("Date", AN_HOUR_LATER);
    assert_eq!(tries(past, HOUR).await, 2);
}

#[tokio::test]
async fn a_date_without_the_servers_own_leaves_the_backoff() {
    let first = reply(503).header("Retry-After", AN_HOUR_LATER);
    assert_eq!(tries(first, HOUR).await, 2);
}

#[tokio::test]
async fn a_long_wish_is_cut_to_the_stated_maximum() {
    let cap = Duration::from_millis(1);
    for value in ["3600", "99999999999999999999"] {
        assert_eq!(tries(reply(503).header("Retry-After", value), cap).await, 2);
    }
    let dated = reply(503).header("Retry-After", AN_HOUR_LATER);
    assert_eq!(tries(dated.header("Date", NOON), cap).await, 2);
}

#[tokio::test]
async fn a_wish_that_makes_no_sense_leaves_the_backoff() {
    for value in ["soon", "-5", "1.5"] {
        let first = reply(503).header("Retry-After", value);
        assert_eq!(tries(first, HOUR).await, 2, "{value}");
    }
}
