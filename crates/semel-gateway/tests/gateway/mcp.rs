//! Calls of tools by agents: a retried `tools/call` takes effect once, and everything else passes.

use semel_gateway::Config;
use semel_http::Rules;
use semel_http::mcp::{Mcp, Tools};
use semel_http::rules::{Busy, BusyStatus, Missing, Mode, Unknown};
use serde_json::{Value, json};

use crate::support::message::Message;
use crate::support::{Gate, Running, Upstream, guarding, reply, start};

const JSON: &str = "Content-Type: application/json\r\nMcp-Session-Id: s-1\r\n";

fn tools(upstream: &Upstream, change: impl FnOnce(&mut Rules)) -> Config {
    guarding(upstream.url(), |rules| {
        rules.scope = "mcp@1".parse().unwrap();
        Mcp::default().apply(rules);
        change(rules);
    })
}

/// A server whose tool counts: the result has the number of requests so far, under the id that was asked with.
async fn counting() -> Upstream {
    let count = std::sync::atomic::AtomicUsize::new(0);
    Upstream::start(move |request, mut peer| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
        async move {
            let asked: Value = serde_json::from_slice(&request.body).unwrap();
            let text = format!(
                "{{\"jsonrpc\":\"2.0\", \"id\":{}, \"result\":{{\"content\":[], \"n\":{number}}}}}",
                asked["id"]
            );
            peer.send(reply("200 OK", JSON, &text)).await;
            Some(peer)
        }
    })
    .await
}

fn call(id: &str, key: &str, amount: u32) -> String {
    let meta = match key {
        "" => String::new(),
        key => format!("\"_meta\":{{\"idempotency-key\":\"{key}\",\"progressToken\":{id}}},"),
    };
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{{meta}\"name\":\"pay\",\"arguments\":{{\"amount\":{amount}}}}}}}"
    )
}

fn posted(headers: &str, body: &str) -> String {
    let len = body.len();
    format!(
        "POST /pay HTTP/1.1\r\nHost: shop.example\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nAccept-Encoding: gzip\r\n{headers}Content-Length: {len}\r\n\r\n{body}"
    )
}

async fn send(gateway: &Running, body: &str) -> Message {
    gateway.call(posted("", body)).await
}

/// The name of the refusal that a message is, and the id it answers.
fn refusal(message: &Message) -> (u16, String, Value) {
    let body: Value = serde_json::from_slice(&message.body).unwrap();
    assert_eq!(message.header("content-type"), Some("application/json"));
    assert!(body["error"]["code"].is_i64(), "{body}");
    assert!(body["error"]["message"].is_string(), "{body}");
    let kind = body["error"]["data"]["type"].as_str().unwrap();
    let name = kind.strip_prefix("urn:semel:problem:").unwrap();
    (message.status(), name.to_owned(), body["id"].clone())
}

#[tokio::test]
async fn a_retried_call_takes_effect_once_and_is_answered_under_its_own_id() {
    let upstream = counting().await;
    let gateway = start(tools(&upstream, |_| {}));
    for (id, is_replay) in [("1", false), ("2", true), ("\"two\"", true), ("1e2", true)] {
        let response = send(&gateway, &call(id, "k", 5)).await;
        let body = response.text();
        assert_eq!(response.status(), 200);
        assert_eq!(response.is_replay(), is_replay, "{id}");
        let expected =
            format!("{{\"jsonrpc\":\"2.0\", \"id\":{id}, \"result\":{{\"content\":[], \"n\":1}}}}");
        assert_eq!(body, expected);
        // A replay must not move a client into the session of the first one.
        let session = (!is_replay).then_some("s-1");
        assert_eq!(response.header("mcp-session-id"), session, "{id}");
    }
    let request = upstream.only();
    assert_eq!(request.text(), call("1", "k", 5));
    assert_eq!(request.header("accept-encoding"), Some("identity"));
}

#[tokio::test]
async fn each_tool_is_an_operation_of_its_own() {
    let upstream = counting().await;
    let gateway = start(tools(&upstream, |_| {}));
    send(&gateway, &call("1", "k", 5)).await;
    let other = call("1", "k", 5).replace("\"pay\"", "\"refund\"");
    assert!(!send(&gateway, &other).await.is_replay());
    assert_eq!(upstream.effects(), 2);
    let page = gateway.store.list(Default::default()).await.unwrap();
    let records = page.records.iter();
    let mut scopes: Vec<_> = records
        .map(|record| record.identity.scope().to_string())
        .collect();
    scopes.sort();
    assert_eq!(scopes, ["mcp:pay@1", "mcp:refund@1"]);
}

