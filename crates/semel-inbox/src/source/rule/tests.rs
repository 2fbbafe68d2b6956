use crate::policy::Consumer;
use bytes::Bytes;

use super::*;

fn consumer() -> Consumer {
    Consumer::new("mailer".parse().unwrap())
}

fn raw(headers: &[(&str, &str)], payload: &str) -> Raw {
    let headers = headers.iter();
    let headers =
        headers.map(|(name, value)| ((*name).to_owned(), Some(Bytes::from((*value).to_owned()))));
    Raw {
        headers: headers.collect(),
        payload: Some(Bytes::from(payload.to_owned())),
        ..Raw::default()
    }
}

fn message(rule: &Rule, raw: Raw) -> Message {
    rule.message(&consumer(), &raw).unwrap()
}

fn id(message: &Message) -> &str {
    message.identity().key().as_str()
}

const STRUCTURED: &[(&str, &str)] = &[(
    "Content-Type",
    "application/cloudevents+json; charset=utf-8",
)];

#[test]
fn a_binary_cloud_event_is_its_source_and_id() {
    let headers = [
        ("ce-specversion", "1.0"),
        ("ce-id", "7"),
        ("ce-source", "/shop#1"),
        ("ce-type", "order.created"),
        ("ce-partitionkey", "o-1"),
        ("ce-sequence", "3"),
        ("Content-Type", "application/json"),
    ];
    let found = message(&Rule::cloud_events(), raw(&headers, "{}"));
    assert_eq!(id(&found), "/shop%231#7");
    assert_eq!(found.kind(), Some("order.created"));
    assert_eq!(found.lane().unwrap().as_str(), "o-1");
    assert_eq!(found.sequence(), Some(3));
    assert_eq!(found.headers().len(), headers.len());
}

#[test]
fn a_structured_cloud_event_is_the_same_event() {
    let body = r#"{"specversion":"1.0","id":"7","source":"/shop#1","type":"order.created","data":{"a":1}}"#;
    let found = message(&Rule::cloud_events(), raw(STRUCTURED, body));
    assert_eq!(id(&found), "/shop%231#7");
    assert_eq!(found.payload(), body);
    let traced = r#"{"data":{ "a": 1 },"traceparent":"x","id":"7","source":"/shop#1","type":"order.created","specversion":"1.0"}"#;
    let again = message(&Rule::cloud_events(), raw(STRUCTURED, traced));
    assert_eq!(found.fingerprint(), again.fingerprint());
}

