//! SQS: a standard queue per turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::{BehaviorVersion, Credentials, Region, StalledStreamProtectionConfig};
use aws_sdk_sqs::error::DisplayErrorContext;
use aws_sdk_sqs::types::{
    DeleteMessageBatchRequestEntry as Delete, Message, MessageAttributeValue,
    MessageSystemAttributeName, QueueAttributeName, SendMessageBatchRequestEntry as Publish,
};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use semel_core::store::Answer;
use semel_core::{Error, Kind, Result};
use tokio::task::JoinSet;

use super::super::lap::Lap;
use super::super::letters::Published;
use super::{Bare, failed};

const REGION: &str = "eu-central-1";
/// How many tasks receive at once; as many as ours has.
const POLLERS: usize = 4;
/// The most messages that one call takes or gives.
const CALL_MAX: usize = 10;
/// How many calls publish at once.
const PUBLISHERS: usize = 8;

pub(super) struct Sqs {
    endpoint: String,
    client: Client,
}

impl Sqs {
    pub(super) fn connect(endpoint: &str) -> Self {
        let config = aws_sdk_sqs::Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .region(Region::new(REGION))
            .credentials_provider(Credentials::new("none", "none", None, None, "bench"))
            .endpoint_url(endpoint);
        Self {
            endpoint: endpoint.to_owned(),
            client: Client::from_conf(config.build()),
        }
    }

    async fn queue(&self, turn: &str) -> Result<String> {
        let found = self.client.get_queue_url().queue_name(turn).send().await;
        let found = found.map_err(said("finding a queue"))?;
        Ok(found.queue_url.unwrap_or_default())
    }

    async fn publish(&self, queue: &str, messages: &[Published]) -> Result<()> {
        let calls = messages.chunks(CALL_MAX).map(|some| {
            let entries = some.iter().enumerate().map(entry).collect();
            let call = self.client.send_message_batch().queue_url(queue);
            call.set_entries(Some(entries)).send()
        });
        let calls: Vec<_> = calls.collect();
        let calls = stream::iter(calls).buffer_unordered(PUBLISHERS);
        let calls = calls.map_err(said("publishing"));
        calls
            .try_for_each(|sent| async move { all_taken("publishing", &sent.failed) })
            .await
    }
}

impl Bare for Sqs {
    fn begin<'a>(&'a self, turn: &'a str, messages: &'a [Published]) -> Answer<'a, ()> {
        Box::pin(async move {
            let made = self
                .client
                .create_queue()
                .queue_name(turn)
                // Not longer than ids are remembered, as the engine asks.
                .attributes(QueueAttributeName::MessageRetentionPeriod, "3600")
                .send()
                .await
                .map_err(said("making a queue"))?;
            self.publish(&made.queue_url.unwrap_or_default(), messages)
                .await
        })
    }

    fn url(&self, turn: &str) -> String {
        let endpoint = &self.endpoint;
        format!("sqs://{REGION}/{turn}?endpoint={endpoint}&credentials=none&pollers={POLLERS}")
    }

    fn drain<'a>(&'a self, turn: &'a str, count: usize) -> Answer<'a, Duration> {
        Box::pin(async move {
            let queue = self.queue(turn).await?;
            let (lap, acked) = (Arc::<Lap>::default(), Arc::<AtomicUsize>::default());
            let mut pollers = JoinSet::new();
            for _ in 0..POLLERS {
                let (client, queue) = (self.client.clone(), queue.clone());
                let (lap, acked) = (lap.clone(), acked.clone());
                pollers.spawn(async move {
                    // The one that acknowledges the last message ends, and with it all others.
                    while acked.load(Ordering::Relaxed) < count {
                        let some = receive(&client, &queue, &lap).await?;
                        let more = delete(&client, &queue, some).await?;
                        acked.fetch_add(more, Ordering::Relaxed);
                    }
                    Ok(lap.took())
                });
            }
            let crashed = |e| Error::new(Kind::Internal, "a poller panicked").caused_by(e);
            match pollers.join_next().await {
                Some(ended) => ended.map_err(crashed)?,
                None => Err(Error::new(Kind::Internal, "there are no pollers")),
            }
        })
    }

    fn end<'a>(&'a self, turn: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            let queue = self.queue(turn).await?;
            let removed = self.client.delete_queue().queue_url(queue).send().await;
            removed.map(drop).map_err(said("removing a queue"))
        })
    }

    fn clean(&self) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

async fn receive(client: &Client, queue: &str, lap: &Lap) -> Result<Vec<Message>> {
    let received = client
        .receive_message()
        .queue_url(queue)
        .max_number_of_messages(CALL_MAX as i32)
        .visibility_timeout(30)
        .wait_time_seconds(1)
        .message_attribute_names("All")
        .message_system_attribute_names(MessageSystemAttributeName::All)
        .send()
        .await
        .map_err(said("receiving"))?;
    let messages = received.messages.unwrap_or_default();
    if !messages.is_empty() {
        lap.begin();
    }
    Ok(messages)
}

/// Deletes what was received; how many there were.
async fn delete(client: &Client, queue: &str, messages: Vec<Message>) -> Result<usize> {
    let count = messages.len();
    if count == 0 {
        return Ok(0);
    }
    let entries = messages.into_iter().enumerate().map(|(number, message)| {
        let receipt = message.receipt_handle.unwrap_or_default();
        let entry = Delete::builder().id(number.to_string());
        entry
            .receipt_handle(receipt)
            .build()
            .expect("id and receipt are set")
    });
    let call = client.delete_message_batch().queue_url(queue);
    let deleted = call.set_entries(Some(entries.collect())).send().await;
    all_taken("deleting", &deleted.map_err(said("deleting"))?.failed)?;
    Ok(count)
}

fn entry((number, message): (usize, &Published)) -> Publish {
    let id = MessageAttributeValue::builder()
        .data_type("String")
        .string_value(&message.id)
        .build()
        .expect("the type is set");
    Publish::builder()
        .id(number.to_string())
        .message_attributes("message-id", id)
        .message_body(&message.payload)
        .build()
        .expect("id and body are set")
}

fn all_taken<T>(doing: &'static str, refused: &[T]) -> Result<()> {
    match refused.len() {
        0 => Ok(()),
        count => Err(failed(doing)(format!("{count} messages were refused"))),
    }
}

/// The SDK's errors say nothing without their sources.
fn said<E: std::error::Error>(doing: &'static str) -> impl Fn(E) -> Error {
    move |error| failed(doing)(DisplayErrorContext(&error).to_string())
}