#[tokio::test]
async fn what_is_no_guarded_call_passes() {
    let upstream = counting().await;
    let gateway = start(tools(&upstream, |rules| {
        rules.missing = Missing::Require;
        let tools = Tools::Only(vec!["pay".to_owned()]);
        Mcp {
            tools,
            ..Mcp::default()
        }
        .apply(rules);
    }));
    let list = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\"}";
    let search = call("1", "k", 5).replace("\"pay\"", "\"search\"");
    for body in [list, search.as_str()] {
        for _ in 0..2 {
            let response = send(&gateway, body).await;
            assert_eq!((response.status(), response.is_replay()), (200, false));
        }
    }
    assert_eq!(upstream.effects(), 4);
    assert_eq!(upstream.seen()[0].header("accept-encoding"), Some("gzip"));
    assert_eq!(upstream.seen()[0].text(), list);
}

#[tokio::test]
async fn refusals_are_errors_of_the_protocol_under_the_requests_id() {
    let upstream = counting().await;
    let gateway = start(tools(&upstream, |rules| rules.missing = Missing::Require));
    send(&gateway, &call("1", "k", 5)).await;
    let reused = send(&gateway, &call("\"b\"", "k", 6)).await;
    assert_eq!(refusal(&reused), (200, "key-reused".to_owned(), json!("b")));
    let missing = send(&gateway, &call("3", "", 6)).await;
    assert_eq!(refusal(&missing), (200, "key-missing".to_owned(), json!(3)));
    let batch = send(&gateway, &format!("[{}]", call("3", "k", 6))).await;
    assert_eq!(
        refusal(&batch),
        (400, "bad-request".to_owned(), Value::Null)
    );
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn a_caller_without_a_credential_is_told_so_by_the_status() {
    let upstream = counting().await;
    let gateway = start(tools(&upstream, |rules| {
        rules.tenant = semel_http::tenant::Source::Bearer;
    }));
    let response = send(&gateway, &call("4", "k", 5)).await;
    assert_eq!(
        refusal(&response),
        (401, "tenant-missing".to_owned(), json!(4))
    );
    assert!(response.header("www-authenticate").is_some());
}

#[tokio::test]
async fn no_spelling_of_a_call_gets_past_the_guard() {
    let upstream = counting().await;
    let gateway = start(tools(&upstream, |_| {}));
    send(&gateway, &call("1", "k", 5)).await;
    let plain = call("1", "k", 5);
    for body in [
        plain.replace("tools/call", "tools\\/c\\u0061ll"),
        format!("\u{feff}{plain}"),
        plain.replace("\"method\"", "\"\\u006dethod\""),
    ] {
        let response = send(&gateway, &body).await;
        assert!(response.is_replay(), "{body}: {response:?}");
    }
    for (headers, body) in [
        (
            "",
            plain.replace("\"id\":1", "\"id\":1,\"method\":\"ping\""),
        ),
        ("", plain.replace("\"method\"", "\"Method\"")),
        ("", plain.replace("tools/call", "TOOLS/CALL")),
        ("", format!("[{plain}]")),
        ("", format!("{plain} {plain}")),
        ("Content-Encoding: gzip\r\n", plain.clone()),
        ("Mcp-Method: tools/list\r\n", plain.clone()),
    ] {
        let response = gateway.call(posted(headers, &body)).await;
        assert_eq!(response.status(), 400, "{headers}{body}: {response:?}");
    }
    let plain_text =
        posted("", &plain).replace("application/json\r\nAccept", "text/plain\r\nAccept");
    let response = gateway.call(plain_text).await;
    assert!(
        matches!(refusal(&response).1.as_str(), "key-reused"),
        "{response:?}"
    );
    assert_eq!(upstream.effects(), 1);
}

/// A server that answers with a stream of events, and waits in its middle.
async fn streaming(gate: Gate, end: &'static str) -> Upstream {
    Upstream::start(move |_request, mut peer| {
        let gate = gate.clone();
        async move {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
            peer.send(head).await;
            let progress = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n";
            peer.send(format!("{:x}\r\n{progress}\r\n", progress.len())).await;
            gate.pass().await;
            peer.send(format!("{:x}\r\n{end}\r\n0\r\n\r\n", end.len())).await;
            Some(peer)
        }
    })
    .await
}

const DONE: &str = "event: message\r\nid: 9\r\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\r\ndata: \"result\":{\"n\":1}}\r\n\r\n";

#[tokio::test]
async fn events_before_the_answer_arrive_at_once_and_a_replay_is_the_answer_alone() {
    let gate = Gate::closed();
    let upstream = streaming(gate.clone(), DONE).await;
    let gateway = start(tools(&upstream, |rules| {
        rules.in_progress = Busy {
            wait: std::time::Duration::ZERO,
            status: BusyStatus::Conflict,
        };
    }));
    let mut peer = gateway.connect().await;
    peer.send(posted("", &call("1", "k", 5))).await;
    let head = peer.head().await.unwrap();
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    let progress = peer.chunk().await.unwrap();
    assert!(progress.ends_with(b"\"params\":{}}\n\n"));
    let duplicate = send(&gateway, &call("2", "k", 5)).await;
    assert_eq!(
        refusal(&duplicate),
        (200, "in-progress".to_owned(), json!(2))
    );
    assert!(duplicate.header("retry-after").is_some());
    gate.open();
    assert_eq!(peer.chunk().await.unwrap(), DONE.as_bytes());
    assert!(peer.chunk().await.unwrap().is_empty());
    let replay = send(&gateway, &call("3", "k", 5)).await;
    assert!(replay.is_replay());
    assert_eq!(replay.header("content-type"), Some("application/json"));
    assert_eq!(
        replay.text(),
        "{\"jsonrpc\":\"2.0\",\"id\":3,\n\"result\":{\"n\":1}}"
    );
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn a_stream_that_ends_without_the_answer_leaves_the_outcome_unknown() {
    let gate = Gate::closed();
    gate.open();
    let upstream = streaming(gate, ": bye\n\n").await;
    let gateway = start(tools(&upstream, |_| {}));
    let first = send(&gateway, &call("1", "k", 5)).await;
    assert!(first.text().ends_with(": bye\n\n"), "{first:?}");
    let second = send(&gateway, &call("2", "k", 5)).await;
    assert_eq!(
        refusal(&second),
        (200, "outcome-unknown".to_owned(), json!(2))
    );
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn an_event_above_the_cap_is_handed_on_and_only_said_to_be_done_later() {
    let upstream = Upstream::start(|_request, mut peer| async move {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        peer.send(head).await;
        let (begin, end) = DONE.split_at(60);
        peer.send(format!("{:x}\r\n{begin}\r\n", begin.len())).await;
        peer.send(format!("{:x}\r\n{end}\r\n0\r\n\r\n", end.len())).await;
        Some(peer)
    })
    .await;
    let gateway = start(tools(&upstream, |rules| rules.response_bytes_max = 40));
    let first = send(&gateway, &call("1", "k", 5)).await;
    assert_eq!(first.text(), DONE);
    let replay = send(&gateway, &call("2", "k", 5)).await;
    let body: Value = serde_json::from_slice(&replay.body).unwrap();
    assert!(replay.is_replay(), "{replay:?}");
    assert_eq!(
        (&body["id"], &body["result"]["isError"]),
        (&json!(2), &json!(false))
    );
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn what_failed_before_the_tool_runs_again_and_what_the_tool_said_does_not() {
    let error = |code: i32| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{{\"code\":{code},\"message\":\"m\"}}}}")
    };
    let failed = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"isError\":true}}".to_owned();
    let asking =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"input_required\"}}".to_owned();
    for (status, body, effects) in [
        ("200 OK", failed, 1),
        ("200 OK", error(-32602), 1),
        ("200 OK", error(-32601), 2),
        ("200 OK", asking, 2),
        // The session has expired: the client makes another one, and calls again.
        ("404 Not Found", error(-32600), 2),
        ("307 Temporary Redirect", String::new(), 2),
        // It may have run, so it is not run again.
        ("200 OK", "<html>".to_owned(), 1),
        ("502 Bad Gateway", String::new(), 1),
    ] {
        let upstream = Upstream::answering(reply(status, JSON, &body)).await;
        let gateway = start(tools(&upstream, |_| {}));
        let first = send(&gateway, &call("1", "k", 5)).await;
        assert_eq!(first.text(), body, "{status}");
        send(&gateway, &call("1", "k", 5)).await;
        assert_eq!(upstream.effects(), effects, "{status} {body}");
    }
}

#[tokio::test]
async fn a_route_may_only_watch_calls_or_run_unknown_ones_again() {
    let upstream = counting().await;
    let gateway = start(tools(&upstream, |rules| rules.mode = Mode::Observe));
    for _ in 0..2 {
        assert!(!send(&gateway, &call("1", "k", 5)).await.is_replay());
    }
    assert_eq!(upstream.effects(), 2);
    let upstream = Upstream::answering(reply("200 OK", JSON, "")).await;
    let gateway = start(tools(&upstream, |rules| rules.unknown = Unknown::Rerun));
    for _ in 0..2 {
        send(&gateway, &call("1", "k", 5)).await;
    }
    assert_eq!(upstream.effects(), 2);
}
