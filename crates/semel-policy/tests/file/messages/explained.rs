//! What `semel check` says about consumers and intents.

use insta::assert_snapshot;
use semel_policy::{explain, warnings};

use super::file;

/// Without what is said about the store, the admin side and the gateway.
fn explained(text: &str) -> String {
    let said = explain(&file(&format!("admin: off\n{text}")));
    let (_, said) = said.split_once("no gateway\n").expect("there is none");
    said.trim_start_matches('\n').to_owned()
}

fn warned(text: &str) -> String {
    warnings(&file(text)).join("\n")
}

#[test]
fn the_template_in_words() {
    assert_snapshot!(explained(include_str!("../consumer-policy.yaml")), @r"
    consumer search-indexer@1
      strategy    aggregate-version-upsert: each version of an aggregate is applied once, in order
      from        programs hand them in; there is no source here
      id          without one a message is refused
      same        the whole body; the order of JSON fields does not matter; another one under the same id is parked as a conflict
      tenant      everybody is the same
      order       by sequence for each key, beginning with whatever comes first: older ones are skipped, the next one runs, later ones wait 5m for a missing one, then stay parked until it comes; behind one that failed for good the others are parked; a message without key and sequence is refused
      told        when the effect is applied
      attempts    10, after waits of 1s 2s 4s 8s … 4m16s, each drawn between half of it and all of it; 8m 31s of waiting at most
      then        parked for a person to look at; a terminal error is FAILED_TERMINAL at once
      crash       30s after the last sign of life another worker runs it again, with a higher fence
      workers     16 at once in each process; each attempt has 1m
      intents     their ids follow from the message
      replays     allowed; versions that were applied are applied again; there should be no intents; one that is made is suppressed and counted
      remembered  30d, which is enough: attempts wait 8m 31s; people find it in the view processed_message
      alerts      more than a tenth are duplicates, a version is missing, something waits longer than 5m, 1 or more are parked or failed
      handled     by a program; semel serve runs no worker for it

    consumer notification-sender@1
      strategy    inbox-plus-notification-intent: messages are stored first, and what is to be sent is stored with the effect
      from        programs hand them in; there is no source here
      id          without one a message is refused
      same        the whole body; the order of JSON fields does not matter; another one under the same id is parked as a conflict
      tenant      everybody is the same
      order       none: messages run as they come
      told        as soon as the message is stored
      attempts    10, after waits of 1s 2s 4s 8s … 4m16s, each drawn between half of it and all of it; 8m 31s of waiting at most
      then        parked for a person to look at; a terminal error is FAILED_TERMINAL at once
      crash       30s after the last sign of life another worker runs it again, with a higher fence
      workers     16 at once in each process; each attempt has 1m
      intents     only to targets that take an idempotency key; their ids follow from the message
      replays     refused, unless forced with a reason; intents are suppressed and counted
      remembered  7d, which is enough: attempts wait 8m 31s
      alerts      more than a tenth are duplicates, something waits longer than 1m, 1 or more are parked or failed
      handled     by a program; semel serve runs no worker for it
    ");
}

#[test]
fn a_webhook_in_words() {
    let text = "
consumers:
  stripe-events:
    source: http
    signature: { scheme: stripe, secret: whsec }
    deliver: { url: 'http://127.0.0.1:9000/stripe?token=t', timeout: 5s, headers: { Authorization: t } }
    ack: { timing: after-effect }
    unknown: hold
    broker_retention: 3d
    dlq_retention: 5d
";
    assert_snapshot!(explained(text), @r"
    the inbox listens on 127.0.0.1:7072 for messages that are posted to /inbox/NAME

    consumer stripe-events@1
      strategy    inbox: messages are stored first and handled from the store
      from        POST /inbox/stripe-events, signed in Stripe-Signature (stripe); at most 1MiB
      id          $.id in the body; without one a message is refused
      same        whatever has the same id
      tenant      $.account in the body, believed as it is; without it the public
      order       none: messages run as they come
      told        when the effect is applied, for which a sender waits up to 10s
      attempts    10, after waits of 1s 2s 4s 8s … 4m16s, each drawn between half of it and all of it; 8m 31s of waiting at most
      then        parked for a person to look at; a terminal error is FAILED_TERMINAL at once
      crash       30s after the last sign of life it is parked until a person decides
      workers     16 at once in each process; each attempt has 1m
      intents     their ids follow from the message
      replays     refused, unless forced with a reason; intents are suppressed and counted
      remembered  7d, which is enough: the source delivers again within 3d, dead letters come back within 5d, attempts wait 8m 31s
      alerts      more than a tenth are duplicates, something waits longer than 5m, 1 or more are parked or failed
      handled     POST http://127.0.0.1:9000/stripe?…, with Authorization; it has 5s to answer

    think about:
      - stripe-events@1: unknown is hold: every crash of a worker leaves messages for a person to decide about
    ");
}

#[test]
fn a_file_in_words() {
    let text = "
consumers:
  lines:
    source: file:events.jsonl?follow=true
    version: 2
    id: [{ template: '{order}#{line}' }, cloudevents]
    key: { body: $.order }
    sequence: { body: $.line }
    order: { by: sequence, baseline: 0, gap_deadline: 1h, gap_then: advance, on_terminal: advance }
    tenant: { header: X-Tenant }
    fingerprint: canonical_json
    strategy: { messageIdRequired: false, deterministicNotificationId: false }
    inbox: { retry: { maxAttempts: 3, backoff: fixed, first: 10s }, parkingLot: false }
    replay: { allowed: true, sideEffects: allow, window: 2d }
    alerts: { duplicateSpike: false, sequenceGap: false, pendingAgeSeconds: off, parkedMessages: off }
";
    assert_snapshot!(explained(text), @r"
    consumer lines@2
      strategy    inbox: messages are stored first and handled from the store
      from        the lines of events.jsonl, and those added later; at most 1MiB each
      id          a template of the message's fields, else source and id of a CloudEvent, else the line's envelope; without one it is derived from the content
      same        the whole body; the order of JSON fields does not matter; another one under the same id is parked as a conflict
      tenant      the header X-Tenant, believed as it is; without it the public
      order       by sequence ($.line in the body, else sequence of a CloudEvent, else the line's envelope) for each key ($.order in the body, else partitionkey of a CloudEvent, else the line's envelope), beginning with version 1: older ones are skipped, the next one runs, later ones wait 1h for a missing one, then go on without it; after one that failed for good the others go on; a message without key or sequence runs at once
      told        as soon as the message is stored
      attempts    3, after waits of 10s each; 20s of waiting at most
      then        FAILED_TERMINAL, as a terminal error is at once
      crash       30s after the last sign of life another worker runs it again, with a higher fence
      workers     16 at once in each process; each attempt has 1m
      intents     a handler may choose their ids
      replays     allowed; intents are sent unless they are remembered
      remembered  7d, which is enough: replays go back 2d, attempts wait 20s
      alerts      none
      handled     by a program; semel serve runs no worker for it

    think about:
      - lines@2: it has a source and no deliver: messages are stored, and wait for a program that handles them
      - lines@2: messageIdRequired is false: two messages without id and with the same content are one, even if both are meant
      - lines@2: replay.sideEffects is allow: intents that are no longer remembered are sent again by a replay
    ");
}

#[test]
fn a_consumer_without_an_inbox_in_words() {
    let text =
        "consumers: { a: { strategy: { type: processed-message }, inbox: { enabled: false } } }";
    assert_snapshot!(explained(text), @r"
    consumer a@1
      strategy    processed-message: the effect and the mark that it happened commit together
      from        programs hand them in; there is no source here
      id          without one a message is refused
      same        the whole body; the order of JSON fields does not matter; another one under the same id is parked as a conflict
      tenant      everybody is the same
      order       none: messages run as they come
      told        when the effect is applied
      intents     their ids follow from the message
      replays     refused, unless forced with a reason; intents are suppressed and counted
      remembered  7d
      alerts      more than a tenth are duplicates, something waits longer than 5m, 1 or more are parked or failed
      handled     by a program, as a transactional consumer; there is no inbox, and semel serve runs nothing for it
    ");
}

#[test]
fn intents_in_words() {
    let text = "
intents:
  charge: { url: 'https://api.stripe.com/v1/charges', vendor: stripe, headers: { Authorization: t } }
  mail: { url: 'http://127.0.0.1:25/send', retry: { maxAttempts: 1 } }
  tasks: { url: 'https://cloudtasks.googleapis.com/v2/projects/p/locations/l/queues/q/tasks', vendor: google-cloud-tasks }
  hook: { url: 'https://a/b?token=t', method: PUT, key: { query: k }, key_lifetime: 2d, unknown: { reconcile: 'https://a/b/{key}?token=t' } }
";
    assert_snapshot!(explained(text), @r"
    intents to charge
      sent        POST https://api.stripe.com/v1/charges, with Authorization; the provider has 30s to answer
      key         the header Idempotency-Key (stripe), the same for every attempt; recognised for 1d, and all attempts end within 13m 31s
      attempts    10, after waits of 1s 2s 4s 8s … 4m16s, each drawn between half of it and all of it; 8m 31s of waiting at most
      then        parked for a person to look at
      unknown     sent again with the same key
      remembered  7d

    intents to mail
      sent        POST http://127.0.0.1:25/send; the provider has 30s to answer
      key         none: as far as this file says, the provider takes none
      attempts    1
      then        parked for a person to look at
      unknown     parked until a person decides
      remembered  7d

    intents to tasks
      sent        POST https://cloudtasks.googleapis.com/v2/projects/p/locations/l/queues/q/tasks; the provider has 30s to answer
      key         $.task.name in the body (google-cloud-tasks), the same for every attempt; recognised for 1h, and all attempts end within 13m 31s
      attempts    10, after waits of 1s 2s 4s 8s … 4m16s, each drawn between half of it and all of it; 8m 31s of waiting at most
      then        parked for a person to look at
      unknown     sent again with the same key
      remembered  7d

    intents to hook
      sent        PUT https://a/b?…; the provider has 30s to answer
      key         the query parameter k, the same for every attempt; recognised for 2d, and all attempts end within 13m 31s
      attempts    10, after waits of 1s 2s 4s 8s … 4m16s, each drawn between half of it and all of it; 8m 31s of waiting at most
      then        parked for a person to look at
      unknown     https://a/b/{key} is asked whether it happened
      remembered  7d
    ");
}

#[test]
fn warnings_are_about_what_surprises() {
    assert_eq!(warned(include_str!("../consumer-policy.yaml")), "");
    let text = "
store: redis://cache
inbox: { listen: '0.0.0.0:7072' }
gateway:
  upstream: http://a
  routes: [{ match: { methods: [POST], path: /orders }, scope: orders@1, tenant: public }]
consumers:
  orders:
    source: http
    order: arrival
    fingerprint: off
    unknown: hold
    strategy: { messageIdRequired: false, externalProviderIdempotency: true }
    replay: { sideEffects: allow }
  projection: { strategy: { type: aggregate-version-upsert }, inbox: { enabled: false } }
intents:
  mail: { url: http://mail.internal, headers: { Authorization: t } }
  hook: { url: https://hook, vendor: square }
";
    assert_snapshot!(warned(text), @r"
    store is redis://cache, and messages are stored in SQLite or PostgreSQL only
    orders@1: inbox.listen is 0.0.0.0:7072, beyond loopback, and signature is missing: any host that reaches it can post messages
    orders@1: it has a source and no deliver: messages are stored, and wait for a program that handles them
    orders@1: it has an order, and key does not say where the key is: only CloudEvents with a partitionkey are ordered
    orders@1: messageIdRequired is false: two messages without id and with the same content are one, even if both are meant
    orders@1: fingerprint is off: another message under the same id is taken for a duplicate
    orders@1: replay.sideEffects is allow: intents that are no longer remembered are sent again by a replay
    orders@1: unknown is hold: every crash of a worker leaves messages for a person to decide about
    orders@1: its intents to mail will be refused, because these take no idempotency key
    orders@1: the gateway's POST /orders (orders@1) has the same scope: what one has settled the other does not repeat, but both may run at the same moment
    projection@1: inbox.enabled is false: its handler must see to the order itself
    intents to mail: url is not https: its headers, which may be secrets, are sent in the clear
    intents to hook: key_lifetime is missing: whether the last attempt is still recognised cannot be checked
    ");
}

#[test]
fn a_signature_that_does_not_cover_id_or_tenant_is_warned_of() {
    let with = |settings: &str| {
        let text = "consumers: { a: { source: http, deliver: 'http://127.0.0.1:1/'";
        warned(&format!("{text}, {settings} }} }}"))
    };
    let (id, tenant) = ("does not cover the id", "does not cover the tenant");
    for (settings, says_id, says_tenant) in [
        ("signature: { scheme: github, secret: s }", true, false),
        (
            "signature: { scheme: github, secret: s }, id: { body: $.id }",
            false,
            false,
        ),
        ("signature: { scheme: shopify, secret: s }", true, true),
        ("signature: { scheme: stripe, secret: s }", false, false),
        (
            "signature: { scheme: stripe, secret: s }, tenant: { header: X-T }",
            false,
            true,
        ),
        ("signature: { scheme: adyen, secret: aa }", false, false),
        (
            "signature: { scheme: svix, secret: whsec_AAAA }",
            false,
            false,
        ),
        (
            "signature: { scheme: svix, secret: whsec_AAAA }, id: { template: '{header.x-a}-{b}' }",
            true,
            false,
        ),
        (
            "signature: { scheme: generic, header: X-S, secret: s }",
            true,
            false,
        ),
        (
            "signature: { scheme: generic, header: X-S, secret: s }, id: { body: $.a }",
            false,
            false,
        ),
    ] {
        let said = with(settings);
        let found = (said.contains(id), said.contains(tenant));
        assert_eq!(found, (says_id, says_tenant), "{settings}: {said}");
    }
}
