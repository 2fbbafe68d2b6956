//! The schema knows what the file may say, and the page describes the same.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{PAGE, examples, parse};

/// Whether `value` has the shape of `schema`, as far as editors check it. Patterns are left out.
fn fits(root: &Value, schema: &Value, value: &Value) -> bool {
    let all = |key: &str| {
        let parts = schema[key].as_array().into_iter().flatten();
        parts
            .map(|part| fits(root, part, value))
            .collect::<Vec<_>>()
    };
    let referred = schema["$ref"].as_str().is_none_or(|name| {
        let name = name.rsplit('/').next().unwrap_or_default();
        fits(root, &root["definitions"][name], value)
    });
    let is_any = |fit: Vec<bool>| fit.is_empty() || fit.contains(&true);
    referred
        && all("allOf").iter().all(|fits| *fits)
        && is_any(all("anyOf"))
        && is_any(all("oneOf"))
        && (schema["type"].is_null() || has_type(&schema["type"], value))
        && (schema["const"].is_null() || schema["const"] == *value)
        && schema["enum"]
            .as_array()
            .is_none_or(|words| words.contains(value))
        && items_fit(root, schema, value)
        && properties_fit(root, schema, value)
}

fn has_type(expected: &Value, value: &Value) -> bool {
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    match expected {
        Value::Array(several) => several.contains(&json!(found)),
        one => one == found || (one == "number" && found == "integer"),
    }
}

fn items_fit(root: &Value, schema: &Value, value: &Value) -> bool {
    let mut items = value.as_array().into_iter().flatten();
    schema["items"].is_null() || items.all(|item| fits(root, &schema["items"], item))
}

fn properties_fit(root: &Value, schema: &Value, value: &Value) -> bool {
    let Some(fields) = value.as_object() else {
        return true;
    };
    let required = schema["required"].as_array().into_iter().flatten();
    let mut required = required.filter_map(Value::as_str);
    required.all(|name| fields.contains_key(name))
        && fields.iter().all(|(name, field)| {
            match (&schema["properties"][name], &schema["additionalProperties"]) {
                (Value::Null, Value::Bool(any)) => *any,
                (Value::Null, Value::Null) => true,
                (Value::Null, others) => fits(root, others, field),
                (known, _) => fits(root, known, field),
            }
        })
}

fn is_valid(text: &str) -> bool {
    let schema = semel_policy::schema();
    let options = serde_saphyr::options! { strict_booleans: true };
    let value: Value = serde_saphyr::from_str_with_options(text, options).unwrap();
    fits(&schema, &schema, &value)
}

#[test]
fn the_examples_of_the_page_are_valid() {
    assert!(examples().count() >= 2);
    for example in examples() {
        assert!(is_valid(example), "{example}");
        let names = [
            "SEMEL_ADMIN_TOKEN",
            "REDIS_PASSWORD",
            "PG_PASSWORD",
            "STRIPE_WEBHOOK_SECRET",
            "HANDLER_TOKEN",
            "STRIPE_KEY",
            "METRICS_TOKEN",
        ];
        let env = names.map(|name| (name.to_owned(), "t".to_owned()));
        semel_policy::File::parse("semel.yaml", example, env).unwrap();
    }
}

#[test]
fn what_the_file_refuses_the_schema_refuses() {
    for text in [
        "gatway: {}",
        "gateway: { colour: red }",
        "gateway: { routes: [{ lease: 3s }] }",
        "gateway: { routes: [{ match: { path: /a }, leese: 3s }] }",
        "gateway: { key: { cookie: a } }",
        "gateway: { in_progress: 404 }",
        "gateway: { tls: { certificate: a } }",
        "gateway: { missing: drop }",
        "gateway: { mcp: some }",
        "gateway: { mcp: { tool: a } }",
        "gateway: { mcp: { tool_errors: drop } }",
        "gateway: { unknown: { reconcile: [a] } }",
        "gateway: { unknown: { reconcile: { headers: { A: b } } } }",
        "gateway: { unknown: { reconcile: { url: 'http://a/{key}', token: b } } }",
        "gateway: { routes: [{ match: { path: /a, host: 7, hosts: a } }] }",
        "gateway: { routes: [{ match: { path: /a, exact: very } }] }",
        "log: { level: loud }",
        "store: { claims: 'redis://a' }",
        "store: { claims: 'redis://a', outcomes: 'sqlite:b', more: c }",
        "store: [sqlite:a]",
        "admin: maybe",
        "consumers: a",
        "consumers: { a: { colour: red } }",
        "consumers: { a: { source: [http] } }",
        "consumers: { a: { strategy: { type: magic } } }",
        "consumers: { a: { strategy: { messageIdRequired: 1 } } }",
        "consumers: { a: { inbox: { retry: { backoff: linear } } } }",
        "consumers: { a: { replay: { allowed: maybe } } }",
        "consumers: { a: { order: random } }",
        "consumers: { a: { order: { baseline: 0 } } }",
        "consumers: { a: { id: { cookie: a } } }",
        "consumers: { a: { key: stripe } }",
        "consumers: { a: { signature: { scheme: magic, secret: s } } }",
        "consumers: { a: { deliver: { timeout: 3s } } }",
        "consumers: { a: { alerts: { parkedMessages: many } } }",
        "idempotentConsumer: { consumer: {} }",
        "idempotentConsumer: { consumers: { a: { colour: red } } }",
        "intents: { a: {} }",
        "intents: { a: { url: 'http://a', vendor: magic } }",
        "intents: { a: { url: 'http://a', unknown: rerun } }",
        "inbox: { listen: [a] }",
    ] {
        assert!(parse(text).is_err(), "{text}");
        assert!(!is_valid(text), "{text}");
    }
}

