//! Nothing gets past a guard by its spelling.

use std::sync::{Arc, Mutex};

use http::Method;
use semel_core::{MemoryStore, Once};
use semel_gateway::{Config, Gateway, Route};
use semel_http::event::{Event, RequestObserver};
use semel_http::rules::Missing;

use crate::support::http2::{Client, request};
use crate::support::{OK, Peer, Upstream, config, guarding, start};

/// A gateway's configuration that demands a key for POSTs to `/pay`.
fn strict(upstream: &Upstream) -> Config {
    guarding(upstream.url(), |rules| rules.missing = Missing::Require)
}

fn unkeyed(line: &str, headers: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: a\r\n{headers}Content-Length: 2\r\n\r\n{{}}")
}

#[tokio::test]
async fn every_spelling_that_a_service_may_read_as_the_path_needs_the_key() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(strict(&upstream));
    for path in [
        "/pay",
        "/pay/",
        "/pay//",
        "//pay",
        "/Pay",
        "/PAY/?x=1",
        "/%70ay",
        "/%50AY",
        "/pay;v=1",
        "/pay;jsessionid=1/",
        "/;x/pay",
        "/pay%3Bv=1",
        "/pay.json",
        "/pay.",
    ] {
        let response = gateway.call(unkeyed(&format!("POST {path}"), "")).await;
        let expected = (400, "key-missing".to_owned());
        assert_eq!(response.problem(), expected, "{path}");
    }
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test]
async fn what_services_could_read_as_the_path_in_another_way_is_refused() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(strict(&upstream));
    for path in [
        "/x/../pay",
        "/x/..;/pay",
        "/x/..;a=b/pay",
        "/x/%2e%2e/pay",
        "/x/%2e%2e%3b/pay",
        "/x/%252e%252e/pay",
        "/x%3F/%2e%2e/pay",
        "/x%23/../pay",
        "/%u0070ay",
        "/x%2F..%2Fpay",
        "/./pay",
        "/.;/pay",
        "/pay%2F",
        "/%2Fpay",
        "/p%2561y",
        "/pay%252F",
        "/pay%00",
        "/pay%00.png",
        "/pay%3Fx",
        "/pay%23x",
        "/pay%20",
        "/pay%09",
        "/%5Cpay",
        "/x\\pay",
    ] {
        let response = gateway.call(unkeyed(&format!("POST {path}"), "")).await;
        assert_eq!(response.status(), 400, "{path}");
    }
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test]
async fn every_way_to_name_the_method_needs_the_key() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(strict(&upstream));
    for (line, headers) in [
        ("post /pay", ""),
        ("Post /pay/", ""),
        ("GET /pay", "X-HTTP-Method-Override: POST\r\n"),
        ("PUT /pay", "X-HTTP-Method-Override: post\r\n"),
        ("PUT /Pay", "X-HTTP-Method:  Post \r\n"),
        ("DELETE /pay", "X-Method-Override: POST\r\n"),
        (
            "PUT /pay",
            "X-Method-Override: PUT\r\nX-Method-Override: POST\r\n",
        ),
        ("PUT /pay", "X-Method-Override: PUT, POST\r\n"),
        ("PUT /pay?_method=POST", ""),
        ("PUT /pay?a=1&_method=post", ""),
        ("PUT /pay?%5Fmethod=%50OST", ""),
        // A method that is guarded stays so, whatever else it is said to be.
        ("POST /pay", "X-HTTP-Method-Override: DELETE\r\n"),
        ("POST /pay?_method=DELETE", ""),
    ] {
        let response = gateway.call(unkeyed(line, headers)).await;
        let expected = (400, "key-missing".to_owned());
        assert_eq!(response.problem(), expected, "{line} {headers}");
    }
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test]
async fn a_form_may_name_the_method_in_its_body() {
    let upstream = Upstream::answering(OK).await;
    let mut route = Route::new(Method::DELETE, "/orders/{id}").unwrap();
    route.rules.missing = Missing::Require;
    let mut config = config(upstream.url());
    config.routes = vec![route];
    let gateway = start(config);
    for (kind, status) in [
        ("application/x-www-form-urlencoded", 400),
        ("Multipart/Form-Data; boundary=x", 400),
        ("multipart/mixed; boundary=x", 400),
        ("application/x-www-form-urlencoded, x", 400),
        ("application/json", 200),
    ] {
        let headers = format!("Content-Type: {kind}\r\n");
        let response = gateway.call(unkeyed("POST /orders/7", &headers)).await;
        assert_eq!(response.status(), status, "{kind}");
    }
    // Rack takes a body without a type for a form.
    let untyped = gateway.call(unkeyed("POST /orders/7", "")).await;
    assert_eq!(untyped.status(), 400);
    let empty = "POST /orders/7 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(gateway.call(empty).await.status(), 200);
}

