//! What the service says about the queue.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_sqs::types::QueueAttributeName as Name;
use semel_core::Result;
use semel_inbox::source::{DeliveryLimit, Facts, Retained};
use serde_json::Value;

use crate::error::failed;
use crate::queue::Queue;
use crate::url::Reading;

/// The attributes of a queue.
pub(crate) type Attributes = HashMap<Name, String>;

/// Asks the service.
pub(crate) async fn attributes(queue: &Queue) -> Result<Attributes> {
    let connected = queue.connected().await?;
    let answer = connected
        .client
        .get_queue_attributes()
        .queue_url(&connected.url)
        .attribute_names(Name::All)
        .send()
        .await
        .map_err(|error| failed("asking about the queue", error).error)?;
    Ok(answer.attributes.unwrap_or_default())
}

/// What they say.
pub(crate) fn weigh(attributes: &Attributes, reading: &Reading) -> Facts {
    let number = |name: Name| {
        attributes
            .get(&name)
            .and_then(|text| text.parse::<u64>().ok())
    };
    let mut facts = Facts::default();
    let kept = number(Name::MessageRetentionPeriod).map(Duration::from_secs);
    facts.retained = kept.map(Retained::For);
    let delayed = number(Name::ApproximateNumberOfMessagesDelayed).unwrap_or_default();
    facts.lag = number(Name::ApproximateNumberOfMessages).map(|visible| visible + delayed);
    facts.held = number(Name::ApproximateNumberOfMessagesNotVisible);
    facts.delivery_limit = attributes
        .get(&Name::RedrivePolicy)
        .and_then(|policy| limit(policy));
    if kept.is_some_and(|kept| kept <= reading.visibility) {
        facts.warnings.push(
            "messages are kept no longer than one delivery lasts: what fails once is lost"
                .to_owned(),
        );
    }
    if is(attributes, Name::ContentBasedDeduplication, "true") {
        facts.warnings.push(
            "the service makes deduplication ids of bodies (ContentBasedDeduplication): two messages with equal bodies and no other id are \
             one message"
                .to_owned(),
        );
    }
    facts
}

/// Whether a deduplication id is unique within its group only.
pub(crate) fn is_by_group(attributes: &Attributes) -> bool {
    is(attributes, Name::DeduplicationScope, "messageGroup")
}

fn is(attributes: &Attributes, name: Name, value: &str) -> bool {
    attributes.get(&name).is_some_and(|found| found == value)
}

/// How often a message is received before it goes to the dead letter queue. The number is text or a number, as its author wrote it.
fn limit(policy: &str) -> Option<DeliveryLimit> {
    let policy: Value = serde_json::from_str(policy).ok()?;
    let count = policy.get("maxReceiveCount")?;
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok())?;
    let arn = policy.get("deadLetterTargetArn").and_then(Value::as_str);
    let name = arn.and_then(|arn| arn.rsplit(':').next());
    Some(DeliveryLimit {
        count: u32::try_from(count).unwrap_or(u32::MAX),
        dead_letters: name.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redrive_policy_is_a_delivery_limit() {
        for policy in [
            r#"{"deadLetterTargetArn":"arn:aws:sqs:eu-central-1:123456789012:dead","maxReceiveCount":"3"}"#,
            r#"{"deadLetterTargetArn":"arn:aws:sqs:eu-central-1:123456789012:dead","maxReceiveCount":3}"#,
        ] {
            let limit = limit(policy).unwrap();
            assert_eq!(
                (limit.count, limit.dead_letters.as_deref()),
                (3, Some("dead"))
            );
        }
        assert_eq!(limit("{}"), None);
    }
}
