//! Every key of a consumer does something.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use semel_core::inbox::order::{GapThen, OnTerminal};
use semel_core::inbox::{Baseline, Order, UnknownPolicy};
use semel_inbox::Ack;
use semel_inbox::Vendor;
use semel_inbox::policy::replay::SideEffects;
use semel_policy::CompiledConsumer;
use semel_policy::file::consumer::{Encoding, Fingerprint, Kind, Scheme};
use semel_policy::value::SourceUrl;

use super::with;

/// Settings, and how the consumer differs from the default.
type Row = (&'static str, fn(&CompiledConsumer) -> bool);

fn is_place(places: impl std::fmt::Debug, expected: &str) -> bool {
    format!("{places:?}").contains(expected)
}

fn sequence(one: &CompiledConsumer) -> Option<(Baseline, Duration, GapThen, OnTerminal)> {
    match one.policy.plan.order {
        Order::Sequence {
            baseline,
            on_gap,
            on_terminal,
        } => Some((baseline, on_gap.deadline, on_gap.then, on_terminal)),
        Order::None | Order::Arrival { .. } => None,
    }
}

const IDENTITY: [Row; 26] = [
    ("source: http", |c| c.source == Some(SourceUrl::Http)),
    (
        "source: 'file:a.jsonl'",
        |c| matches!(&c.source, Some(SourceUrl::File { path, follow: false, .. }) if path == Path::new("a.jsonl")),
    ),
    ("source: 'file:/a.jsonl?follow=true'", |c| {
        matches!(&c.source, Some(SourceUrl::File { follow: true, .. }))
    }),
    ("source: 'file:a.jsonl'", |c| c.fields.id.is_empty()),
    ("source: 'file:a.jsonl?lines=whole'", |c| {
        is_place(&c.fields.id, "$.id")
    }),
    ("id: { header: X-Id }", |c| is_place(&c.fields.id, "x-id")),
    ("id: { header: X-Id }", |c| !c.fields.cloud_events),
    ("id: { body: $.event.id }", |c| {
        is_place(&c.fields.id, "$.event.id")
    }),
    ("id: { template: '{a}#{b}' }", |c| {
        is_place(&c.fields.id, "Template(")
    }),
    ("id: cloudevents", |c| {
        c.fields.id.is_empty() && c.fields.cloud_events
    }),
    ("id: { cloudevents: true }", |c| {
        c.fields.id.is_empty() && c.fields.cloud_events
    }),
    ("id: stripe", |c| is_place(&c.fields.id, "$.id")),
    ("id: stripe", |c| c.fingerprint == Fingerprint::Off),
    ("id: github", |c| {
        is_place(&c.fields.id, "x-github-delivery")
    }),
    ("id: [{ header: X-Id }, { body: $.id }, cloudevents]", |c| {
        c.fields.id.len() == 2 && c.fields.cloud_events
    }),
    ("key: { body: $.order.id }", |c| {
        is_place(&c.fields.lane, "$.order.id")
    }),
    ("key: { header: X-Key }", |c| {
        is_place(&c.fields.lane, "x-key")
    }),
    ("key: { template: '{a}' }", |c| {
        is_place(&c.fields.lane, "Template(")
    }),
    ("id: { header: X-Id }, key: cloudevents", |c| {
        is_place(&c.fields.id, "x-id") && c.fields.cloud_events
    }),
    ("sequence: { body: $.version }", |c| {
        is_place(&c.fields.sequence, "$.version")
    }),
    ("sequence: { header: X-Seq }", |c| {
        is_place(&c.fields.sequence, "x-seq")
    }),
    ("type: github", |c| {
        is_place(&c.fields.kind, "x-github-event")
    }),
    ("type: stripe", |c| is_place(&c.fields.kind, "$.type")),
    ("tenant: { header: X-Tenant }", |c| {
        is_place(&c.fields.tenant, "x-tenant")
    }),
    ("tenant: { body: $.tenant }", |c| {
        is_place(&c.fields.tenant, "$.tenant")
    }),
    ("version: 2", |c| c.name().to_string() == "a@2"),
];

const WORK: [Row; 27] = [
    ("paused: true", |c| c.paused),
    ("backlog_max: 500", |c| c.policy.backlog_max == Some(500)),
    ("fingerprint: raw", |c| c.fingerprint == Fingerprint::Raw),
    ("fingerprint: off", |c| c.fingerprint == Fingerprint::Off),
    ("order: arrival", |c| {
        matches!(
            c.policy.plan.order,
            Order::Arrival {
                on_terminal: OnTerminal::Park
            }
        )
    }),
    ("order: { by: arrival, on_terminal: advance }", |c| {
        matches!(
            c.policy.plan.order,
            Order::Arrival {
                on_terminal: OnTerminal::Advance
            }
        )
    }),
    ("order: sequence", |c| {
        sequence(c).is_some_and(|(baseline, ..)| baseline == Baseline::FirstSeen)
    }),
    ("order: { by: sequence, baseline: 7 }", |c| {
        sequence(c).is_some_and(|(baseline, ..)| baseline == Baseline::After(7))
    }),
    ("order: { by: sequence, gap_deadline: 7m }", |c| {
        sequence(c).is_some_and(|(_, deadline, ..)| deadline.as_secs() == 420)
    }),
    ("order: { by: sequence, gap_then: advance }", |c| {
        sequence(c).is_some_and(|(_, _, then, _)| then == GapThen::Advance)
    }),
    ("order: { by: sequence, on_terminal: advance }", |c| {
        sequence(c).is_some_and(|(.., on_terminal)| on_terminal == OnTerminal::Advance)
    }),
    ("workers: 3", |c| c.policy.workers == 3),
    ("lease: 7s", |c| c.policy.lease.get().as_secs() == 7),
    ("deadline: 7s", |c| c.policy.deadline.as_secs() == 7),
    // A lease that is not written gives way to the deadline.
    ("deadline: 7s", |c| c.policy.lease.get().as_secs() == 7),
    ("unknown: hold", |c| {
        c.policy.on_unknown == UnknownPolicy::Hold
    }),
    ("strategy: { type: compare-and-set }", |c| {
        c.strategy == Kind::CompareAndSet
    }),
    ("strategy: { messageIdRequired: false }", |c| {
        !c.policy.id_required
    }),
    ("inbox: { retry: { maxAttempts: 3 } }", |c| {
        c.policy.retry.attempts_max() == 3
    }),
    ("inbox: { retry: { backoff: fixed } }", |c| {
        c.policy.retry.delay(9, 0.0).as_secs() == 1
    }),
    ("inbox: { retry: { backoff: fixed-jitter } }", |c| {
        c.policy.retry.delay(9, 0.0).as_millis() == 500
    }),
    ("inbox: { retry: { first: 10m } }", |c| {
        c.policy.retry.delay_max(9).as_secs() == 600
    }),
    ("inbox: { retry: { max: 500ms } }", |c| {
        c.policy.retry.delay_max(1).as_millis() == 500
    }),
    ("inbox: { parkingLot: false }", |c| !c.policy.parking),
    ("inbox: { enabled: false }", |c| {
        !c.has_inbox && c.policy.ack == Ack::AfterEffect
    }),
    ("max_body: 4KiB", |c| c.body_bytes_max == 4096),
    ("deliver: 'http://a/b?c=d'", |c| {
        c.deliver
            .as_ref()
            .is_some_and(|to| to.url.as_str() == "http://a/b?c=d" && to.timeout.as_secs() == 60)
    }),
];

const REST: [Row; 24] = [
    (
        "deliver: { url: 'http://a', timeout: 7s, headers: { X-A: b } }",
        |c| {
            c.deliver
                .as_ref()
                .is_some_and(|to| to.timeout.as_secs() == 7)
        },
    ),
    (
        "deliver: { url: 'http://a', headers: { Authorization: b } }",
        |c| {
            c.deliver.as_ref().is_some_and(|to| {
                let mut headers = to.headers.iter();
                headers.any(|(name, value)| name == "authorization" && value.expose() == "b")
            })
        },
    ),
    ("ack: { timing: after-effect }", |c| {
        c.policy.ack == Ack::AfterEffect
    }),
    ("ack: { timing: after-db-transaction }", |c| {
        c.policy.ack == Ack::AfterEffect
    }),
    ("inbox: { ackAfterInboxInsert: false }", |c| {
        c.policy.ack == Ack::AfterEffect
    }),
    ("source: http, ack: { timing: after-effect }", |c| {
        c.wait == Some(Duration::from_secs(10))
    }),
    (
        "source: http, ack: { timing: after-effect }, wait: 3s",
        |c| c.wait == Some(Duration::from_secs(3)),
    ),
    ("dedup: { table: done }", |c| {
        c.processed_view.as_deref() == Some("done")
    }),
    ("dedup: { retention: 30d }", |c| {
        c.policy.plan.retention.keep().as_secs() == 30 * 86_400
    }),
    ("dedup: { retentionDays: 3 }", |c| {
        c.policy.plan.retention.keep().as_secs() == 3 * 86_400
    }),
    ("replay: { allowed: true }", |c| c.policy.replay.allowed),
    ("replay: { sideEffects: allow }", |c| {
        c.policy.replay.side_effects == SideEffects::Allow
    }),
    ("replay: { sideEffects: none }", |c| {
        c.policy.replay.side_effects == SideEffects::None
    }),
    ("replay: { allowed: true, rebuild: true }", |c| {
        c.policy.replay.rebuild
    }),
    ("replay: { window: 2d }", |c| {
        c.windows.replay == Some(Duration::from_secs(2 * 86_400))
    }),
    ("broker_retention: 2d", |c| {
        c.windows.broker == Some(Duration::from_secs(2 * 86_400))
    }),
    ("dlq_retention: 2d", |c| {
        c.windows.dlq == Some(Duration::from_secs(2 * 86_400))
    }),
    (
        "processed_log: { topic: t.done, dead_letters: t.dead }, source: 'kafka://h/t', deliver: 'http://127.0.0.1:9/'",
        |c| {
            c.processed_log.as_ref().is_some_and(|log| {
                log.source.expose() == "kafka://h/t"
                    && log.topic == "t.done"
                    && log.dead_letters == "t.dead"
                    && !c.has_inbox
                    && c.is_served()
                    && c.policy.ack == Ack::AfterEffect
            })
        },
    ),
    ("alerts: { duplicateSpike: false }", |c| {
        !c.policy.alerts.duplicate_spike
    }),
    ("alerts: { sequenceGap: false }", |c| {
        !c.policy.alerts.sequence_gap
    }),
    ("alerts: { pendingAgeSeconds: off }", |c| {
        c.policy.alerts.pending_age.is_none()
    }),
    ("alerts: { parkedMessages: off }", |c| {
        c.policy.alerts.parked.is_none()
    }),
    (
        "source: http, signature: { scheme: stripe, secret: s, tolerance: 1m }",
        |c| {
            let signature = c.signature.as_ref();
            signature.is_some_and(|s| {
                s.scheme == Scheme::Vendor(Vendor::Stripe)
                    && s.tolerance == Some(Duration::from_secs(60))
            })
        },
    ),
    (
        "source: http, signature: { scheme: generic, secret: [a, b], header: X-Sig, encoding: base64, prefix: 'v1=' }",
        |c| {
            c.signature.as_ref().is_some_and(|s| {
                s.secrets.len() == 2
                    && s.header.as_ref().is_some_and(|name| name == "x-sig")
                    && s.encoding == Encoding::Base64
                    && s.prefix == "v1="
            })
        },
    ),
];

#[test]
fn every_key_does_something() {
    let plain = with("");
    for (text, holds) in IDENTITY.iter().chain(&WORK).chain(&REST) {
        assert!(!holds(&plain), "{text} is the default");
        assert!(holds(&with(text)), "{text}");
    }
}

#[test]
fn every_key_of_the_schema_is_tested() {
    let schema = semel_policy::schema();
    let known = schema["definitions"]["Consumer"]["properties"]
        .as_object()
        .unwrap();
    let rows = IDENTITY.iter().chain(&WORK).chain(&REST);
    let tested: BTreeSet<&str> = rows
        .filter_map(|(text, _)| text.split(':').next())
        .collect();
    let others = ["signature", "wait"];
    for name in known.keys() {
        assert!(
            tested.contains(name.as_str()) || others.contains(&name.as_str()),
            "{name}"
        );
    }
}

#[test]
fn presets_follow_from_the_signature() {
    let stripe = with("source: http, signature: { scheme: stripe, secret: s }");
    assert!(is_place(&stripe.fields.id, "$.id") && is_place(&stripe.fields.kind, "$.type"));
    assert_eq!(stripe.fingerprint, Fingerprint::Off);
    let github = with("source: http, signature: { scheme: github, secret: s }");
    assert!(is_place(&github.fields.id, "x-github-delivery"));
    let signature = github.signature.unwrap();
    assert_eq!(signature.header.unwrap(), "x-hub-signature-256");
    assert_eq!(signature.tolerance, None);
    assert_eq!(github.fingerprint, Fingerprint::CanonicalJson);
    assert!(!stripe.fields.cloud_events && !github.fields.cloud_events);
    let shopify = with("source: http, signature: { scheme: shopify, secret: s }");
    assert!(is_place(&shopify.fields.id, "x-shopify-event-id"));
    assert!(is_place(&shopify.fields.tenant, "x-shopify-shop-domain"));
    let one = with("source: http, signature: { scheme: shopify, secret: s }, tenant: public");
    assert_eq!(one.fields.tenant, None);
    let standard =
        with("source: http, signature: { scheme: standard-webhooks, secret: whsec_AAAA }");
    assert!(
        is_place(&standard.fields.id, "webhook-id") && is_place(&standard.fields.kind, "$.type")
    );
    assert!(standard.signature.unwrap().tolerance.is_some());
}

#[test]
fn every_vendor_with_events_is_a_scheme_and_a_preset_of_ids() {
    for vendor in Vendor::all().filter(|vendor| vendor.events().is_some()) {
        let name = vendor.name();
        let places = with(&format!("source: http, id: {name}, type: {name}")).fields;
        assert_eq!(places.id.len(), vendor.events().unwrap().id.len(), "{name}");
        assert!(places.kind.is_some(), "{name}");
        assert!(<Scheme as semel_policy::value::Listed>::names().contains(&name));
    }
}

#[test]
fn a_consumer_with_nothing_special_is_legal() {
    let plain = with("");
    assert!(plain.has_inbox && !plain.is_served() && !plain.is_posted());
    assert!(is_place(&plain.fields.id, "idempotency-key") && plain.fields.cloud_events);
    assert_eq!(plain.body_bytes_max, 1024 * 1024);
}

#[test]
fn two_versions_of_a_consumer_stand_beside_each_other() {
    let text = "consumers: { mailer: { version: 2 }, mailer@1: { deliver: 'http://a/b' } }";
    let file = super::super::parse(text).unwrap();
    let names = file.consumers().unwrap();
    let names: Vec<_> = names.iter().map(|one| one.name().to_string()).collect();
    assert_eq!(names, ["mailer@2", "mailer@1"]);
}
