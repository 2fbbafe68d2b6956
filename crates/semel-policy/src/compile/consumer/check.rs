//! Rules about several settings of a consumer at once, and limits.

use std::time::Duration;

use semel_core::duration::show;
use semel_core::inbox::Order;

use super::{CompiledConsumer, at, strategy};
use crate::compile::at_most;
use crate::file::Consumer;
use crate::file::consumer::{IdField, Kind};
use crate::limits::MESSAGE_BYTES_MAX;
use crate::tree::Path;
use crate::tree::read::Fault;
use crate::value::Size;

/// Checks that nothing needs stored messages where there are none.
pub(super) fn inbox(consumer: &Consumer) -> Result<(), Fault> {
    if consumer.inbox.enabled != Some(false) || consumer.processed_log.is_some() {
        return Ok(());
    }
    let kind = consumer.strategy.kind;
    let needs = [
        ("deliver", consumer.deliver.is_some(), at(["deliver"])),
        ("source", consumer.source.is_some(), at(["source"])),
        ("order", consumer.order.is_some(), at(["order"])),
        (
            "inbox.retry",
            consumer.inbox.retry.is_some(),
            at(["inbox", "retry"]),
        ),
        (
            "inbox.parkingLot",
            consumer.inbox.parking_lot.is_some(),
            at(["inbox", "parkingLot"]),
        ),
        (
            "strategy.type",
            kind.is_some_and(strategy::needs_inbox),
            at(["strategy", "type"]),
        ),
    ];
    match needs.into_iter().find(|(_, is_written, _)| *is_written) {
        None => Ok(()),
        Some((name, _, path)) => {
            let message = format!("expected true, because {name} needs stored messages");
            Err(Fault::said(at(["inbox", "enabled"]), message).beside(path))
        }
    }
}

/// Checks what settings mean together.
pub(super) fn together(written: &Consumer, consumer: &CompiledConsumer) -> Result<(), Fault> {
    at_most(Size(consumer.body_bytes_max), MESSAGE_BYTES_MAX, || {
        at(["max_body"])
    })?;
    guards(written)?;
    sequence(consumer)?;
    business_key(written)?;
    posted(consumer)?;
    retention(written, consumer)
}

/// What a strategy is about cannot be switched off beside it.
fn guards(written: &Consumer) -> Result<(), Fault> {
    let strategy = &written.strategy;
    let (kind, name, said) = match strategy.kind {
        Some(kind @ Kind::DeterministicOutputId) => (
            kind,
            "deterministicNotificationId",
            strategy.deterministic_notification_id,
        ),
        Some(kind @ Kind::ExternalIdempotencyKey) => (
            kind,
            "externalProviderIdempotency",
            strategy.external_provider_idempotency,
        ),
        _ => return Ok(()),
    };
    match said {
        Some(false) => {
            let message = format!("expected true, because strategy.type is {}", kind.name());
            let fault = Fault::said(at(["strategy", name]), message);
            Err(fault.beside(at(["strategy", "type"])))
        }
        Some(true) | None => Ok(()),
    }
}

fn sequence(consumer: &CompiledConsumer) -> Result<(), Fault> {
    let is_ordered = matches!(consumer.policy.plan.order, Order::Sequence { .. });
    match consumer.policy.sequence_required && !is_ordered {
        false => Ok(()),
        true => {
            let message = "expected order: sequence, or a strategy by version, because nothing looks at the sequence \
                           otherwise";
            Err(Fault::said(at(["strategy", "sequenceRequired"]), message))
        }
    }
}

/// The id of a message that has a business key is that key; another id would let the key in twice.
fn business_key(written: &Consumer) -> Result<(), Fault> {
    let is_key = |field: &IdField| matches!(field, IdField::Body(_) | IdField::Template(_));
    let has_key = written.id.as_ref().is_some_and(|id| id.iter().all(is_key));
    let kind = written.strategy.kind;
    match kind == Some(Kind::UniqueBusinessKey) && written.source.is_some() && !has_key {
        false => Ok(()),
        true => {
            let message = "expected body or template, because strategy.type is unique-business-key: the id of a message is \
                           its business key";
            Err(Fault::said(at(["id"]), message).beside(at(["strategy", "type"])))
        }
    }
}

/// The name of a consumer is part of the path that messages are posted to.
fn posted(consumer: &CompiledConsumer) -> Result<(), Fault> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let name = consumer.name().name();
    let is_segment = name.bytes().all(is_plain) && !matches!(name, "." | "..");
    match !consumer.is_posted() || is_segment {
        true => Ok(()),
        false => {
            let message = "expected a name of letters, digits, -, _, . and ~, because messages are posted to /inbox/NAME";
            Err(Fault::said(Path::default(), message).of_key())
        }
    }
}

/// What can come again must still be remembered.
fn retention(written: &Consumer, consumer: &CompiledConsumer) -> Result<(), Fault> {
    let keep = consumer.policy.plan.retention.keep();
    let Some((name, path, longest)) = longest(consumer).filter(|(.., longest)| *longest > keep)
    else {
        return Ok(());
    };
    let (field, found) = match (&written.dedup.retention_days, &written.dedup.retention) {
        (Some(_), _) => ("retentionDays", show(keep)),
        (None, Some(_)) => ("retention", show(keep)),
        (None, None) => ("retention", format!("{} by default", show(keep))),
    };
    let message = format!(
        "expected at least the {} of {name}, found {found}",
        show(longest)
    );
    Err(Fault::said(at(["dedup", field]), message).beside(path))
}

/// The latest that a message can come again, what says so, and where that stands.
fn longest(consumer: &CompiledConsumer) -> Option<(&'static str, Path, Duration)> {
    let windows = consumer.windows;
    let is_tried = consumer.has_inbox || consumer.processed_log.is_some();
    let horizon = is_tried.then(|| consumer.policy.retry.horizon());
    let all = [
        ("replay.window", at(["replay", "window"]), windows.replay),
        ("broker_retention", at(["broker_retention"]), windows.broker),
        ("dlq_retention", at(["dlq_retention"]), windows.dlq),
        (
            "all waits between attempts",
            at(["inbox", "retry"]),
            horizon,
        ),
    ];
    let all = all
        .into_iter()
        .filter_map(|(name, path, window)| Some((name, path, window?)));
    all.max_by_key(|(.., window)| *window)
}