#[test]
fn short_and_long_forms_are_both_valid() {
    for text in [
        "admin: off",
        "gateway: { key: derive }",
        "gateway: { mcp: all, policy_page: /policy }",
        "gateway: { mcp: { tools: [a, b], tool_errors: release }, policy_page: off }",
        "gateway: { mcp: { except: a } }",
        "gateway: { key: { derive: true } }",
        "gateway: { key: [{ header: A }, { query: b }, derive] }",
        "gateway: { in_progress: 425, retention: 3h, fingerprint: off, tenant: bearer }",
        "gateway: { retention: { keep: 3h, archive: true }, in_progress: { wait: 1s, then: 202 } }",
        "gateway: { keep: { statuses: 2xx, release: [404, 5xx] }, lease: }",
        "gateway: { routes: [{ match: { path: /a, methods: PUT } }] }",
        "gateway: { routes: [{ match: { path: /a, host: a.example, exact: true } }] }",
        "gateway: { routes: [{ match: { path: /a, host: [a.example, '*.b.example'] } }] }",
        "gateway: { unknown: { reconcile: 'http://a/{key}' } }",
        "gateway: { unknown: { reconcile: { url: 'http://a/{key}', headers: { A: b }, timeout: 2s } } }",
        "gateway: { request_bytes: 4096, limits: { request_bytes: 4KiB } }",
        "consumers: { a: {} }",
        "consumers: { a: { id: stripe, key: { cloudevents: true }, order: arrival, tenant: public } }",
        "consumers: { a: { id: [{ stripe: true }, { header: A }], order: { by: sequence, baseline: 0 } } }",
        "consumers: { a: { deliver: 'http://a', alerts: { pendingAgeSeconds: off, parkedMessages: 3 } } }",
        "consumers: { a: { deliver: { url: 'http://a', headers: { A: b } }, replay: { allowed: true } } }",
        "consumers: { a: { source: http, signature: { scheme: stripe, secret: [a, b] } } }",
        "intents: { a: { url: 'http://a', unknown: hold } }",
        "intents: { a: { url: 'http://a', unknown: { reconcile: 'http://a/{key}' }, key: { query: k } } }",
        include_str!("consumer-policy.yaml"),
    ] {
        assert!(parse(text).is_ok(), "{text}");
        assert!(is_valid(text), "{text}");
    }
}

/// Every key of the schema, wherever it stands.
fn keys(schema: &Value, found: &mut BTreeSet<String>) {
    if let Some(properties) = schema["properties"].as_object() {
        found.extend(properties.keys().cloned());
    }
    match schema {
        Value::Object(fields) => fields.values().for_each(|field| keys(field, found)),
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

#[test]
fn the_page_describes_every_key_and_no_other() {
    let mut known = BTreeSet::new();
    keys(&semel_policy::schema(), &mut known);
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    let names = rows.filter_map(|row| row.split('`').next());
    let names = names.flat_map(|path| path.split('.')).map(str::to_owned);
    let described: BTreeSet<String> = names.collect();
    let missing: Vec<_> = known.difference(&described).collect();
    let unknown: Vec<_> = described.difference(&known).collect();
    assert_eq!((missing, unknown), (vec![], vec![]));
}

#[test]
fn every_key_has_a_description() {
    fn check(schema: &Value) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let described = property["description"]
                .as_str()
                .is_some_and(|text| !text.is_empty());
            assert!(
                described || schema["description"].is_string(),
                "{name}: {schema}"
            );
        }
        match schema {
            Value::Object(fields) => fields.values().for_each(check),
            Value::Array(items) => items.iter().for_each(check),
            _ => {}
        }
    }
    check(&semel_policy::schema());
}
