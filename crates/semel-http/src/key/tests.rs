use http::Request;

use super::*;
use crate::rules::Missing;

fn rules(sources: Vec<Source>) -> Rules {
    let mut rules = Rules::new("payments@1".parse().unwrap());
    rules.key = Sources::new(sources).unwrap();
    rules.missing = Missing::Require;
    rules
}

fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
    let request = headers.iter().fold(Request::post(uri), |r, (name, value)| {
        r.header(*name, *value)
    });
    request.body(()).unwrap().into_parts().0
}

fn key(text: &str) -> Found {
    Found::Key(Key::new(text).unwrap())
}

#[test]
fn quoted_and_bare_are_the_same_key() {
    let rules = rules(vec![Source::Header(IDEMPOTENCY_KEY)]);
    for value in ["abc-1", "\"abc-1\"", " \"abc-1\" ", "\"abc-1\";v=1"] {
        let parts = parts("/", &[("Idempotency-Key", value)]);
        assert_eq!(
            find_in_head(&rules, &parts).unwrap(),
            key("abc-1"),
            "{value}"
        );
    }
    let escaped = parts("/", &[("Idempotency-Key", r#""a\"b\\c""#)]);
    assert_eq!(find_in_head(&rules, &escaped).unwrap(), key(r#"a"b\c"#));
}

#[test]
fn malformed_repeated_and_long_keys_are_refused() {
    let rules = rules(vec![Source::Header(IDEMPOTENCY_KEY)]);
    let long = "k".repeat(256);
    for values in [
        vec![""],
        vec!["   "],
        vec!["\"abc"],
        vec!["\"a\"b"],
        vec!["\"\""],
        vec!["a\tb"],
        vec!["schlüssel"],
        vec!["a", "a"],
        vec![&long],
    ] {
        let headers: Vec<_> = values.iter().map(|v| ("Idempotency-Key", *v)).collect();
        let found = find_in_head(&rules, &parts("/", &headers));
        assert!(found.is_err(), "{values:?} {found:?}");
    }
    let longest = "k".repeat(255);
    let parts = parts("/", &[("Idempotency-Key", &longest)]);
    assert_eq!(find_in_head(&rules, &parts).unwrap(), key(&longest));
}

#[test]
fn the_first_place_with_a_key_wins() {
    let sources = vec![
        Source::Header(HeaderName::from_static("paypal-request-id")),
        Source::Query("key".into()),
        Source::Body("$.idempotency_key".parse().unwrap()),
    ];
    let rules = rules(sources);
    let body = br#"{"idempotency_key":"from-body"}"#;
    let all = parts(
        "/?key=from%20query",
        &[("PayPal-Request-Id", "from-header")],
    );
    assert_eq!(find_in_head(&rules, &all).unwrap(), key("from-header"));
    let two = parts("/?key=from%20query", &[]);
    assert_eq!(find_in_head(&rules, &two).unwrap(), key("from query"));
    let one = parts("/", &[]);
    assert_eq!(find_in_head(&rules, &one).unwrap(), Found::NeedsBody);
    let whole = Whole {
        parts: &one,
        params: &[],
        body,
    };
    assert_eq!(find(&rules, &whole).unwrap(), key("from-body"));
}

#[test]
fn a_body_field_is_a_string_or_a_number_and_there_once() {
    let rules = rules(vec![Source::Body("task.name".parse().unwrap())]);
    let parts = parts("/", &[("Content-Type", "application/json")]);
    let found = |body: &str| {
        let whole = Whole {
            parts: &parts,
            params: &[],
            body: body.as_bytes(),
        };
        find(&rules, &whole)
    };
    assert_eq!(found(r#"{"task":{"name":"t"}}"#).unwrap(), key("t"));
    assert_eq!(found(r#"{"task":{"name":17}}"#).unwrap(), key("17"));
    for missing in [
        "{}",
        r#"{"task":null}"#,
        r#"{"task":{"name":null}}"#,
        "not json",
        "",
    ] {
        assert_eq!(found(missing).unwrap(), Found::Missing, "{missing}");
    }
    for invalid in [
        r#"{"task":{"name":{}}}"#,
        r#"{"task":{"name":[1]}}"#,
        r#"{"task":{"name":true}}"#,
        r#"{"task":{"name":""}}"#,
        r#"{"task":{"name":"a","name":"b"}}"#,
    ] {
        assert!(found(invalid).is_err(), "{invalid}");
    }
}

#[test]
fn forms_have_fields_too() {
    let rules = rules(vec![Source::Body("idempotency_key".parse().unwrap())]);
    let parts = parts(
        "/",
        &[("Content-Type", "application/x-www-form-urlencoded")],
    );
    let found = |body: &str| {
        let whole = Whole {
            parts: &parts,
            params: &[],
            body: body.as_bytes(),
        };
        find(&rules, &whole)
    };
    assert_eq!(found("a=1&idempotency_key=k+1").unwrap(), key("k 1"));
    assert_eq!(found("a=1").unwrap(), Found::Missing);
    assert!(found("idempotency_key=1&idempotency_key=2").is_err());
}

#[test]
fn a_template_sees_body_path_query_and_headers() {
    let template = "{orderId}#{path.id}#{query.v}#{header.x-line:lower}"
        .parse()
        .unwrap();
    let rules = rules(vec![Source::Template(template)]);
    let parts = parts(
        "/orders/7?v=2",
        &[("X-Line", "A"), ("Content-Type", "application/json")],
    );
    let params = [("id".to_owned(), "7".to_owned())];
    let whole = Whole {
        parts: &parts,
        params: &params,
        body: br#"{"orderId":"o-1"}"#,
    };
    assert_eq!(find(&rules, &whole).unwrap(), key("o-1#7#2#a"));
    let empty = Whole {
        body: b"{}",
        ..whole
    };
    assert!(find(&rules, &empty).is_err());
}
