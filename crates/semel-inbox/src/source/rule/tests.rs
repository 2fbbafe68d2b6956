use crate::policy::Consumer;
use bytes::Bytes;

use super::*;

fn consumer() -> Consumer {
    Consumer::new("mailer".parse().unwrap())
}

fn raw(headers: &[(&str, &str)], payload: &str) -> Raw {
    let headers = headers.iter();
    let headers =
        headers.map(|(name, value)| ((*name).to_owned(), Bytes::from((*value).to_owned())));
    Raw {
        headers: headers.collect(),
        payload: Bytes::from(payload.to_owned()),
        ..Raw::default()
    }
}

fn message(rule: &Rule, raw: Raw) -> Message {
    rule.message(&consumer(), raw).unwrap()
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
        Rule::cloud_events().message(&consumer(), lacking),
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
    let refused = Rule::cloud_events().message(&ordered, raw(&headers, "{}"));
    assert!(matches!(refused, Err(Refusal::Invalid(_))));
    let numbered = raw(&[&headers[..4], &[("ce-sequence", "007")]].concat(), "{}");
    let found = Rule::cloud_events().message(&ordered, numbered).unwrap();
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
    let refused = |consumer: &Consumer, raw: Raw| Rule::default().message(consumer, raw);
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
        let refusal = rule.message(&consumer(), raw(&[], body)).unwrap_err();
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
    let derived = |payload| rule.message(&lax, raw(&[], payload)).unwrap();
    assert_ne!(derived(a).identity(), derived("{}").identity());
}
