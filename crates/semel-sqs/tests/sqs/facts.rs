//! What Amazon's service says about a queue, in its own words: ElasticMQ knows one retention only, whatever a queue was made with.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::time::Duration;

use semel_inbox::Source;
use semel_inbox::source::{DeliveryLimit, Facts, Retained};
use semel_sqs::SqsSource;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// The facts about a queue of a service that answers everything with the queue's URL and these attributes.
async fn facts(attributes: &str) -> Facts {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let body = format!(r#"{{"QueueUrl":"{endpoint}/1/q","Attributes":{attributes}}}"#);
    let serving = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            answer(stream, &body).await;
        }
    });
    let url = format!("sqs://eu-central-1/q?endpoint={endpoint}&credentials=none&visibility=1m");
    let source = SqsSource::from_url(&url, "billing").unwrap();
    let facts = source.facts().await.unwrap();
    serving.abort();
    facts
}

/// Answers one request, and ends the connection.
async fn answer(mut stream: TcpStream, body: &str) {
    let (mut request, mut part) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut part).await.unwrap();
        request.extend_from_slice(&part[..count]);
        // All requests end with the only object in them.
        if count == 0 || request.ends_with(b"}") {
            break;
        }
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/x-amz-json-1.0\r\nconnection: close";
    let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(answer.as_bytes()).await.unwrap();
}

#[tokio::test]
async fn retention_lag_and_delivery_limit_are_what_the_service_says() {
    let found = facts(
        r#"{"MessageRetentionPeriod":"1209600","ApproximateNumberOfMessages":"7",
            "RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:eu-central-1:1:dead\",\"maxReceiveCount\":3}"}"#,
    )
    .await;
    let two_weeks = Duration::from_secs(14 * 24 * 60 * 60);
    assert_eq!(found.retained, Some(Retained::For(two_weeks)));
    assert_eq!(found.lag, Some(7));
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
    assert_eq!((found.lag, &found.delivery_limit), (None, &None));
    assert!(found.warnings[0].contains("kept no longer"), "{found:?}");
}
