//! What of an answer is stored, over sockets: the first client gets all of it.

use semel_http::Rules;
use semel_http::stored::{Contents, Stored};

use crate::support::{Asked, Service};

const ANSWER: &str = r#"{"card":{"number":"4111","exp":"12/29"},"amount":10.10}"#;

fn asked() -> Asked<'static> {
    Asked::pay("k", "1").with("X-Json", ANSWER)
}

fn redacting(rules: &mut Rules) {
    rules.stored = Stored {
        without: vec!["$.card.number".parse().unwrap()],
        without_headers: vec!["x-repeated".parse().unwrap()],
        ..Stored::default()
    };
}

#[tokio::test]
async fn what_is_redacted_reaches_the_first_client_and_neither_the_store_nor_a_replay() {
    let service = Service::start(redacting).await;
    let first = service.send(&asked()).await;
    assert_eq!(first.body, ANSWER);
    assert_eq!(first.all("x-repeated").len(), 2);
    assert!(first.all("semel-redacted").is_empty());
    let again = service.send(&asked()).await;
    assert!(again.is_replay());
    assert_eq!(again.body, ANSWER.replace("4111", "[redacted]"));
    assert_eq!(again.all("semel-redacted"), ["body, headers"]);
    assert!(again.all("x-repeated").is_empty());
    let length = again.all("content-length");
    assert_eq!(length, [again.body.len().to_string()]);
}

#[tokio::test]
async fn a_service_cannot_say_that_something_was_redacted() {
    let service = Service::start(|_| {}).await;
    let forged = asked().with("X-Forged", "semel-redacted");
    let first = service.send(&forged).await;
    assert!(first.all("semel-redacted").is_empty(), "{first:?}");
}

#[tokio::test]
async fn a_route_may_store_the_head_or_nothing_but_the_status() {
    for (contents, headers) in [(Contents::Head, 2), (Contents::Status, 0)] {
        let service = Service::start(|rules| rules.stored.contents = contents).await;
        assert_eq!(service.send(&asked()).await.body, ANSWER);
        let again = service.send(&asked()).await;
        assert!(again.is_replay());
        assert_eq!(
            (again.status, again.problem().as_str()),
            (201, "body-not-kept")
        );
        assert_eq!(again.all("x-repeated").len(), headers);
        assert_eq!(service.effects(), 1);
    }
}
