//! Routes for some hosts.

use http::Method;
use semel_core::Scope;
use semel_gateway::{Config, Route};
use semel_http::rules::Missing;

use crate::support::message::Message;
use crate::support::{OK, Running, Upstream, config, start};

fn route(upstream: &Upstream, hosts: &[&str], scope: &str) -> Route {
    let mut route = Route::new(Method::POST, "/pay").unwrap();
    route.hosts = hosts.iter().map(|host| host.parse().unwrap()).collect();
    route.rules.scope = Scope::new(scope, 1).unwrap();
    route.rules.missing = Missing::Require;
    route.upstream = Some(upstream.url().parse().unwrap());
    route
}

async fn post(gateway: &Running, host: &str, key: &str) -> Message {
    let request =
        format!("POST /pay HTTP/1.1\r\nHost: {host}\r\n{key}Content-Length: 2\r\n\r\n{{}}");
    gateway.call(request).await
}

fn with(upstream: &Upstream, routes: Vec<Route>) -> Config {
    let mut config = config(upstream.url());
    config.routes = routes;
    config
}

#[tokio::test]
async fn a_route_for_a_host_guards_that_host_however_it_is_written() {
    let upstream = Upstream::answering(OK).await;
    let guarded = route(&upstream, &["api.example.com", "*.shop.example"], "pay");
    let gateway = start(with(&upstream, vec![guarded]));
    for (host, status) in [
        ("api.example.com", 400),
        ("API.Example.COM", 400),
        ("api.example.com:8443", 400),
        ("api.example.com.", 400),
        ("eu.shop.example", 400),
        ("a.eu.shop.example:80", 400),
        ("shop.example", 200),
        ("badshop.example", 200),
        ("example.com", 200),
        ("api.example.com.evil", 200),
    ] {
        assert_eq!(post(&gateway, host, "").await.status(), status, "{host}");
    }
    let absolute = "POST http://api.example.com/pay HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 0\r\n\r\n";
    let refused = gateway.call(absolute).await;
    assert_eq!(refused.problem(), (400, "key-missing".to_owned()));
}

#[tokio::test]
async fn the_more_particular_host_wins_and_any_host_comes_last() {
    let upstream = Upstream::answering(OK).await;
    let names = ["one", "below-eu", "below", "any"];
    let mut services = Vec::new();
    for _ in names {
        services.push(Upstream::answering(OK).await);
    }
    let routes = vec![
        route(&services[3], &[], "any"),
        route(&services[2], &["*.example.com"], "below"),
        route(&services[1], &["*.eu.example.com"], "below-eu"),
        route(&services[0], &["api.eu.example.com"], "one"),
    ];
    let gateway = start(with(&upstream, routes));
    for (host, service) in [
        ("api.eu.example.com", 0),
        ("b.eu.example.com", 1),
        ("eu.example.com", 2),
        ("example.com", 3),
    ] {
        let before = services[service].effects();
        let response = post(&gateway, host, "Idempotency-Key: k\r\n").await;
        assert_eq!(response.status(), 200, "{host}");
        assert_eq!(services[service].effects(), before + 1, "{host}");
    }
}

#[tokio::test]
async fn two_hosts_with_one_path_are_two_operations() {
    let upstream = Upstream::answering(OK).await;
    let routes = vec![
        route(&upstream, &["a.example"], "POST a.example/pay"),
        route(&upstream, &["b.example"], "POST b.example/pay"),
    ];
    let gateway = start(with(&upstream, routes));
    for replayed in [false, true] {
        for host in ["a.example", "b.example"] {
            let response = post(&gateway, host, "Idempotency-Key: k\r\n").await;
            assert_eq!((response.status(), response.is_replay()), (200, replayed));
        }
    }
    assert_eq!(upstream.effects(), 2);
}
