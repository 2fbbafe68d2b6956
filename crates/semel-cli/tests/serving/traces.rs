//! Traces: what a collector is sent of requests, their duplicates, messages and what these cause.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::thread;

use serde_json::Value;

use crate::collector::Collector;
use crate::handler::{Delivery, Handler};
use crate::support::{Answer, Semel, Shop, ask};

/// The trace and the span of a caller; `trace` is one digit.
fn caller(trace: char, flags: &str) -> (String, String) {
    let trace: String = std::iter::repeat_n(trace, 32).collect();
    (format!("00-{trace}-00f067aa0ba902b7-{flags}"), trace)
}

/// The trace, the span and the flags of a `traceparent`.
fn parts(traceparent: &str) -> (&str, &str, &str) {
    let parts: Vec<_> = traceparent.split('-').collect();
    let [_, trace, span, flags] = parts[..] else {
        panic!("{traceparent:?} is no traceparent")
    };
    (trace, span, flags)
}

fn id(span: &Value) -> &str {
    span["span"].as_str().unwrap()
}

fn begins(collector: SocketAddr, more: &str) -> String {
    format!(
        "admin: {{ listen: 127.0.0.1:0 }}\n\
         tracing: {{ endpoint: \"http://{collector}\", service: shop, every: 20ms, headers: {{ api-key: secret }}{more} }}\n"
    )
}

fn gateway(upstream: SocketAddr) -> String {
    format!(
        "gateway:\n\
         \x20 listen: 127.0.0.1:0\n\
         \x20 upstream: http://{upstream}\n\
         \x20 routes:\n\
         \x20   - {{ match: {{ methods: [POST], path: \"/orders/{{id}}\" }}, tenant: public }}\n"
    )
}

fn serve_gateway(dir: &Path, head: &str, upstream: SocketAddr) -> Semel {
    let gateway = gateway(upstream);
    fs::write(dir.join("semel.yaml"), format!("{head}{gateway}")).unwrap();
    Semel::start(dir, &["serve", "--config", "semel.yaml"])
}

/// POST with a key and a `traceparent`, while a handler waits for what comes of it.
fn post(
    addr: SocketAddr,
    path: &'static str,
    key: &str,
    parent: &str,
) -> thread::JoinHandle<Answer> {
    let (key, parent) = (key.to_owned(), parent.to_owned());
    thread::spawn(move || {
        let headers = [
            ("Idempotency-Key", key.as_str()),
            ("traceparent", parent.as_str()),
            ("tracestate", "vendor=1"),
        ];
        ask(addr, "POST", path, &headers, "{}").unwrap()
    })
}

#[test]
fn a_request_its_run_and_its_upstream_are_one_trace_and_its_duplicate_is_linked() {
    let (mut collector, handler) = (Collector::open(), Handler::open());
    let dir = tempfile::tempdir().unwrap();
    let server = serve_gateway(dir.path(), &begins(collector.addr, ""), handler.addr);
    let (parent, trace) = caller('a', "01");
    let first = post(server.gateway, "/orders/7", "k-1", &parent);
    let arrived = handler.next();
    let told = arrived.header("traceparent").to_owned();
    assert_eq!(arrived.header("tracestate"), "vendor=1");
    arrived.answer(201);
    let first = first.join().unwrap();
    assert_eq!(first.status, 201);
    assert!(!first.head.contains("traceparent"), "{}", first.head);

    let request = collector.named("POST /orders/{id}", &trace);
    assert_eq!(request["parent"], "00f067aa0ba902b7");
    assert_eq!(
        (&request["kind"], &request["service"], &request["state"]),
        (
            &"SPAN_KIND_SERVER".into(),
            &"shop".into(),
            &"vendor=1".into()
        )
    );
    let said = &request["attributes"];
    assert_eq!(said["semel.outcome"], "ran");
    assert_eq!(said["http.route"], "/orders/{id}");
    assert_eq!(said["http.response.status_code"], 201);
    let run = collector.named("run", &trace);
    assert_eq!(run["parent"], request["span"]);
    assert_eq!(run["attributes"]["semel.settlement"], "settle");
    assert_eq!(run["attributes"]["semel.attempt"], 1);
    let upstream = collector.named("POST", &trace);
    assert_eq!(upstream["parent"], run["span"]);
    assert_eq!(upstream["kind"], "SPAN_KIND_CLIENT");
    assert_eq!(parts(&told), (trace.as_str(), id(&upstream), "01"));

    // The other trace of the retry does not make it another request.
    let (parent, trace) = caller('b', "01");
    let again = post(server.gateway, "/orders/7", "k-1", &parent);
    let again = again.join().unwrap();
    assert!(again.is_replay() && handler.is_quiet(), "{}", again.head);
    assert!(!again.head.contains("traceparent"), "{}", again.head);
    let duplicate = collector.named("POST /orders/{id}", &trace);
    assert_eq!(duplicate["attributes"]["semel.outcome"], "replayed");
    assert_eq!(duplicate["links"], serde_json::json!([id(&run)]));
    assert_eq!(
        duplicate["attributes"]["semel.identity"],
        said["semel.identity"]
    );
    let everything = format!("{request}{run}{upstream}{duplicate}");
    assert!(!everything.contains("k-1"), "{everything}");
    let metrics = server.get("/metrics").body;
    let exported = r#"semel_spans_total{result="exported"} "#;
    assert!(metrics.contains(exported), "{metrics}");
}