#[tokio::test]
async fn a_route_that_lets_everything_pass_hides_no_stricter_one() {
    let upstream = Upstream::answering(OK).await;
    let lax = Route::new(Method::POST, "/{*rest}").unwrap();
    let mut strict = Route::new(Method::PATCH, "/orders/{id}").unwrap();
    strict.rules.missing = Missing::Require;
    let mut config = config(upstream.url());
    config.routes = vec![lax, strict];
    let gateway = start(config);
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    let response = gateway.call(unkeyed("POST /orders/7", form)).await;
    assert_eq!(response.problem(), (400, "key-missing".to_owned()));
    assert_eq!(gateway.call(unkeyed("POST /x", form)).await.status(), 200);
}

#[tokio::test]
async fn a_key_that_is_derived_does_not_depend_on_the_spelling() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |rules| {
        rules.missing = Missing::Derive;
    }));
    let who = "Authorization: Bearer ada\r\n";
    assert_eq!(gateway.call(unkeyed("POST /pay", who)).await.status(), 200);
    for line in ["POST /Pay", "POST /pay/", "POST /pay;v=1", "post /pay"] {
        let response = gateway.call(unkeyed(line, who)).await;
        let expected = (422, "key-reused".to_owned());
        assert_eq!(response.problem(), expected, "{line}");
    }
    assert!(gateway.call(unkeyed("POST /pay", who)).await.is_replay());
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn a_request_that_means_two_operations_is_refused_if_it_has_a_key() {
    let upstream = Upstream::answering(OK).await;
    // POST and PATCH are operations of their own.
    let gateway = start(config(upstream.url()));
    let over = "X-HTTP-Method-Override: PATCH\r\n";
    let keyed = format!("{over}Idempotency-Key: k\r\n");
    let response = gateway.call(unkeyed("POST /x", &keyed)).await;
    assert_eq!(response.problem(), (400, "bad-request".to_owned()));
    assert_eq!(upstream.effects(), 0);
    assert_eq!(gateway.call(unkeyed("POST /x", over)).await.status(), 200);

    // As one operation they are.
    let mut config = config(upstream.url());
    let mut route = Route::new(Method::POST, "/x").unwrap();
    route.methods.push(Method::PATCH);
    config.routes = vec![route];
    let gateway = start(config);
    for replayed in [false, true] {
        let response = gateway.call(unkeyed("POST /x", &keyed)).await;
        assert_eq!((response.status(), response.is_replay()), (200, replayed));
    }
    assert_eq!(upstream.effects(), 2);
}

