//! What the tests share: a queue of its own for each, and short ways to read and answer.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_sqs::types::QueueAttributeName;
use bytes::Bytes;
use semel_inbox::Source;
use semel_inbox::intents::{Outgoing, Outlet, Sent};
use semel_inbox::source::{Delivery, HeaderField};
use semel_sqs::{SqsOutlet, SqsSource};
use semel_testkit::sources::taking::fresh_name;

const VARIABLE: &str = "SEMEL_TEST_SQS";

/// A queue that no other test uses; it is deleted at the end of the test.
pub(crate) struct Queue {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) client: Client,
    endpoint: String,
}

impl Queue {
    pub(crate) async fn new() -> Self {
        Self::with("", &[]).await
    }

    pub(crate) async fn fifo() -> Self {
        Self::with(".fifo", &[(QueueAttributeName::FifoQueue, "true")]).await
    }

    pub(crate) async fn with(ending: &str, attributes: &[(QueueAttributeName, &str)]) -> Self {
        let endpoint = std::env::var(VARIABLE).unwrap_or_else(|_| {
            panic!("{VARIABLE} is not set; start it with `cargo xtask services up sqs` and export what it prints")
        });
        Self::at(endpoint, ending, attributes).await
    }

    /// A queue of this server.
    pub(crate) async fn at(
        endpoint: String,
        ending: &str,
        attributes: &[(QueueAttributeName, &str)],
    ) -> Self {
        let name = format!("{}{ending}", fresh_name());
        let http = aws_smithy_http_client::Builder::new().build_http();
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .region(Region::new("eu-central-1"))
            .credentials_provider(Credentials::new("test", "test", None, None, "test"))
            .endpoint_url(&endpoint);
        let client = Client::from_conf(config.build());
        let mut create = client.create_queue().queue_name(&name);
        for (attribute, value) in attributes {
            create = create.attributes(attribute.clone(), *value);
        }
        let url = create.send().await.unwrap().queue_url.unwrap();
        Self {
            name,
            url,
            client,
            endpoint,
        }
    }

    /// Where the server is.
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Its URL with these options.
    pub(crate) fn url(&self, options: &str) -> String {
        self.url_at(&self.endpoint, options)
    }

    /// The same through another address.
    pub(crate) fn url_at(&self, endpoint: &str, options: &str) -> String {
        format!(
            "sqs://eu-central-1/{}?endpoint={endpoint}&credentials=none&{options}",
            self.name
        )
    }

    /// A source that is open. Waits are short, so that tests are.
    pub(crate) async fn source(&self, options: &str) -> SqsSource {
        let url = self.url(&format!("wait=1s&{options}"));
        let source = SqsSource::from_url(&url, "billing").unwrap();
        source.open(Vec::new()).await.unwrap();
        source
    }

    pub(crate) fn outlet(&self) -> SqsOutlet {
        SqsOutlet::from_url(&self.url("")).unwrap()
    }

    /// Sends messages with the payloads 0, 1, 2, …
    pub(crate) async fn add(&self, count: usize) {
        self.add_all(0..count).await;
    }

    /// Sends messages with these numbers as payloads.
    pub(crate) async fn add_all(&self, numbers: std::ops::Range<usize>) {
        let messages = numbers.map(|number| message(number, Some("k"), Vec::new()));
        let sent = self.outlet().send(messages.collect()).await;
        assert!(
            sent.iter().all(|sent| matches!(sent, Sent::Done(_))),
            "{sent:?}"
        );
    }

    /// Where the server listens.
    pub(crate) fn addr(&self) -> std::net::SocketAddr {
        let addr = self.endpoint.trim_start_matches("http://");
        addr.trim_end_matches('/').parse().unwrap()
    }

    /// Deletes it and makes it anew.
    pub(crate) async fn recreate(&self) {
        self.delete().await;
        let create = self.client.create_queue().queue_name(&self.name);
        create.send().await.unwrap();
    }

    pub(crate) async fn delete(&self) {
        self.client
            .delete_queue()
            .queue_url(&self.url)
            .send()
            .await
            .unwrap();
    }
}

pub(crate) fn message(number: usize, key: Option<&str>, headers: Vec<HeaderField>) -> Outgoing {
    Outgoing {
        id: format!("m-{number}"),
        key: key.map(|key| Bytes::from(key.to_owned())),
        kind: None,
        headers,
        payload: Some(Bytes::from(number.to_string())),
    }
}

/// The payloads, sorted as numbers.
pub(crate) fn numbers(deliveries: &[Delivery]) -> Vec<usize> {
    let payload = |delivery: &Delivery| {
        let payload = delivery.raw.payload.clone().unwrap();
        String::from_utf8(payload.to_vec())
            .unwrap()
            .parse()
            .unwrap()
    };
    let mut numbers: Vec<usize> = deliveries.iter().map(payload).collect();
    numbers.sort_unstable();
    numbers
}
