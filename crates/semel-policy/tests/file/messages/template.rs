//! The policy template of the consumer guides loads as it is written, and each of its fields does something.

use std::time::Duration;

use insta::assert_snapshot;
use semel_core::inbox::{Baseline, Order, UnknownPolicy};
use semel_inbox::Ack;
use semel_inbox::policy::replay::SideEffects;
use semel_policy::CompiledConsumer;
use semel_policy::file::consumer::Kind;

use super::super::parse;
use super::file;

const TEMPLATE: &str = include_str!("../consumer-policy.yaml");

/// Both consumers of the template, of which one line may be replaced.
fn both(line: &str, other: &str) -> [CompiledConsumer; 2] {
    assert_eq!(TEMPLATE.matches(line).count(), 1, "{line}");
    let consumers = file(&TEMPLATE.replace(line, other)).consumers().unwrap();
    consumers
        .try_into()
        .expect("the template has two consumers")
}

fn template() -> [CompiledConsumer; 2] {
    both("idempotentConsumer:", "idempotentConsumer:")
}

/// Shows that the template says this, and that it would not without the line.
fn indexer(line: &str, other: &str, holds: fn(&CompiledConsumer) -> bool) {
    assert!(holds(&template()[0]), "{line}");
    assert!(!holds(&both(line, other)[0]), "{other}");
}

/// The same for the second consumer.
fn sender(line: &str, other: &str, holds: fn(&CompiledConsumer) -> bool) {
    assert!(holds(&template()[1]), "{line}");
    assert!(!holds(&both(line, other)[1]), "{other}");
}

#[test]
fn it_loads_as_a_whole_file_with_the_names_as_scopes() {
    let [indexer, sender] = template();
    assert_eq!(indexer.name().to_string(), "search-indexer@1");
    assert_eq!(sender.name().to_string(), "notification-sender@1");
    for consumer in [&indexer, &sender] {
        assert!(
            consumer.has_inbox && !consumer.is_served(),
            "{:?}",
            consumer.name()
        );
    }
}

#[test]
fn it_loads_next_to_other_sections_and_other_consumers() {
    let text = format!(
        "store: sqlite:a.db\nadmin: off\ngateway: {{ upstream: 'http://a' }}\n{TEMPLATE}\nconsumers: {{ mailer: {{}} }}\n"
    );
    let names = file(&text).consumers().unwrap();
    let names: Vec<_> = names
        .iter()
        .map(|one| one.name().name().to_owned())
        .collect();
    assert_eq!(names, ["mailer", "search-indexer", "notification-sender"]);
}

#[test]
fn both_roots_compile_to_the_same() {
    let ours = TEMPLATE.strip_prefix("idempotentConsumer:\n").unwrap();
    let ours: String = ours
        .lines()
        .map(|line| format!("{}\n", line.get(2..).unwrap_or_default()))
        .collect();
    let ours = parse(&ours).unwrap().consumers().unwrap();
    assert_eq!(format!("{ours:?}"), format!("{:?}", template()));
}

#[test]
fn the_strategy_type_decides_order_and_replay() {
    indexer(
        "type: aggregate-version-upsert",
        "type: sequence-gap-detection",
        |one| {
            matches!(
                one.policy.plan.order,
                Order::Sequence {
                    baseline: Baseline::FirstSeen,
                    ..
                }
            )
        },
    );
    indexer(
        "type: aggregate-version-upsert",
        "type: sequence-gap-detection",
        |one| one.policy.replay.rebuild,
    );
    sender(
        "type: inbox-plus-notification-intent",
        "type: processed-message",
        |one| one.strategy == Kind::InboxPlusNotificationIntent,
    );
}

#[test]
fn message_id_required_refuses_messages_without_one() {
    indexer(
        "messageIdRequired: true",
        "messageIdRequired: false",
        |one| one.policy.id_required,
    );
}

#[test]
fn sequence_required_refuses_messages_without_one() {
    indexer("sequenceRequired: true", "sequenceRequired: false", |one| {
        one.policy.sequence_required
    });
}

#[test]
fn the_table_names_a_view() {
    indexer("table: processed_message", "table: done", |one| {
        one.processed_view.as_deref() == Some("processed_message")
    });
}

#[test]
fn retention_days_say_how_long_messages_are_remembered() {
    indexer("retentionDays: 30", "retentionDays: 31", |one| {
        one.policy.plan.retention.keep() == Duration::from_secs(30 * 86_400)
    });
}

#[test]
fn the_timing_says_when_the_source_is_told() {
    indexer(
        "timing: after-db-transaction",
        "timing: after-receive",
        |one| one.policy.ack == Ack::AfterEffect,
    );
}

