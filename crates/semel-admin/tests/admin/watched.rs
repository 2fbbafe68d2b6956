//! What engines report of messages, in numbers.

use std::time::Duration;

use semel_admin::Metrics;
use semel_admin::metrics::{CONSUMERS_MAX, EVENT_TYPES_MAX};
use semel_core::Identity;
use semel_core::inbox::{Cause, Message, Receipt, State};
use semel_inbox::{AttemptEnd, Observer};

use crate::metrics::assert_has;

const STORED: Receipt = Receipt::Stored {
    state: State::Received,
};

/// A message of a consumer, of some kind.
pub(crate) fn message(consumer: &str, kind: Option<&str>) -> Message {
    let identity = Identity::parse("acme", consumer, "secret-id").unwrap();
    let message = Message::new(identity, "secret-payload").unwrap();
    match kind {
        Some(kind) => message.with_kind(kind, None).unwrap(),
        None => message,
    }
}

fn end(state: State, cause: Option<Cause>) -> AttemptEnd {
    AttemptEnd {
        state,
        cause,
        took: Duration::from_millis(20),
        late: false,
    }
}

#[test]
fn everything_that_an_engine_reports_has_a_series() {
    let metrics = Metrics::new();
    let paid = message("mailer@1", Some("order.paid"));
    metrics.received(&paid, STORED);
    metrics.received(&paid, Receipt::Conflict);
    for _ in 0..2 {
        let state = State::Completed;
        metrics.received(&paid, Receipt::duplicate(state));
    }
    metrics.received(&message("mailer@1", None), STORED);
    let state = State::Parked;
    metrics.received(&paid, Receipt::Stored { state });
    metrics.finished(&paid, end(State::Completed, None));
    let retry = end(State::FailedRetryable, Some(Cause::DeadlineExceeded));
    metrics.finished(&paid, retry);
    let parked = end(State::Parked, Some(Cause::AttemptsExhausted));
    metrics.finished(&paid, parked);
    let late = true;
    metrics.finished(&paid, AttemptEnd { late, ..parked });
    metrics.reclaimed(&paid);
    metrics.suppressed(&paid, 3);
    let text = metrics.text();
    let paid = "consumer=\"mailer@1\",event_type=\"order.paid\"";
    let expected = [
        format!("semel_inbox_received_total{{{paid}}} 5"),
        "semel_inbox_received_total{consumer=\"mailer@1\",event_type=\"none\"} 1".to_owned(),
        format!("semel_inbox_duplicates_total{{{paid}}} 2"),
        "semel_inbox_claims_total{consumer=\"mailer@1\",status=\"new\"} 3".to_owned(),
        "semel_inbox_claims_total{consumer=\"mailer@1\",status=\"duplicate\"} 2".to_owned(),
        "semel_inbox_claims_total{consumer=\"mailer@1\",status=\"conflict\"} 1".to_owned(),
        "semel_inbox_claims_total{consumer=\"mailer@1\",status=\"reclaimed\"} 1".to_owned(),
        "semel_inbox_claims_total{consumer=\"mailer@1\",status=\"late\"} 1".to_owned(),
        format!("semel_inbox_processing_seconds_count{{{paid}}} 4"),
        format!("semel_inbox_failures_total{{{paid},reason=\"deadline-exceeded\"}} 1"),
        format!("semel_inbox_failures_total{{{paid},reason=\"attempts-exhausted\"}} 1"),
        format!("semel_inbox_parked_total{{{paid},reason=\"attempts-exhausted\"}} 1"),
        format!("semel_inbox_parked_total{{{paid},reason=\"conflict\"}} 1"),
        format!("semel_inbox_parked_total{{{paid},reason=\"order\"}} 1"),
        format!("semel_inbox_reclaimed_total{{{paid}}} 1"),
        format!("semel_inbox_suppressed_side_effects_total{{{paid}}} 3"),
    ];
    assert_has(&text, &expected.each_ref().map(String::as_str));
    assert!(!text.contains("secret") && !text.contains("acme"), "{text}");
}

#[test]
fn an_alert_is_one_while_it_fires_and_zero_afterwards() {
    let metrics = Metrics::new();
    let consumer = "mailer@1".parse().unwrap();
    metrics.expect_alert(&consumer, "pending-age");
    let quiet = "semel_alert{consumer=\"mailer@1\",alert=\"pending-age\"} 0";
    assert_has(&metrics.text(), &[quiet]);
    for (firing, line) in [
        (
            true,
            "semel_alert{consumer=\"mailer@1\",alert=\"parked\"} 1",
        ),
        (
            false,
            "semel_alert{consumer=\"mailer@1\",alert=\"parked\"} 0",
        ),
    ] {
        metrics.alert(&consumer, "parked", firing);
        assert_has(&metrics.text(), &[line]);
    }
}

#[test]
fn what_producers_write_into_messages_cannot_make_labels_without_end() {
    let metrics = Metrics::new();
    for number in 0..EVENT_TYPES_MAX + 10 {
        let kind = format!("type-{number}");
        metrics.received(&message("mailer@1", Some(&kind)), STORED);
    }
    for number in 0..CONSUMERS_MAX + 10 {
        let consumer = format!("consumer-{number}");
        metrics.received(&message(&consumer, None), STORED);
    }
    let text = metrics.text();
    let of = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    let types = of("semel_inbox_received_total{consumer=\"mailer@1\"");
    assert_eq!(types, EVENT_TYPES_MAX + 1);
    let consumers = of("semel_inbox_claims_total{") / 6;
    assert_eq!(consumers, CONSUMERS_MAX + 1);
    assert_has(
        &text,
        &[
            "semel_inbox_received_total{consumer=\"mailer@1\",event_type=\"other\"} 10",
            "semel_inbox_claims_total{consumer=\"other\",status=\"new\"} 11",
        ],
    );
}
