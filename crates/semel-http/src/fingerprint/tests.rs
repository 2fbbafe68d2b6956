use http::Request;

use super::*;

async fn print(by: &By, uri: &str, kind: &str, body: &str) -> Fingerprint {
    let request = Request::post(uri).header("Content-Type", kind);
    let (parts, ()) = request.body(()).unwrap().into_parts();
    let body = Bytes::copy_from_slice(body.as_bytes());
    by.of(&Head::default(), &parts, &body).await
}

async fn same(by: &By, kind: &str, a: &str, b: &str) -> bool {
    print(by, "/p", kind, a).await == print(by, "/p", kind, b).await
}

fn paths(paths: &[&str]) -> Vec<JsonPath> {
    paths.iter().map(|path| path.parse().unwrap()).collect()
}

const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn the_order_of_json_fields_does_not_matter_unless_raw() {
    let (a, b) = (r#"{"a":1,"b":2}"#, r#"{ "b":2, "a":1 }"#);
    assert!(same(&By::CanonicalJson, JSON, a, b).await);
    assert!(same(&By::CanonicalJson, "application/vnd.api+json", a, b).await);
    assert!(
        same(&By::CanonicalJson, FORM, a, b).await,
        "curl calls JSON a form"
    );
    assert!(!same(&By::Raw, JSON, a, b).await);
    assert!(!same(&By::CanonicalJson, JSON, a, r#"{"a":1,"b":3}"#).await);
}

#[tokio::test]
async fn method_path_query_and_type_count() {
    let by = By::CanonicalJson;
    let one = print(&by, "/p?a=1&b=2", JSON, "{}").await;
    assert_eq!(one, print(&by, "/p?b=2&a=1", JSON, "{}").await);
    assert_eq!(one, print(&by, "/p?b=2&a=%31", JSON, "{}").await);
    assert_eq!(
        one,
        print(&by, "/p?a=1&b=2", "Application/JSON; charset=utf-8", "{}").await
    );
    for (uri, kind) in [
        ("/q?a=1&b=2", JSON),
        ("/p?a=1&b=3", JSON),
        ("/p?a=1", JSON),
        ("/p?a=1&b=2&b=2", JSON),
        ("/p?a=1&b=2", "text/plain"),
    ] {
        assert_ne!(one, print(&by, uri, kind, "{}").await, "{uri} {kind}");
    }
    assert_ne!(
        print(&by, "/p?a=1&a=2", JSON, "{}").await,
        print(&by, "/p?a=2&a=1", JSON, "{}").await
    );
    let (parts, ()) = Request::patch("/p?a=1&b=2")
        .header("Content-Type", JSON)
        .body(())
        .unwrap()
        .into_parts();
    assert_ne!(
        one,
        by.of(&Head::default(), &parts, &Bytes::from("{}")).await
    );
}

#[tokio::test]
async fn chosen_fields_count_and_excluded_ones_do_not() {
    let (a, b) = (r#"{"amount":1,"at":5}"#, r#"{"amount":1,"at":6}"#);
    let other = r#"{"amount":2,"at":5}"#;
    for by in [
        By::Fields(paths(&["$.amount"])),
        By::Exclude(paths(&["at"])),
    ] {
        assert!(same(&by, JSON, a, b).await, "{by:?}");
        assert!(!same(&by, JSON, a, other).await, "{by:?}");
        assert!(
            same(&by, FORM, "amount=1&at=5", "amount=1&at=6").await,
            "{by:?}"
        );
        assert!(
            !same(&by, FORM, "amount=1&at=5", "amount=2&at=5").await,
            "{by:?}"
        );
        assert!(!same(&by, "text/plain", "amount", "at").await, "{by:?}");
    }
    let by = By::Fields(paths(&["$.a", "$.b"]));
    assert!(!same(&by, JSON, r#"{"a":1}"#, r#"{"b":1}"#).await);
}

#[tokio::test]
async fn where_no_chosen_field_is_there_all_of_it_counts() {
    let by = By::Fields(paths(&["order_id"]));
    let (kind, one) = form("AAA", &[("orderId", "1")]);
    let (_, two) = form("AAA", &[("orderId", "2")]);
    for (kind, a, b) in [
        (JSON, r#"{"orderId":1}"#, r#"{"orderId":2}"#),
        (FORM, "orderId=1", "orderId=2"),
        (kind.as_str(), one.as_str(), two.as_str()),
    ] {
        assert!(!same(&by, kind, a, b).await, "{kind}");
        assert!(same(&by, kind, a, a).await, "{kind}");
    }
}

#[tokio::test]
async fn amounts_that_a_double_cannot_hold_stay_apart() {
    for by in [
        By::CanonicalJson,
        By::Fields(paths(&["a"])),
        By::Exclude(paths(&["b"])),
    ] {
        let (a, b) = (r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#);
        assert!(!same(&by, JSON, a, b).await, "{by:?}");
    }
}

fn form(boundary: &str, parts: &[(&str, &str)]) -> (String, String) {
    let part = |(name, content): &(&str, &str)| {
        format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{content}\r\n"
        )
    };
    let body: String = parts.iter().map(part).collect();
    let kind = format!("multipart/form-data; boundary={boundary}");
    (kind, format!("{body}--{boundary}--\r\n"))
}

#[tokio::test]
async fn a_multipart_form_is_compared_by_its_parts() {
    let one = form("AAA", &[("a", "1"), ("b", "2")]);
    let two = form("BBB", &[("a", "1"), ("b", "2")]);
    let other = form("AAA", &[("a", "1"), ("b", "3")]);
    let swapped = form("AAA", &[("b", "2"), ("a", "1")]);
    let of = |form: (String, String)| async move {
        print(&By::CanonicalJson, "/p", &form.0, &form.1).await
    };
    let one = of(one).await;
    assert_eq!(one, of(two).await);
    assert_ne!(one, of(other).await);
    assert_ne!(one, of(swapped).await);
    let broken = (
        "multipart/form-data; boundary=AAA".to_owned(),
        "--AAA\r\nnonsense".to_owned(),
    );
    assert_eq!(of(broken.clone()).await, of(broken).await);
}

#[tokio::test]
async fn a_compressed_body_is_compared_byte_by_byte() {
    let of = |encoding: &'static str| async move {
        let request = Request::post("/p").header("Content-Type", JSON);
        let request = request.header("Content-Encoding", encoding);
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let head = Head::default();
        By::CanonicalJson
            .of(&head, &parts, &Bytes::from("{}"))
            .await
    };
    assert_ne!(of("gzip").await, of("br").await);
}

#[tokio::test]
async fn off_compares_nothing() {
    assert!(same(&By::Off, JSON, "1", "2").await);
    assert_eq!(print(&By::Off, "/x", JSON, "1").await, Fingerprint::none());
}

async fn with_head(head: &Head, uri: &str, headers: &[(&str, &str)]) -> Fingerprint {
    let request = Request::post(uri);
    let request = headers
        .iter()
        .fold(request, |r, (name, value)| r.header(*name, *value));
    let (parts, ()) = request.body(()).unwrap().into_parts();
    By::CanonicalJson.of(head, &parts, &Bytes::new()).await
}

#[tokio::test]
async fn the_host_that_the_client_means_counts_however_it_is_written() {
    let head = Head::default();
    let one = with_head(&head, "/p", &[("Host", "shop.example")]).await;
    for (uri, host) in [
        ("/p", "SHOP.Example"),
        ("/p", "shop.example:443"),
        ("/p", "shop.example:8080"),
        ("/p", "shop.example."),
        ("http://shop.example/p", "other.example"),
        ("https://shop.example:443/p", ""),
    ] {
        assert_eq!(
            one,
            with_head(&head, uri, &[("Host", host)]).await,
            "{uri} {host}"
        );
    }
    for host in ["other.example", "[::1]", ""] {
        assert_ne!(
            one,
            with_head(&head, "/p", &[("Host", host)]).await,
            "{host}"
        );
    }
    let without = Head {
        authority: false,
        ..head
    };
    assert_eq!(
        with_head(&without, "/p", &[("Host", "a")]).await,
        with_head(&without, "/p", &[("Host", "b")]).await
    );
}

#[tokio::test]
async fn the_routes_headers_count_and_others_do_not() {
    let head = Head {
        headers: vec!["x-region".parse().unwrap()],
        ..Head::default()
    };
    let one = with_head(&head, "/p", &[("X-Region", "eu"), ("X-Trace", "1")]).await;
    assert_eq!(
        one,
        with_head(&head, "/p", &[("X-Region", "eu"), ("X-Trace", "2")]).await
    );
    for headers in [
        &[("X-Region", "us")][..],
        &[],
        &[("X-Region", "eu"), ("X-Region", "us")],
        &[("X-Region", "")],
    ] {
        assert_ne!(one, with_head(&head, "/p", headers).await, "{headers:?}");
    }
}

#[tokio::test]
async fn a_byte_order_mark_says_nothing() {
    for by in [
        By::CanonicalJson,
        By::Fields(paths(&["a"])),
        By::Exclude(paths(&["b"])),
    ] {
        assert!(
            same(&by, JSON, r#"{"a":1}"#, "\u{feff}{ \"a\": 1 }").await,
            "{by:?}"
        );
    }
    assert!(!same(&By::Raw, JSON, "{}", "\u{feff}{}").await);
}

/// Each match was a new search of the whole body.
#[tokio::test]
async fn a_hundred_thousand_excluded_fields_are_found_at_once() {
    let item = |n: u32| format!(r#"{{"a":{n}}}"#);
    let list = |from: u32| {
        (from..from + 100_000)
            .map(item)
            .collect::<Vec<_>>()
            .join(",")
    };
    let [one, two] = [0, 7].map(|from| format!("[{}]", list(from)));
    assert!(same(&By::Exclude(paths(&["$[*].a"])), JSON, &one, &two).await);
}