#[test]
fn what_is_no_context_begins_a_trace_and_what_is_not_sampled_is_not_exported() {
    let (mut collector, shop) = (Collector::open(), Shop::open());
    let dir = tempfile::tempdir().unwrap();
    let server = serve_gateway(dir.path(), &begins(collector.addr, ""), shop.addr);
    let (unsampled, left_out) = caller('c', "00");
    for (key, parent) in [("k-1", unsampled.as_str()), ("k-2", "00-not-a-context")] {
        let answer = post(server.gateway, "/orders/7", key, parent).join();
        assert_eq!(answer.unwrap().status, 201);
    }
    let request = collector.span("of its own", |span| span["name"] == "POST /orders/{id}");
    assert_eq!(
        (&request["parent"], &request["state"]),
        (&"".into(), &"".into())
    );
    assert_eq!(request["trace"].as_str().unwrap().len(), 32);
    // Spans are sent in the order of their ends, so one of the first request would have come before.
    assert!(!collector.has(&left_out));
}

/// Answers a delivery with an intent.
fn intend(delivery: Delivery) {
    let intent = r#"{"intents": [{"name": "charge", "target": "bank", "body": {"amount": 7}}]}"#;
    let kind = "application/vnd.semel.intents+json";
    delivery.answer_with((200, kind, intent.to_owned()));
}

#[test]
fn a_message_its_delivery_and_its_intent_hang_together_over_queues() {
    let mut collector = Collector::open();
    let (handler, bank) = (Handler::open(), Handler::open());
    let dir = tempfile::tempdir().unwrap();
    let file = format!(
        "{}inbox: {{ listen: 127.0.0.1:0 }}\n\
         consumers: {{ orders: {{ source: http, deliver: \"http://{}/\" }} }}\n\
         intents: {{ bank: {{ url: \"http://{}/\" }} }}\n",
        begins(collector.addr, ""),
        handler.addr,
        bank.addr
    );
    fs::write(dir.path().join("semel.yaml"), file).unwrap();
    let server = Semel::start_inbox(dir.path());
    let (parent, trace) = caller('d', "01");
    let posted = post(server.inbox, "/inbox/orders", "evt-1", &parent);
    assert_eq!(posted.join().unwrap().status, 202);
    let request = collector.named("POST /inbox/{consumer}", &trace);
    assert_eq!(request["parent"], "00f067aa0ba902b7");
    assert_eq!(request["attributes"]["semel.outcome"], "stored");

    // Its attempts are traces of their own, linked to the request that created it.
    let delivery = handler.next();
    delivery.answer(503);
    let failed = collector.span("that failed", |span| span["name"] == "process orders@1");
    assert_eq!(failed["failed"], true);
    assert_eq!(failed["attributes"]["semel.state"], "FAILED_RETRYABLE");
    let delivery = handler.next();
    let told = delivery.header("traceparent").to_owned();
    intend(delivery);
    let attempt = collector.span("that completed", |span| span["name"] == "process orders@1");
    assert_ne!(attempt["trace"], failed["trace"]);
    for one in [&failed, &attempt] {
        assert_eq!(one["kind"], "SPAN_KIND_CONSUMER");
        assert_eq!(one["links"], serde_json::json!([id(&request)]));
    }
    assert_eq!(attempt["attributes"]["semel.attempt"], 2);
    let of = attempt["trace"].as_str().unwrap();
    let delivered = collector.named("POST", of);
    assert_eq!(delivered["parent"], attempt["span"]);
    assert_eq!(parts(&told), (of, id(&delivered), "01"));

    // So is the intent, to the attempt that wanted it sent.
    let charge = bank.next();
    let told = charge.header("traceparent").to_owned();
    charge.answer(200);
    let sent = collector.span("of the intent", |span| {
        span["name"] == "process intent:bank@1"
    });
    assert_eq!(sent["links"], serde_json::json!([id(&attempt)]));
    assert_eq!(parts(&told).0, sent["trace"]);

    // A duplicate is linked to the first one and to the attempt that completed it.
    let (parent, trace) = caller('e', "01");
    let again = post(server.inbox, "/inbox/orders", "evt-1", &parent);
    assert_eq!(again.join().unwrap().status, 200);
    let duplicate = collector.named("POST /inbox/{consumer}", &trace);
    assert_eq!(duplicate["attributes"]["semel.outcome"], "duplicate");
    assert_eq!(
        duplicate["links"],
        serde_json::json!([id(&request), id(&attempt)])
    );
}

