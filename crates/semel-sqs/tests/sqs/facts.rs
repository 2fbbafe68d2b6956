//! What Amazon's service says about a queue, in its own words: ElasticMQ knows one retention only, whatever a queue was made with.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::time::Duration;

use semel_inbox::Source;
use semel_inbox::source::{DeliveryLimit, Facts, Retained};
use semel_sqs::SqsSource;

use crate::service::Service;

/// The facts about a queue with these attributes.
async fn facts(attributes: &str) -> Facts {
    let body = format!(r#"{{"Attributes":{attributes}}}"#);
    let service = Service::new(&[("GetQueueAttributes", body.as_str())]).await;
    let source = SqsSource::from_url(&service.url("q", "visibility=1m"), "billing").unwrap();
    source.facts().await.unwrap()
}

#[tokio::test]
async fn retention_lag_and_delivery_limit_are_what_the_service_says() {
    let found = facts(
        r#"{"MessageRetentionPeriod":"1209600","ApproximateNumberOfMessages":"7",
            "ApproximateNumberOfMessagesNotVisible":"2","ApproximateNumberOfMessagesDelayed":"1","ContentBasedDeduplication":"false",
            "RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-central-1:1:dead\",\"maxReceiveCount\":3}"}"#,
    )
    .await;
    let two_weeks = Duration::from_secs(14 * 24 * 60 * 60);
    assert_eq!(found.retained, Some(Retained::For(two_weeks)));
    assert_eq!((found.lag, found.held), (Some(8), Some(2)));
    let limit = DeliveryLimit {
        count: 3,
        dead_letters: Some("dead".to_owned()),
    };
    assert_eq!(found.delivery_limit, Some(limit));
    assert!(found.warnings.is_empty(), "{found:?}");
}

#[tokio::test]
async fn a_retention_as_short_as_one_delivery_is_warned_about() {
    let found = facts(r#"{"MessageRetentionPeriod":"60"}"#).await;
    assert_eq!(found.retained, Some(Retained::For(Duration::from_secs(60))));
    assert_eq!((found.lag, found.held), (None, None));
    assert_eq!(found.delivery_limit, None);
    assert!(found.warnings[0].contains("kept no longer"), "{found:?}");
}

#[tokio::test]
async fn ids_that_the_service_makes_of_bodies_are_warned_about() {
    let found = facts(r#"{"ContentBasedDeduplication":"true"}"#).await;
    assert!(found.warnings[0].contains("equal bodies"), "{found:?}");
}
