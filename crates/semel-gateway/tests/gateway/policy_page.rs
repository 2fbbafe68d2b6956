//! The idempotency policy as a page of the gateway's own.

use http::Method;
use semel_gateway::Route;
use semel_http::Profile;
use serde_json::Value;

use crate::support::gateway::get;
use crate::support::{OK, Upstream, config, guarding, start};

const PAGE: &str = "/.well-known/idempotency-policy";

#[tokio::test]
async fn the_page_says_what_the_routes_do_and_nothing_of_the_upstream() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |rules| {
        *rules = Profile::Acp.rules(rules.scope.clone());
    }));
    let page = gateway.call(get(PAGE)).await;
    assert_eq!(page.status(), 200);
    assert_eq!(page.header("content-type"), Some("application/json"));
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let document: Value = serde_json::from_slice(&page.body).unwrap();
    let route = &document["routes"][0];
    assert_eq!(
        (&route["path"], &route["methods"][0]),
        (&"/pay".into(), &"POST".into())
    );
    assert_eq!(route["key"]["required"], true);
    assert_eq!(route["profile"], "acp");
    assert!(!page.text().contains(&upstream.addr.port().to_string()));
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test]
async fn people_get_text() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    let ask = |accept: &str| format!("GET {PAGE} HTTP/1.1\r\nHost: a\r\nAccept: {accept}\r\n\r\n");
    let page = gateway.call(ask("text/html,*/*;q=0.8")).await;
    assert_eq!(
        page.header("content-type"),
        Some("text/plain; charset=utf-8")
    );
    assert!(page.text().contains("POST /pay\n"), "{}", page.text());
    for accept in ["*/*", "application/json, text/plain"] {
        let page = gateway.call(ask(accept)).await;
        assert_eq!(
            page.header("content-type"),
            Some("application/json"),
            "{accept}"
        );
    }
    let mut peer = gateway.connect().await;
    peer.send(format!("HEAD {PAGE} HTTP/1.1\r\nHost: a\r\n\r\n"))
        .await;
    let head = peer.response_without_body().await.unwrap();
    assert_eq!((head.status(), head.header("vary")), (200, Some("Accept")));
}

#[tokio::test]
async fn the_page_follows_a_reload_and_can_move_or_go() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    let mut other = guarding(upstream.url(), |rules| rules.key_bytes_max = 36);
    other.policy_page = Some("/policy".to_owned());
    gateway.handle.reload(&other).unwrap();
    let page: Value = serde_json::from_slice(&gateway.call(get("/policy")).await.body).unwrap();
    assert_eq!(page["routes"][0]["key"]["bytes_max"], 36);
    assert_eq!(gateway.call(get(PAGE)).await.text(), "ok");
    other.policy_page = None;
    gateway.handle.reload(&other).unwrap();
    assert_eq!(gateway.call(get("/policy")).await.text(), "ok");
}

#[tokio::test]
async fn a_route_with_the_path_wins_and_other_methods_pass() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let post = format!("POST {PAGE} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(gateway.call(post).await.text(), "ok");
    let mut routed = config(upstream.url());
    routed.routes = vec![Route::new(Method::GET, "/.well-known/{*rest}").unwrap()];
    let gateway = start(routed);
    assert_eq!(gateway.call(get(PAGE)).await.text(), "ok");
}

#[tokio::test]
async fn a_page_without_a_path_is_refused() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    for path in ["policy", "", "/a?b", "/a b"] {
        let mut other = config(upstream.url());
        other.policy_page = Some(path.to_owned());
        assert!(gateway.handle.reload(&other).is_err(), "{path}");
    }
}
