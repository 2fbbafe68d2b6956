//! One consumer in words.

use semel_core::duration::show;
use semel_core::inbox::order::{GapThen, OnTerminal};
use semel_core::inbox::{Baseline, Order, UnknownPolicy};
use semel_inbox::policy::replay::SideEffects;
use semel_inbox::{Ack, Consumer};

use super::Lines;
use super::route::header;
use super::waits;
use crate::compile::CompiledConsumer;
use crate::compile::consumer::Locator;
use crate::file::consumer::{Fingerprint, Kind};
use crate::value::{Size, SourceUrl};

/// What a consumer does.
pub(super) fn describe(consumer: &CompiledConsumer) -> Lines {
    let policy = &consumer.policy;
    let mut lines = vec![
        ("strategy", strategy(consumer)),
        ("from", source(consumer)),
        ("id", id(consumer)),
        ("same", fingerprint(consumer.fingerprint).to_owned()),
        ("tenant", tenant(consumer.fields.tenant.as_ref())),
        ("order", order(consumer)),
        ("told", told(consumer)),
    ];
    if let Some(log) = &consumer.processed_log {
        let dead = &log.dead_letters;
        let then = format!("published to the topic {dead}, as what cannot be read is at once");
        lines.push(("attempts", waits::attempts(&policy.retry)));
        lines.push(("then", then));
    }
    if consumer.has_inbox {
        lines.push(("attempts", waits::attempts(&policy.retry)));
        lines.push(("then", then(policy).to_owned()));
        lines.push(("crash", crash(policy)));
        lines.push((
            "workers",
            format!(
                "{} at once in each process; each attempt has {}",
                policy.workers,
                show(policy.deadline)
            ),
        ));
        if let Some(backlog_max) = policy.backlog_max {
            let limit =
                format!("more than {backlog_max} that wait are refused until some have run");
            lines.push(("backlog", limit));
        }
        if consumer.paused {
            let paused =
                "from the start, until an operator resumes it: messages are received and none runs";
            lines.push(("paused", paused.to_owned()));
        }
    }
    lines.push(("intents", intents(policy)));
    lines.push(("replays", replays(consumer)));
    lines.push(("remembered", remembered(consumer)));
    lines.push(("alerts", alerts(consumer)));
    lines.push(("handled", handled(consumer)));
    lines
}

fn strategy(consumer: &CompiledConsumer) -> String {
    if let Some(log) = &consumer.processed_log {
        let topic = &log.topic;
        return format!(
            "processed ids are in the topic {topic}, in one transaction with offsets; nothing is stored elsewhere"
        );
    }
    let kind = consumer.strategy;
    let means = match kind {
        Kind::Inbox => "messages are stored first and handled from the store",
        Kind::ProcessedMessage => "the effect and the mark that it happened commit together",
        Kind::UniqueBusinessKey => "a unique key of the business refuses a second effect",
        Kind::AggregateVersionUpsert => "each version of an aggregate is applied once, in order",
        Kind::UpsertProjection => "what is written replaces what was there",
        Kind::CompareAndSet => "a transition happens only from the state that it expects",
        Kind::ExternalIdempotencyKey => "the provider recognises a key",
        Kind::DeterministicOutputId => "what is written has an id that follows from the message",
        Kind::InboxPlusNotificationIntent => {
            "messages are stored first, and what is to be sent is stored with the effect"
        }
        Kind::SequenceGapDetection => "no version may be missing",
    };
    format!("{}: {means}", kind.name())
}

fn source(consumer: &CompiledConsumer) -> String {
    let max = Size(consumer.body_bytes_max);
    match &consumer.source {
        None => "programs hand them in; there is no source here".to_owned(),
        Some(SourceUrl::Http) => {
            let name = consumer.name().name();
            let signed = match &consumer.signature {
                Some(signature) => {
                    let place = signature.header.as_ref();
                    let place = place.map_or_else(|| "the body".to_owned(), header);
                    format!("signed in {place} ({})", signature.scheme.name())
                }
                None => "not signed".to_owned(),
            };
            format!("POST /inbox/{name}, {signed}; at most {max}")
        }
        Some(SourceUrl::File { path, follow, .. }) => {
            let follow = match follow {
                true => ", and those added later",
                false => "",
            };
            format!(
                "the lines of {}{follow}; at most {max} each",
                path.display()
            )
        }
        Some(SourceUrl::Broker(url)) => format!("{}: {url}", url.broker().name()),
    }
}