#[test]
fn sources_keep_equal_ids_apart_and_both_are_needed() {
    let event = |source: &str, event: &str| {
        let body = serde_json::json!({ "id": event, "source": source, "type": "t" });
        message(&Rule::cloud_events(), raw(STRUCTURED, &body.to_string()))
    };
    assert_ne!(event("/a", "1").identity(), event("/b", "1").identity());
    assert_ne!(event("/a#b", "c").identity(), event("/a", "b#c").identity());
    let long = event(&"x".repeat(300), "1");
    assert!(id(&long).starts_with("cloudevent:"));
    let lacking = raw(STRUCTURED, r#"{"id":"1","type":"t"}"#);
    assert!(matches!(
        Rule::cloud_events().message(&consumer(), &lacking),
        Err(Refusal::Invalid(_))
    ));
}

#[test]
fn a_sequence_that_is_no_number_matters_only_where_order_asks_for_it() {
    let headers = [
        ("ce-id", "7"),
        ("ce-source", "/shop"),
        ("ce-type", "t"),
        ("ce-partitionkey", "o-1"),
        ("ce-sequence", "A-17"),
    ];
    let found = message(&Rule::cloud_events(), raw(&headers, "{}"));
    assert_eq!(found.sequence(), None);
    let mut ordered = consumer();
    ordered.plan.order = semel_core::inbox::Order::Sequence {
        baseline: semel_core::inbox::Baseline::default(),
        on_gap: semel_core::inbox::OnGap::default(),
        on_terminal: semel_core::inbox::OnTerminal::default(),
    };
    let refused = Rule::cloud_events().message(&ordered, &raw(&headers, "{}"));
    assert!(matches!(refused, Err(Refusal::Invalid(_))));
    let numbered = raw(&[&headers[..4], &[("ce-sequence", "007")]].concat(), "{}");
    let found = Rule::cloud_events().message(&ordered, &numbered).unwrap();
    assert_eq!(found.sequence(), Some(7));
}

#[test]
fn a_batch_is_split_and_keeps_its_spelling() {
    let headers = [
        ("content-type", "application/cloudevents-batch+json"),
        ("x-a", "1"),
    ];
    let body =
        r#"[{"id":"1","source":"s","type":"t","data":1.10}, {"id":"2","source":"s","type":"t"}]"#;
    let events = split(raw(&headers, body)).unwrap();
    let found: Vec<Message> = events
        .into_iter()
        .map(|event| message(&Rule::cloud_events(), event))
        .collect();
    assert_eq!(found.iter().map(id).collect::<Vec<_>>(), ["s#1", "s#2"]);
    assert!(found[0].payload().ends_with(b"1.10}"));
    for bad in ["{}", "[]", "x"] {
        assert!(split(raw(&headers, bad)).is_err(), "{bad}");
    }
}

#[test]
fn stripes_events_have_their_id_and_type_in_the_body() {
    let body = r#"{"id":"evt_1","type":"charge.succeeded"}"#;
    let found = message(&Rule::stripe(), raw(&[], body));
    assert_eq!(
        (id(&found), found.kind()),
        ("evt_1", Some("charge.succeeded"))
    );
}

#[test]
fn configured_places_are_tried_in_order() {
    let rule = Rule {
        id: vec![
            Locator::header("X-Event-Id").unwrap(),
            Locator::body("$.event.id").unwrap(),
            Locator::template("{orderId}#{header.x-line}").unwrap(),
        ],
        lane: Some(Locator::body("$.orderId").unwrap()),
        sequence: Some(Locator::body("$.version").unwrap()),
        tenant: Some(Locator::header("x-tenant").unwrap()),
        ..Rule::default()
    };
    let by_header = raw(&[("x-event-id", "h-1")], r#"{"event":{"id":"b-1"}}"#);
    assert_eq!(id(&message(&rule, by_header)), "h-1");
    let by_body = raw(
        &[("X-Tenant", "acme")],
        r#"{"event":{"id":17},"orderId":"o","version":4}"#,
    );
    let found = message(&rule, by_body);
    assert_eq!(found.identity().to_string(), "acme/mailer@1/17");
    assert_eq!(found.lane().unwrap().as_str(), "o");
    assert_eq!(found.sequence(), Some(4));
    let by_template = raw(&[("X-Line", "2")], r#"{"orderId":"o"}"#);
    assert_eq!(id(&message(&rule, by_template)), "o#2");
}

#[test]
fn what_is_required_and_missing_is_refused() {
    let mut consumer = consumer();
    let refused = |consumer: &Consumer, raw: Raw| Rule::default().message(consumer, &raw);
    assert!(matches!(
        refused(&consumer, raw(&[], "{}")),
        Err(Refusal::IdMissing)
    ));
    consumer.id_required = false;
    let derived = refused(&consumer, raw(&[], r#"{"a":1,"b":2}"#)).unwrap();
    let again = refused(&consumer, raw(&[], r#"{ "b": 2, "a": 1 }"#)).unwrap();
    assert_eq!(derived.identity(), again.identity());
    consumer.sequence_required = true;
    let lane_only = Raw {
        lane: Some("o".into()),
        ..raw(&[], "{}")
    };
    assert!(matches!(
        refused(&consumer, lane_only.clone()),
        Err(Refusal::SequenceMissing)
    ));
    let whole = Raw {
        sequence: Some(1),
        ..lane_only
    };
    assert!(refused(&consumer, whole).is_ok());
}

#[test]
fn refusals_never_quote_the_payload() {
    let rule = Rule {
        id: vec![Locator::body("$.id").unwrap()],
        sequence: Some(Locator::body("$.n").unwrap()),
        ..Rule::default()
    };
    for body in [
        r#"{"id":{"s3cret":1}}"#,
        r#"{"id":"1","n":"s3cret"}"#,
        r#"{"id":"1","n":-1}"#,
    ] {
        let refusal = rule.message(&consumer(), &raw(&[], body)).unwrap_err();
        assert!(!refusal.to_string().contains("s3cret"), "{refusal}");
    }
}

#[test]
fn what_is_compared_is_the_rules_choice_and_a_derived_id_always_follows_from_the_payload() {
    let compared = |compare: Compare, payload: &str| {
        let rule = Rule {
            compare,
            id: vec![Locator::header("idempotency-key").unwrap()],
            ..Rule::default()
        };
        let found = message(&rule, raw(&[("Idempotency-Key", "\"k 1\"")], payload));
        assert_eq!(id(&found), "k 1");
        found.fingerprint()
    };
    let (a, b) = (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#);
    let json = Compare::CanonicalJson;
    assert_eq!(compared(json, a), compared(json, b));
    assert_ne!(compared(Compare::Raw, a), compared(Compare::Raw, b));
    assert_eq!(
        compared(Compare::Nothing, a),
        compared(Compare::Nothing, "x")
    );
    let mut lax = consumer();
    lax.id_required = false;
    let rule = Rule {
        compare: Compare::Nothing,
        ..Rule::default()
    };
    let derived = |payload| rule.message(&lax, &raw(&[], payload)).unwrap();
    assert_ne!(derived(a).identity(), derived("{}").identity());
}

#[test]
fn brokers_ids_are_looked_for_in_a_stated_order() {
    let all = [
        ("id", "debezium"),
        ("ce_id", "7"),
        ("ce_source", "/shop"),
        ("ce_type", "t"),
        ("message-id", "own"),
        ("idempotency-key", "key"),
    ];
    let broker = Rule::broker();
    for (count, dedup, expected) in [
        (6, Some("dedup"), "key"),
        (5, Some("dedup"), "own"),
        (4, Some("dedup"), "/shop#7"),
        (1, Some("dedup"), "dedup"),
        (1, None, "debezium"),
    ] {
        let delivered = Raw {
            id: dedup.map(str::to_owned),
            coordinates: Some("t/0/1".into()),
            ..raw(&all[..count], "{}")
        };
        assert_eq!(id(&message(&broker, delivered)), expected);
    }
    let nothing = Raw {
        coordinates: Some("t/0/1".into()),
        ..raw(&[], "{}")
    };
    assert!(matches!(
        broker.message(&consumer(), &nothing),
        Err(Refusal::IdMissing)
    ));
    let asked = Rule {
        id: vec![Locator::Coordinates],
        ..Rule::broker()
    };
    assert_eq!(id(&message(&asked, nothing)), "t/0/1");
}

#[test]
fn cloud_events_are_known_by_the_prefix_of_each_protocol() {
    // The protocol says whether values are percent-encoded, not the prefix: producers use that of another one.
    let prefixes = ["ce-", "ce_", "cloudEvents:", "cloudEvents_"].into_iter();
    for (prefix, is_percent_encoded) in prefixes.flat_map(|it| [(it, true), (it, false)]) {
        let names = ["id", "source", "type", "partitionkey"].map(|name| format!("{prefix}{name}"));
        let values = ["a%20b", "/shop", "order.created", "o-1"];
        let headers: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(values).collect();
        let delivered = Raw {
            is_percent_encoded,
            ..raw(&headers, "{}")
        };
        let found = message(&Rule::broker(), delivered);
        let expected = match is_percent_encoded {
            true => "/shop#a b",
            false => "/shop#a%20b",
        };
        assert_eq!(id(&found), expected, "{prefix}");
        assert_eq!(found.lane().unwrap().as_str(), "o-1");
    }
}

#[test]
fn no_payload_is_another_message_than_an_empty_one_and_binary_keys_order() {
    let headers = [("message-id", "m-1")];
    let empty = message(&Rule::broker(), raw(&headers, ""));
    let tombstone = Raw {
        payload: None,
        key: Some(Bytes::from_static(&[0xff, 0x00])),
        ..raw(&headers, "")
    };
    let tombstone = message(&Rule::broker(), tombstone);
    assert_ne!(empty.fingerprint(), tombstone.fingerprint());
    let notes = crate::source::Notes::of(tombstone.headers());
    assert!(notes.is_tombstone);
    assert_eq!(notes.key.as_deref(), Some(&[0xff, 0x00][..]));
    assert!(tombstone.lane().unwrap().as_str().starts_with("bytes:"));
}

#[test]
fn what_is_no_message_is_kept_with_its_bytes_headers_and_place() {
    let delivered = Raw {
        coordinates: Some("t/0/1".into()),
        ..raw(&[("x-a", "1")], "s3cret")
    };
    let rule = Rule::broker();
    let found = rule.messages(&consumer(), &delivered);
    let [found] = &found[..] else {
        panic!("one delivery is one message, found {}", found.len());
    };
    assert!(found.unreadable().is_some_and(|why| why.contains("no id")));
    assert_eq!(found.payload(), "s3cret");
    assert_eq!(found.headers().len(), 2);
    let again = rule.messages(&consumer(), &delivered);
    assert_eq!(found.identity(), again[0].identity());
    let elsewhere = Raw {
        coordinates: Some("t/0/2".into()),
        ..delivered
    };
    let elsewhere = rule.messages(&consumer(), &elsewhere);
    assert_ne!(found.identity(), elsewhere[0].identity());
}

#[test]
fn headers_tell_unreadable_deliveries_without_coordinates_apart_but_counters_do_not() {
    let rule = Rule::broker();
    let of = |headers: &[(&str, &str)]| {
        let found = rule.messages(&consumer(), &raw(headers, "same"));
        found[0].identity().clone()
    };
    let first = of(&[("order", "1")]);
    assert_ne!(first, of(&[("order", "2")]));
    assert_eq!(first, of(&[("order", "1"), ("x-delivery-count", "1")]));
    assert_eq!(first, of(&[("order", "1"), ("X-Death", "[]")]));
}

#[test]
fn an_id_that_is_there_and_cannot_be_understood_is_a_mistake() {
    let bytes = |value: &'static [u8]| ("idempotency-key".to_owned(), Some(value.into()));
    for (headers, expected) in [
        (vec![bytes(&[0xff, 0x00])], "is not text"),
        (vec![bytes(b"a"), bytes(b"b")], "more than one"),
    ] {
        let mut delivered = raw(&[("message-id", "made-for-each-attempt")], "{}");
        delivered.headers.extend(headers);
        let refused = Rule::broker().message(&consumer(), &delivered);
        let why = refused.unwrap_err().to_string();
        assert!(why.contains(expected), "{why}");
    }
    let repeated = raw(&[("message-id", "m"), ("Message-Id", "m")], "{}");
    assert_eq!(id(&message(&Rule::broker(), repeated)), "m");
}

#[test]
fn an_id_made_of_the_content_knows_the_key() {
    let consumer = Consumer {
        id_required: false,
        ..consumer()
    };
    let tombstone = |key: &'static str| Raw {
        payload: None,
        key: Some(key.into()),
        ..Raw::default()
    };
    let rule = Rule::broker();
    let of = |raw: &Raw| rule.message(&consumer, raw).unwrap().identity().clone();
    assert_ne!(of(&tombstone("a")), of(&tombstone("b")));
    assert_eq!(of(&tombstone("a")), of(&tombstone("a")));
}

#[test]
fn what_a_batch_came_with_identifies_none_of_its_events() {
    let headers = [
        ("content-type", "application/cloudevents-batch+json"),
        ("message-id", "of the batch"),
    ];
    let delivered = Raw {
        id: Some("of the batch, too".into()),
        coordinates: Some("t/0/1".into()),
        ..raw(
            &headers,
            r#"[{"id":"1","source":"s","type":"t"}, {"id":"2","source":"s","type":"t"}]"#,
        )
    };
    let by_coordinates = Rule {
        id: vec![Locator::Coordinates],
        ..Rule::broker()
    };
    for rule in [Rule::broker(), by_coordinates] {
        let found = rule.messages(&consumer(), &delivered);
        assert_eq!(found.iter().map(id).collect::<Vec<_>>(), ["s#1", "s#2"]);
    }
}

#[test]
fn a_batch_of_cloud_events_is_one_delivery_with_several_messages() {
    let headers = [("content-type", "application/cloudevents-batch+json")];
    let body = r#"[{"id":"1","source":"s","type":"t"}, {"id":"2","source":"s"}, {"id":"3"}]"#;
    let found = Rule::broker().messages(&consumer(), &raw(&headers, body));
    let ids: Vec<_> = found.iter().map(id).take(2).collect();
    assert_eq!(ids, ["s#1", "s#2"]);
    assert!(found[2].unreadable().is_some());
}