#[test]
fn one_trace_shows_a_request_its_duplicate_and_the_message_that_it_caused() {
    let mut collector = Collector::open();
    let (service, consumer) = (Handler::open(), Handler::open());
    let dir = tempfile::tempdir().unwrap();
    let file = format!(
        "{}{}inbox: {{ listen: 127.0.0.1:0 }}\n\
         consumers: {{ orders: {{ source: http, deliver: \"http://{}/\" }} }}\n",
        begins(collector.addr, ""),
        gateway(service.addr),
        consumer.addr
    );
    fs::write(dir.path().join("semel.yaml"), file).unwrap();
    let mut server = Semel::start_inbox(dir.path());
    server.find_gateway();

    // The service posts a message on behalf of the request, and answers then.
    let (parent, trace) = caller('f', "01");
    let first = post(server.gateway, "/orders/7", "k-1", &parent);
    let arrived = service.next();
    let told = arrived.header("traceparent").to_owned();
    let posted = post(server.inbox, "/inbox/orders", "evt-7", &told);
    assert_eq!(posted.join().unwrap().status, 202);
    arrived.answer(201);
    assert_eq!(first.join().unwrap().status, 201);
    let delivery = consumer.next();
    let delivered = delivery.header("traceparent").to_owned();
    delivery.answer(200);
    // The client heard nothing of it, and tries again.
    let again = post(server.gateway, "/orders/7", "k-1", &parent);
    let again = again.join().unwrap();
    assert!(again.is_replay() && service.is_quiet(), "{}", again.head);

    let request = collector.named("POST /orders/{id}", &trace);
    let run = collector.named("run", &trace);
    let upstream = collector.named("POST", &trace);
    let message = collector.named("POST /inbox/{consumer}", &trace);
    let duplicate = collector.named("POST /orders/{id}", &trace);
    let chain = [&request, &run, &upstream, &message];
    for (cause, caused) in chain.iter().zip(&chain[1..]) {
        assert_eq!(caused["parent"], cause["span"], "{cause}");
    }
    assert_eq!(request["attributes"]["semel.outcome"], "ran");
    assert_eq!(duplicate["attributes"]["semel.outcome"], "replayed");
    assert_eq!(duplicate["links"], serde_json::json!([id(&run)]));
    for one in [&request, &duplicate] {
        assert_eq!(one["parent"], "00f067aa0ba902b7");
    }
    // Between the message and its attempt lies a queue, so they are linked.
    let attempt = collector.span("of the message", |span| span["name"] == "process orders@1");
    assert_eq!(attempt["links"], serde_json::json!([id(&message)]));
    assert_eq!(parts(&delivered).0, attempt["trace"]);
}

#[test]
fn a_collector_that_is_away_holds_nothing_up_and_what_is_dropped_is_counted() {
    let shop = Shop::open();
    let dir = tempfile::tempdir().unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap();
    let away = closed.local_addr().unwrap();
    drop(closed);
    let head = begins(away, ", queue: 1");
    let mut server = serve_gateway(dir.path(), &head, shop.addr);
    let dropped = |server: &Semel| {
        let metrics = server.get("/metrics").body;
        let series = r#"semel_spans_total{result="queue-full"} "#;
        let line = metrics.lines().find_map(|line| line.strip_prefix(series));
        line.map_or(0, |count| count.parse::<u64>().unwrap())
    };
    let sent = (0..1_000).find(|n| {
        assert_eq!(server.post("/orders/7", &format!("k-{n}")).status, 201);
        dropped(&server) > 0
    });
    assert!(sent.is_some(), "nothing was dropped");
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0));
}
