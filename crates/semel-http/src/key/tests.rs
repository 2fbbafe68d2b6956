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

#[tokio::test]
async fn the_first_place_with_a_key_wins() {
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
    assert_eq!(find(&rules, &whole).await.unwrap(), key("from-body"));
}

/// What is found in a body of this type.
async fn in_body(rules: &Rules, kind: &str, body: impl AsRef<[u8]>) -> Result<Found> {
    let parts = parts("/", &[("Content-Type", kind)]);
    let whole = Whole {
        parts: &parts,
        params: &[],
        body: body.as_ref(),
    };
    find(rules, &whole).await
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn a_body_field_is_a_string_or_a_number_and_there_once() {
    let rules = rules(vec![Source::Body("task.name".parse().unwrap())]);
    let found = async |body: &str| in_body(&rules, JSON, body).await;
    assert_eq!(found(r#"{"task":{"name":"t"}}"#).await.unwrap(), key("t"));
    assert_eq!(found(r#"{"task":{"name":17}}"#).await.unwrap(), key("17"));
    for missing in [
        "{}",
        r#"{"task":null}"#,
        r#"{"task":{"name":null}}"#,
        "",
        " \n",
        "7",
    ] {
        assert_eq!(found(missing).await.unwrap(), Found::Missing, "{missing}");
    }
    for invalid in [
        r#"{"task":{"name":{}}}"#,
        r#"{"task":{"name":[1]}}"#,
        r#"{"task":{"name":true}}"#,
        r#"{"task":{"name":""}}"#,
        r#"{"task":{"name":"a","name":"b"}}"#,
    ] {
        assert!(found(invalid).await.is_err(), "{invalid}");
    }
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_no_body_without_a_key() {
    let rules = rules(vec![Source::Body("k".parse().unwrap())]);
    for (kind, body) in [
        (JSON, "not json"),
        (JSON, r#"{"k":"1""#),
        (JSON, r#"{"k":"1","x":"\ud83d"}"#),
        (JSON, r#"{"k":"1","x":1e999}"#),
        (JSON, "{'k':'1'}"),
        (FORM, r#"{"k":"1""#),
        (FORM, "k\0=\x001"),
        ("text/plain", "k=1"),
        ("application/xml", "<k>1</k>"),
        ("multipart/form-data; boundary=B", "--B\r\nnonsense"),
        ("multipart/form-data", "k=1"),
    ] {
        let found = in_body(&rules, kind, body).await;
        assert!(found.is_err(), "{kind} {body:?} {found:?}");
    }
    let utf16: Vec<u8> = r#"{"k":"1"}"#.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(in_body(&rules, JSON, utf16).await.is_err());
    assert!(in_body(&rules, FORM, b"k=\xff").await.is_err());
}

#[tokio::test]
async fn what_clients_call_a_form_and_put_a_mark_in_front_of_is_read() {
    let rules = rules(vec![Source::Body("k".parse().unwrap())]);
    for (kind, body) in [
        (FORM, r#"{"k":"1"}"#),
        (FORM, "\u{feff}{\"k\":\"1\"}"),
        (JSON, "\u{feff}{\"k\":\"1\"}"),
        ("text/plain", r#" {"k":"1"}"#),
        ("", r#"{"k":1}"#),
        ("application/vnd.api+json; charset=utf-8", r#"{"k":1}"#),
        (FORM, "k=1&list=a&list=b"),
        (FORM, "other=%ff&k=1"),
        (
            "multipart/form-data; boundary=B",
            "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"k\"\r\n\r\n\u{0}\r\n\
             --B\r\nContent-Disposition: form-data; name=\"k\"\r\n\r\n1\r\n--B--\r\n",
        ),
    ] {
        let found = in_body(&rules, kind, body).await;
        assert_eq!(found.unwrap(), key("1"), "{kind} {body}");
    }
}

#[tokio::test]
async fn a_compressed_body_holds_no_key_that_can_be_read() {
    let rules = rules(vec![Source::Body("k".parse().unwrap())]);
    for (encoding, is_read) in [
        ("gzip", false),
        ("br", false),
        ("identity, gzip", false),
        ("identity", true),
    ] {
        let parts = parts(
            "/",
            &[("Content-Type", JSON), ("Content-Encoding", encoding)],
        );
        let whole = Whole {
            parts: &parts,
            params: &[],
            body: br#"{"k":"1"}"#,
        };
        assert_eq!(find(&rules, &whole).await.is_ok(), is_read, "{encoding}");
        let empty = Whole { body: b"", ..whole };
        assert_eq!(find(&rules, &empty).await.unwrap(), Found::Missing);
    }
}

#[tokio::test]
async fn forms_have_fields_too() {
    let rules = rules(vec![Source::Body("idempotency_key".parse().unwrap())]);
    let found = async |body: &str| in_body(&rules, FORM, body).await;
    assert_eq!(found("a=1&idempotency_key=k+1").await.unwrap(), key("k 1"));
    assert_eq!(found("a=1&a=2").await.unwrap(), Found::Missing);
    assert!(found("idempotency_key=1&idempotency_key=2").await.is_err());
    assert!(found("idempotency_key=%ff").await.is_err());
    let part = |name: &str, more: &str| {
        format!(
            "--B\r\nContent-Disposition: form-data; name=\"{name}\"{more}\r\n\r\nk\r\n--B--\r\n"
        )
    };
    let kind = "multipart/form-data; boundary=B";
    let file = part("idempotency_key", "; filename=\"a\"");
    assert!(in_body(&rules, kind, file).await.is_err());
    let other = in_body(&rules, kind, part("a", "")).await;
    assert_eq!(other.unwrap(), Found::Missing);
}

#[tokio::test]
async fn names_with_brackets_lead_into_a_form_as_services_read_them() {
    let rules = rules(vec![Source::Body("$.order.id".parse().unwrap())]);
    let found = async |body: &str| in_body(&rules, FORM, body).await;
    assert_eq!(found("order[id]=7&order[at]=1").await.unwrap(), key("7"));
    assert_eq!(found("order%5Bid%5D=7").await.unwrap(), key("7"));
    assert_eq!(found("order[line]=7").await.unwrap(), Found::Missing);
    for bad in [
        "order[id]=7&order[id]=8",
        "order=1&order[id]=7",
        "order[id][x]=7",
    ] {
        assert!(found(bad).await.is_err(), "{bad}");
    }
    let deep = format!("order{}=7", "[x]".repeat(1_000));
    assert_eq!(found(&deep).await.unwrap(), Found::Missing);
}

#[tokio::test]
async fn a_template_sees_body_path_query_and_headers() {
    let template = "{orderId}#{path.id}#{query.v}#{header.X-Line:lower}"
        .parse()
        .unwrap();
    let rules = rules(vec![Source::Template(template)]);
    let head = |uri: &str, lines: &[&str]| {
        let lines = lines.iter().map(|line| ("X-Line", *line));
        let headers: Vec<_> = lines.chain([("Content-Type", JSON)]).collect();
        parts(uri, &headers)
    };
    let params = [("id".to_owned(), "7".to_owned())];
    let found = async |uri: &str, lines: &[&str], body: &str| {
        let whole = Whole {
            parts: &head(uri, lines),
            params: &params,
            body: body.as_bytes(),
        };
        find(&rules, &whole).await
    };
    let body = r#"{"orderId":"o-1"}"#;
    let whole = found("/orders/7?v=2", &["A"], body).await;
    assert_eq!(whole.unwrap(), key("o-1#7#2#a"));
    for (uri, lines, body) in [
        ("/orders/7?v=2", &["A"][..], "{}"),
        ("/orders/7?v=2", &["A"], ""),
        ("/orders/7?v=2", &[], body),
        ("/orders/7", &["A"], body),
    ] {
        let found = found(uri, lines, body).await;
        assert_eq!(found.unwrap(), Found::Missing, "{uri} {lines:?} {body}");
    }
    for (uri, lines, body) in [
        ("/orders/7?v=2&v=2", &["A"][..], body),
        ("/orders/7?v=2", &["A", "A"], body),
        ("/orders/7?v=2", &["A"], r#"{"orderId":[1]}"#),
        ("/orders/7?v=2", &["A"], r#"{"orderId":"o-1""#),
    ] {
        let found = found(uri, lines, body).await;
        assert!(found.is_err(), "{uri} {lines:?} {body} {found:?}");
    }
}

#[tokio::test]
async fn a_template_reads_only_what_it_names() {
    let template = "{header.x-line}".parse().unwrap();
    let rules = rules(vec![Source::Template(template)]);
    let parts = parts("/", &[("X-Line", "7")]);
    let whole = Whole {
        parts: &parts,
        params: &[],
        body: b"\xff\xfe",
    };
    assert_eq!(find(&rules, &whole).await.unwrap(), key("7"));
    // A name that the route's pattern does not have is a mistake in every request.
    let template = "{path.absent}".parse().unwrap();
    let rules = self::rules(vec![Source::Template(template), Source::Derive]);
    assert!(find(&rules, &whole).await.is_err());
}

#[tokio::test]
async fn a_list_goes_on_after_a_template_whose_field_is_missing() {
    let template = "{orderId}#{line.id}".parse().unwrap();
    let rules = rules(vec![Source::Template(template), Source::Derive]);
    let found = in_body(&rules, JSON, r#"{"orderId":"o-1"}"#).await;
    assert_eq!(found.unwrap(), Found::Derive);
    let found = in_body(&rules, JSON, r#"{"orderId":"o-1","line":{"id":2}}"#).await;
    assert_eq!(found.unwrap(), key("o-1#2"));
}