#[tokio::test]
async fn a_spelling_is_forwarded_as_it_is_and_replayed_to_itself_only() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(strict(&upstream));
    for replayed in [false, true] {
        let response = gateway.post("/Pay/;v=1?b=2", "k", "{}").await;
        assert_eq!((response.status(), response.is_replay()), (200, replayed));
    }
    assert_eq!(upstream.only().target(), "POST /Pay/;v=1?b=2");
    let other = gateway.post("/pay", "k", "{}").await;
    assert_eq!(other.problem(), (422, "key-reused".to_owned()));
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn http2_is_read_as_leniently() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(strict(&upstream));
    let client = Client::connect(gateway.addr).await;
    for (method, path) in [("POST", "/Pay/"), ("post", "/pay"), ("POST", "/pay;v=1")] {
        let answer = client.call(request(method, path, "{}")).await.unwrap();
        assert_eq!(answer.head.status, 400, "{method} {path}");
    }
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test]
async fn the_more_particular_guard_is_not_left_for_a_laxer_one() {
    let upstream = Upstream::answering(OK).await;
    let mut config = strict(&upstream);
    config.routes.extend(Route::catch_all());
    let gateway = start(config);
    for path in [
        "/Pay",
        "/pay/",
        "/pay;v=1",
        "/pay.json",
        "/pay%2F",
        "/p%2561y",
    ] {
        let response = gateway.call(unkeyed(&format!("POST {path}"), "")).await;
        assert_eq!(response.status(), 400, "{path}");
    }
    assert_eq!(upstream.effects(), 0);
    for path in ["/Other", "/pay/x", "/x%2Fy", "/x.json", "/"] {
        let response = gateway.call(unkeyed(&format!("POST {path}"), "")).await;
        assert_eq!(response.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn what_is_another_path_passes() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(strict(&upstream));
    for line in [
        "GET /pay",
        "PUT /pay",
        "PUT /pay?_methods=POST",
        "POST /pay/x",
        "POST /pays",
        "POST /x/pay",
        "POST /pa%79s",
        "POST /x?y=/pay",
    ] {
        assert_eq!(
            gateway.call(unkeyed(line, "")).await.status(),
            200,
            "{line}"
        );
    }
}

#[tokio::test]
async fn an_exact_route_is_for_those_who_know_better() {
    let upstream = Upstream::answering(OK).await;
    let mut config = strict(&upstream);
    config.routes[0].exact = true;
    let gateway = start(config);
    let exact = gateway.call(unkeyed("POST /pay", "")).await;
    assert_eq!(exact.problem(), (400, "key-missing".to_owned()));
    for line in ["POST /pay/", "POST /Pay", "POST /pay;v=1", "post /pay"] {
        assert_eq!(
            gateway.call(unkeyed(line, "")).await.status(),
            200,
            "{line}"
        );
    }
    let overridden = unkeyed("PUT /pay", "X-HTTP-Method-Override: POST\r\n");
    assert_eq!(gateway.call(overridden).await.status(), 200);
}

#[tokio::test]
async fn patterns_of_other_routers_do_not_start_a_gateway() {
    let upstream = Upstream::answering(OK).await;
    for (path, meant) in [
        ("/orders/:id/lines", "{id} instead of :id"),
        ("/orders/*/lines", "{id} for one segment"),
        ("/orders/<id>", "{id} instead of <id>"),
        ("/orders/{id:int}", "{id} instead of {id:int}"),
    ] {
        let mut config = config(upstream.url());
        config.routes = vec![Route::new(Method::POST, path).unwrap()];
        let once = Once::new(MemoryStore::new());
        let refused = Gateway::bind(config, once, Arc::new(Unguarded::default()));
        let error = refused.unwrap_err().to_string();
        assert!(error.contains(meant), "{error}");
    }
}

/// Remembers which keyed requests nothing guarded.
#[derive(Debug, Default)]
struct Unguarded(Mutex<Vec<Method>>);

impl RequestObserver for Unguarded {
    fn saw(&self, _event: &Event<'_>) {}

    fn saw_unguarded(&self, method: &Method) {
        self.0.lock().unwrap().push(method.clone());
    }
}

#[tokio::test]
async fn keyed_requests_that_no_route_guards_are_counted() {
    let upstream = Upstream::answering(OK).await;
    let mut config = strict(&upstream);
    config.routes[0].rules.key = semel_http::key::Source::Header("x-order".parse().unwrap()).into();
    let watch = Arc::new(Unguarded::default());
    let once = Once::new(MemoryStore::new());
    let gateway = Gateway::bind(config, once, watch.clone()).unwrap();
    let addr = gateway.address().tcp().unwrap();
    let serving = tokio::spawn(gateway.serve(std::future::pending()));
    for (line, header) in [
        ("PUT /pay", "Idempotency-Key: k\r\n"),
        ("DELETE /x", "X-Order: k\r\n"),
        ("POST /x", ""),
        ("GET /x", "Idempotency-Key: k\r\n"),
        ("POST /pay", "X-Order: k\r\n"),
    ] {
        let mut peer = Peer::connect(addr).await;
        peer.send(unkeyed(line, header)).await;
        assert_eq!(peer.response().await.unwrap().status(), 200, "{line}");
    }
    assert_eq!(*watch.0.lock().unwrap(), [Method::PUT, Method::DELETE]);
    serving.abort();
}