fn id(consumer: &CompiledConsumer) -> String {
    let missing = match consumer.policy.id_required {
        true => "without one a message is refused",
        false => "without one it is derived from the content",
    };
    match consumer.source {
        None => missing.to_owned(),
        Some(_) => {
            let found = places(
                consumer,
                &consumer.fields.id,
                "source and id of a CloudEvent",
            );
            let later = consumer.fields.id_later.iter().map(place);
            let later: String = later.map(|place| format!(", else {place}")).collect();
            format!("{found}{later}; {missing}")
        }
    }
}

/// Where something is found: in its places, in a CloudEvent, in what the source itself knows.
fn places<'a>(
    consumer: &CompiledConsumer,
    places: impl IntoIterator<Item = &'a Locator>,
    cloud_event: &str,
) -> String {
    let envelope = matches!(
        consumer.source,
        Some(SourceUrl::File {
            whole_lines: false,
            ..
        })
    );
    let event = consumer.fields.cloud_events.then(|| cloud_event.to_owned());
    let source = match &consumer.source {
        Some(SourceUrl::Broker(url)) => {
            Some(format!("what {} deduplicates by", url.broker().name()))
        }
        _ => envelope.then(|| "the line's envelope".to_owned()),
    };
    let found: Vec<_> = places
        .into_iter()
        .map(place)
        .chain(event)
        .chain(source)
        .collect();
    match found.is_empty() {
        true => "nowhere".to_owned(),
        false => found.join(", else "),
    }
}

fn place(place: &Locator) -> String {
    match place {
        Locator::Header(name) => format!("the header {}", header(name)),
        Locator::Body(path) => format!("{} in the body", path.as_str()),
        Locator::Template(_) => "a template of the message's fields".to_owned(),
        Locator::Coordinates => "its place in the broker".to_owned(),
    }
}

const fn fingerprint(fingerprint: Fingerprint) -> &'static str {
    match fingerprint {
        Fingerprint::Raw => {
            "the whole body, byte by byte; another one under the same id is parked as a conflict"
        }
        Fingerprint::CanonicalJson => {
            "the whole body; the order of JSON fields does not matter; another one under the same id is parked as a conflict"
        }
        Fingerprint::Off => "whatever has the same id",
    }
}

fn tenant(found: Option<&Locator>) -> String {
    match found {
        None => "everybody is the same".to_owned(),
        Some(found) => format!("{}, believed as it is; without it the public", place(found)),
    }
}

fn order(consumer: &CompiledConsumer) -> String {
    let order = consumer.policy.plan.order;
    if consumer.processed_log.is_some() {
        return "by arrival for each key of a partition; after one that failed for good the others go on".to_owned();
    }
    if !consumer.has_inbox && order != Order::None {
        return "up to the handler: without stored messages none can wait".to_owned();
    }
    let found = |at: &Option<Locator>, cloud_event: &str| match consumer.source {
        None => String::new(),
        Some(_) => format!(" ({})", places(consumer, at, cloud_event)),
    };
    let key = found(&consumer.fields.lane, "partitionkey of a CloudEvent");
    match order {
        Order::None => "none: messages run as they come".to_owned(),
        Order::Arrival { on_terminal } => {
            format!("by arrival for each key{key}; {}", behind(on_terminal))
        }
        Order::Sequence {
            baseline,
            on_gap,
            on_terminal,
        } => {
            let sequence = found(&consumer.fields.sequence, "sequence of a CloudEvent");
            let begins = match baseline {
                Baseline::FirstSeen => "whatever comes first".to_owned(),
                Baseline::After(done) => format!("version {}", done + 1),
            };
            let (deadline, then) = (
                show(on_gap.deadline),
                match on_gap.then {
                    GapThen::Hold => "then stay parked until it comes",
                    GapThen::Advance => "then go on without it",
                },
            );
            let required = match consumer.policy.sequence_required {
                true => "a message without key and sequence is refused",
                false => "a message without key or sequence runs at once",
            };
            format!(
                "by sequence{sequence} for each key{key}, beginning with {begins}: older ones are skipped, the next one runs, later ones wait \
                 {deadline} for a missing one, {then}; {}; {required}",
                behind(on_terminal)
            )
        }
    }
}

const fn behind(on_terminal: OnTerminal) -> &'static str {
    match on_terminal {
        OnTerminal::Park => "behind one that failed for good the others are parked",
        OnTerminal::Advance => "after one that failed for good the others go on",
    }
}