#[test]
fn replay_allowed_lets_operators_replay() {
    indexer("allowed: true", "allowed: false", |one| {
        one.policy.replay.allowed
    });
}

#[test]
fn side_effects_none_are_none() {
    indexer("sideEffects: none", "sideEffects: suppress", |one| {
        one.policy.replay.side_effects == SideEffects::None
    });
}

#[test]
fn duplicate_spike_is_watched_for() {
    indexer("duplicateSpike: true", "duplicateSpike: false", |one| {
        one.policy.alerts.duplicate_spike
    });
}

#[test]
fn sequence_gaps_are_watched_for() {
    indexer("sequenceGap: true", "sequenceGap: false", |one| {
        one.policy.alerts.sequence_gap
    });
}

#[test]
fn external_provider_idempotency_asks_for_targets_that_take_a_key() {
    sender(
        "externalProviderIdempotency: true",
        "externalProviderIdempotency: false",
        |one| one.policy.provider_keys_required,
    );
}

#[test]
fn deterministic_notification_ids_cannot_be_chosen() {
    sender(
        "deterministicNotificationId: true",
        "deterministicNotificationId: false",
        |one| one.policy.derived_intent_ids,
    );
}

#[test]
fn an_inbox_that_is_enabled_stores_messages_first() {
    assert!(template()[1].has_inbox);
    // All that stands beside it needs stored messages, so the opposite is refused.
    let text = TEMPLATE.replace("enabled: true", "enabled: false");
    assert_snapshot!(parse(&text).unwrap_err(), @"semel.yaml:26:18: idempotentConsumer.consumers.notification-sender.inbox.enabled: expected true, because inbox.retry needs stored messages (idempotentConsumer.consumers.notification-sender.inbox.retry at 29:11)");
    let text =
        "consumers: { a: { strategy: { type: processed-message }, inbox: { enabled: false } } }";
    assert!(!file(text).consumers().unwrap()[0].has_inbox);
}

#[test]
fn ack_after_inbox_insert_tells_the_source_when_a_message_is_stored() {
    sender(
        "ackAfterInboxInsert: true",
        "ackAfterInboxInsert: false",
        |one| one.policy.ack == Ack::AfterReceive,
    );
}

#[test]
fn max_attempts_are_how_often_a_message_is_tried() {
    sender("maxAttempts: 10", "maxAttempts: 9", |one| {
        one.policy.retry.attempts_max() == 10
    });
}

#[test]
fn exponential_jitter_doubles_the_waits_and_draws_them() {
    sender(
        "backoff: exponential-jitter",
        "backoff: exponential",
        |one| one.policy.retry.backoff().jitter,
    );
    sender(
        "backoff: exponential-jitter",
        "backoff: fixed-jitter",
        |one| one.policy.retry.backoff().exponential,
    );
}

#[test]
fn a_parking_lot_parks_what_used_up_its_attempts() {
    sender("parkingLot: true", "parkingLot: false", |one| {
        one.policy.parking
    });
}

#[test]
fn replay_that_is_false_for_a_real_send_is_refused_and_suppressed() {
    sender("allowed: false-for-real-send", "allowed: true", |one| {
        !one.policy.replay.allowed
    });
    let [_, sender] = template();
    assert_eq!(sender.policy.replay.side_effects, SideEffects::Suppress);
    assert!(
        sender
            .policy
            .replay
            .check("notification-sender", None)
            .is_err()
    );
}

#[test]
fn the_pending_age_is_watched_for() {
    sender("pendingAgeSeconds: 60", "pendingAgeSeconds: 61", |one| {
        one.policy.alerts.pending_age == Some(Duration::from_secs(60))
    });
}

#[test]
fn parked_messages_are_watched_for() {
    sender("parkedMessages: 1", "parkedMessages: 2", |one| {
        one.policy.alerts.parked == Some(1)
    });
}

#[test]
fn what_it_leaves_out_is_as_usual() {
    let [indexer, sender] = template();
    let usual = semel_inbox::Consumer::new(indexer.name().clone());
    assert_eq!(indexer.policy.retry, usual.retry);
    assert_eq!(
        (indexer.policy.lease, indexer.policy.deadline),
        (usual.lease, usual.deadline)
    );
    assert_eq!(
        (indexer.policy.workers, indexer.policy.on_unknown),
        (usual.workers, UnknownPolicy::Rerun)
    );
    assert_eq!(
        sender.policy.plan.retention.keep(),
        Duration::from_secs(7 * 86_400)
    );
}
