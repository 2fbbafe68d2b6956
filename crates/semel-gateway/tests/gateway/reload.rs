//! New configurations while requests are in flight.

use std::sync::Arc;

use http::Method;
use semel_core::{MemoryStore, Once};
use semel_gateway::{Gateway, Kind, Route};
use semel_http::event::Nobody;
use semel_http::rules::Missing;

use crate::support::gateway::get;
use crate::support::{Gate, OK, Upstream, config, reply, start};

#[tokio::test]
async fn requests_in_flight_keep_the_old_configuration() {
    let gate = Gate::closed();
    let script = gate.clone();
    let old = Upstream::start(move |_request, mut peer| {
        let gate = script.clone();
        async move {
            gate.pass().await;
            peer.send(reply("200 OK", "", "old")).await;
            Some(peer)
        }
    })
    .await;
    let new = Upstream::answering(reply("200 OK", "", "new")).await;
    let gateway = start(config(old.url()));
    let mut first = gateway.connect().await;
    first.send(get("/")).await;
    old.arrived(1).await;
    gateway.handle.reload(&config(new.url())).unwrap();
    assert_eq!(gateway.call(get("/")).await.text(), "new");
    gate.open();
    assert_eq!(first.response().await.unwrap().text(), "old");
    // The same connection, a new request: the new configuration.
    first.send(get("/")).await;
    assert_eq!(first.response().await.unwrap().text(), "new");
}

#[tokio::test]
async fn routes_change_and_what_they_have_recorded_stays() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let request = "POST /pay HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}";
    assert_eq!(gateway.call(request).await.status(), 200);
    assert_eq!(gateway.post("/other", "k", "{}").await.status(), 200);

    let mut strict = config(upstream.url());
    let mut route = Route::new(Method::POST, "/pay").unwrap();
    route.rules.missing = Missing::Require;
    strict.routes = Route::catch_all();
    strict.routes.push(route);
    gateway.handle.reload(&strict).unwrap();
    let refused = gateway.call(request).await;
    assert_eq!(refused.problem(), (400, "key-missing".to_owned()));
    assert!(gateway.post("/other", "k", "{}").await.is_replay());
    assert_eq!(upstream.effects(), 2);
}

#[tokio::test]
async fn a_bad_configuration_changes_nothing() {
    let upstream = Upstream::answering(OK).await;
    let good = config(upstream.url());
    let gateway = start(good.clone());
    let route = || Route::new(Method::POST, "/a").unwrap();

    let mut conflicting = good.clone();
    conflicting.routes = vec![route(), route()];
    let mut elsewhere = good.clone();
    elsewhere.listen = "127.0.0.1:1".parse().unwrap();
    let mut nowhere = good.clone();
    nowhere.upstream.url = "/no-host".parse().unwrap();
    let mut nothing = good.clone();
    nothing.limits.in_flight_max = 0;
    for (config, kind) in [
        (conflicting, Kind::Invalid),
        (elsewhere, Kind::Fixed),
        (nowhere, Kind::Invalid),
        (nothing, Kind::Invalid),
    ] {
        assert_eq!(gateway.handle.reload(&config).unwrap_err().kind(), kind);
        assert_eq!(gateway.call(get("/")).await.status(), 200);
    }
}

#[tokio::test]
async fn limits_change_for_the_next_request() {
    let gate = Gate::closed();
    let script = gate.clone();
    let upstream = Upstream::start(move |_request, mut peer| {
        let gate = script.clone();
        async move {
            gate.pass().await;
            peer.send(OK).await;
            Some(peer)
        }
    })
    .await;
    let mut config = config(upstream.url());
    config.limits.in_flight_max = 1;
    let gateway = start(config.clone());
    let (mut first, mut second) = (gateway.connect().await, gateway.connect().await);
    first.send(get("/")).await;
    upstream.arrived(1).await;
    assert_eq!(gateway.call(get("/")).await.status(), 503);
    config.limits.in_flight_max = 2;
    gateway.handle.reload(&config).unwrap();
    second.send(get("/")).await;
    upstream.arrived(2).await;
    gate.open();
    for peer in [&mut first, &mut second] {
        assert_eq!(peer.response().await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn an_address_that_is_taken_is_named() {
    let gateway = start(config("http://127.0.0.1:1"));
    let mut config = config("http://127.0.0.1:1");
    config.listen = gateway.addr.into();
    let once = Once::new(MemoryStore::new());
    let error = Gateway::bind(config, once, Arc::new(Nobody)).unwrap_err();
    assert_eq!(error.kind(), Kind::Listen);
    let said = error.to_string();
    let address = gateway.addr.to_string();
    assert!(
        said.contains(&address) && said.contains("another process listens"),
        "{said}"
    );
}

#[tokio::test]
async fn a_route_may_have_an_upstream_of_its_own() {
    let (main, own) = (Upstream::answering(OK).await, Upstream::answering(OK).await);
    let mut config = config(main.url());
    let mut route = Route::new(Method::POST, "/pay").unwrap();
    route.upstream = Some(format!("{}/v2", own.url()).parse().unwrap());
    config.routes = vec![route];
    let gateway = start(config);
    gateway.post("/pay", "k", "{}").await;
    gateway.post("/other", "k", "{}").await;
    assert_eq!(own.only().target(), "POST /v2/pay");
    assert_eq!(main.only().target(), "POST /other");
}