fn told(consumer: &CompiledConsumer) -> String {
    match (consumer.policy.ack, consumer.wait) {
        (Ack::AfterReceive, _) => "as soon as the message is stored".to_owned(),
        (Ack::AfterEffect, None) => "when the effect is applied".to_owned(),
        (Ack::AfterEffect, Some(wait)) => {
            format!(
                "when the effect is applied, for which a sender waits up to {}",
                show(wait)
            )
        }
    }
}

const fn then(policy: &Consumer) -> &'static str {
    match policy.parking {
        true => "parked for a person to look at; a terminal error is FAILED_TERMINAL at once",
        false => "FAILED_TERMINAL, as a terminal error is at once",
    }
}

fn crash(policy: &Consumer) -> String {
    let lease = show(policy.lease.get());
    match policy.on_unknown {
        UnknownPolicy::Rerun => format!(
            "{lease} after the last sign of life another worker runs it again, with a higher fence"
        ),
        UnknownPolicy::Hold => {
            format!("{lease} after the last sign of life it is parked until a person decides")
        }
    }
}

fn intents(policy: &Consumer) -> String {
    let ids = match policy.derived_intent_ids {
        true => "their ids follow from the message",
        false => "a handler may choose their ids",
    };
    match policy.provider_keys_required {
        true => format!("only to targets that take an idempotency key; {ids}"),
        false => ids.to_owned(),
    }
}

fn replays(consumer: &CompiledConsumer) -> String {
    let replay = consumer.policy.replay;
    let allowed = match replay.allowed {
        true => "allowed",
        false => "refused, unless forced with a reason",
    };
    let rebuild = match replay.rebuild {
        true => "; versions that were applied are applied again",
        false => "",
    };
    let intents = match replay.side_effects {
        SideEffects::Suppress => "intents are suppressed and counted",
        SideEffects::None => {
            "there should be no intents; one that is made is suppressed and counted"
        }
        SideEffects::Allow => "intents are sent unless they are remembered",
    };
    format!("{allowed}{rebuild}; {intents}")
}

/// How long, and why that suffices.
fn remembered(consumer: &CompiledConsumer) -> String {
    let keep = show(consumer.policy.plan.retention.keep());
    let windows = consumer.windows;
    let is_tried = consumer.has_inbox || consumer.processed_log.is_some();
    let horizon = is_tried.then(|| consumer.policy.retry.horizon());
    let known = [
        ("replays go back", windows.replay),
        ("the source delivers again within", windows.broker),
        ("dead letters come back within", windows.dlq),
        (
            "attempts wait",
            horizon.filter(|horizon| !horizon.is_zero()),
        ),
    ];
    let known = known
        .into_iter()
        .filter_map(|(what, window)| Some(format!("{what} {}", show(window?))));
    let known: Vec<_> = known.collect();
    let view = match &consumer.processed_view {
        Some(view) => format!("; people find it in the view {view}"),
        None => String::new(),
    };
    match known.is_empty() {
        true => format!("{keep}{view}"),
        false => format!("{keep}, which is enough: {}{view}", known.join(", ")),
    }
}

fn alerts(consumer: &CompiledConsumer) -> String {
    if consumer.processed_log.is_some() {
        return "none, because they are judged by stored messages".to_owned();
    }
    let policy = &consumer.policy;
    let alerts = policy.alerts;
    let is_by_sequence = matches!(policy.plan.order, Order::Sequence { .. });
    let known = [
        alerts
            .duplicate_spike
            .then(|| "more than a tenth are duplicates".to_owned()),
        (alerts.sequence_gap && is_by_sequence).then(|| "a version is missing".to_owned()),
        alerts
            .pending_age
            .map(|age| format!("something waits longer than {}", show(age))),
        alerts
            .parked
            .map(|parked| format!("{parked} or more are parked or failed")),
    ];
    let known: Vec<_> = known.into_iter().flatten().collect();
    match known.is_empty() {
        true => "none".to_owned(),
        false => known.join(", "),
    }
}

fn handled(consumer: &CompiledConsumer) -> String {
    match (&consumer.deliver, consumer.has_inbox) {
        (Some(deliver), _) => {
            let timeout = show(deliver.timeout);
            let headers: Vec<_> = deliver.headers.iter().map(|(name, _)| header(name)).collect();
            let headers = match headers.is_empty() {
                true => String::new(),
                false => format!(", with {}", headers.join(", ")),
            };
            format!("POST {}{headers}; it has {timeout} to answer", deliver.url)
        }
        (None, true) => "by a program; semel serve runs no worker for it".to_owned(),
        (None, false) => {
            "by a program, as a transactional consumer; there is no inbox, and semel serve runs nothing for it".to_owned()
        }
    }
}
