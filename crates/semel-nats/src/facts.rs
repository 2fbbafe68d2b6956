//! What a stream and its consumer say about themselves.

use async_nats::jetstream::consumer;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy};
use semel_inbox::source::{DeliveryLimit, Facts, OPEN_MAX, Retained};

/// The facts of a stream that is read through this consumer; without one, it is yet to be made.
pub(crate) fn of(stream: &Config, consumer: Option<&consumer::Info>) -> Facts {
    let mut facts = Facts::default();
    facts.retained = Some(retained(stream));
    facts.lag = consumer.map(|consumer| consumer.num_pending);
    facts.held =
        consumer.map(|consumer| u64::try_from(consumer.num_ack_pending).unwrap_or(u64::MAX));
    // What was delivered too often stays in the stream, but this consumer never sees it again.
    facts.delivery_limit = consumer
        .and_then(|consumer| u32::try_from(consumer.config.max_deliver).ok())
        .filter(|count| *count > 0)
        .map(|count| DeliveryLimit {
            count,
            dead_letters: None,
        });
    facts.warnings = warnings(stream);
    facts.warnings.extend(consumer.and_then(few_open));
    facts
}

fn retained(stream: &Config) -> Retained {
    match stream.retention {
        RetentionPolicy::WorkQueue | RetentionPolicy::Interest => Retained::UntilAcked,
        RetentionPolicy::Limits if stream.max_age.is_zero() => Retained::Forever,
        RetentionPolicy::Limits => Retained::For(stream.max_age),
    }
}

fn warnings(stream: &Config) -> Vec<String> {
    let name = &stream.name;
    let mut warnings = Vec::new();
    let limited = [
        ("max_msgs", stream.max_messages),
        ("max_bytes", stream.max_bytes),
        ("max_msgs_per_subject", stream.max_messages_per_subject),
    ];
    for (limit, _) in limited.into_iter().filter(|(_, limit)| *limit > 0) {
        if stream.discard == DiscardPolicy::Old {
            warnings.push(format!(
                "the stream {name} drops its oldest messages at its limit {limit}, delivered or not"
            ));
        }
    }
    warnings
}

fn few_open(consumer: &consumer::Info) -> Option<String> {
    let open_max = i64::try_from(OPEN_MAX).unwrap_or(i64::MAX);
    let pending_max = consumer.config.max_ack_pending;
    (1..open_max).contains(&pending_max).then(|| {
        format!(
            "the consumer {} has at most {pending_max} deliveries open (max_ack_pending), fewer than the {open_max} that are asked for",
            consumer.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn retention_follows_policy_and_age() {
        let age = Duration::from_secs(60);
        for (retention, max_age, expected) in [
            (RetentionPolicy::Limits, Duration::ZERO, Retained::Forever),
            (RetentionPolicy::Limits, age, Retained::For(age)),
            (RetentionPolicy::WorkQueue, age, Retained::UntilAcked),
            (
                RetentionPolicy::Interest,
                Duration::ZERO,
                Retained::UntilAcked,
            ),
        ] {
            let stream = Config {
                retention,
                max_age,
                ..Config::default()
            };
            assert_eq!(retained(&stream), expected, "{retention:?} {max_age:?}");
        }
    }
}
