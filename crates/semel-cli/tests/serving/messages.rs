//! Consumers: messages come in by HTTP, go to a scripted handler, fail, and run again.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use serde_json::Value;

use crate::handler::{Delivery, Handler};
use crate::support::{Answer, Semel, ask, semel};

fn configure(dir: &Path, handler: &Handler, more: &str) {
    let file = format!(
        "admin: {{ listen: 127.0.0.1:0 }}\n\
         inbox: {{ listen: 127.0.0.1:0 }}\n\
         consumers:\n\
         \x20 mailer:\n\
         \x20   source: http\n\
         \x20   deliver: http://{}/mail\n{more}",
        handler.addr
    );
    fs::write(dir.join("semel.yaml"), file).unwrap();
}

impl Semel {
    fn send(&self, id: &str, body: &str) -> Answer {
        let headers = [("Idempotency-Key", id), ("X-Trace", "t-1")];
        ask(self.inbox, "POST", "/inbox/mailer", &headers, body).unwrap()
    }
}

/// Waits until a message is in a state.
fn wait_for_state(dir: &Path, id: &str, state: &str) -> Value {
    let show = || {
        let args = ["inbox", "show", "mailer", id, "--json", "--payload"];
        let (_, data, _) = semel(dir, &args);
        serde_json::from_str::<Value>(&data).unwrap()
    };
    let mut shown = std::iter::repeat_with(show).take(1_000);
    let found = shown.find(|shown| shown["message"]["state"] == state);
    found.unwrap_or_else(|| panic!("{id} did not become {state}: {:#}", show()))
}

#[test]
fn a_posted_message_is_delivered_once_and_its_duplicate_is_acknowledged() {
    let (handler, dir) = (Handler::open(), tempfile::tempdir().unwrap());
    configure(dir.path(), &handler, "");
    let server = Semel::start_inbox(dir.path());
    let first = server.send("evt-1", r#"{"to":"ada"}"#);
    assert_eq!(first.status, 202, "{}", first.body);
    let delivery = handler.next();
    assert_eq!(delivery.body, r#"{"to":"ada"}"#);
    for (name, value) in [
        ("idempotency-key", "mailer@1:evt-1"),
        ("semel-message-id", "evt-1"),
        ("semel-consumer", "mailer@1"),
        ("semel-attempt", "1"),
        ("semel-replay", "false"),
        ("x-trace", "t-1"),
    ] {
        assert_eq!(delivery.header(name), value, "{name}");
    }
    delivery.answer(200);
    let done = wait_for_state(dir.path(), "evt-1", "COMPLETED");
    let kept = done["arrived"]["headers"].as_array().unwrap();
    let names: Vec<_> = kept.iter().map(|header| &header["name"]).collect();
    assert_eq!(
        names,
        ["x-trace"],
        "what is the connection's or Semel's is not kept"
    );
    let again = server.send("evt-1", r#"{"to":"ada"}"#);
    assert_eq!(again.status, 200, "{}", again.body);
    let other = server.send("evt-1", r#"{"to":"bob"}"#);
    assert_eq!(other.status, 202, "{}", other.body);
    assert!(other.body.contains(r#""conflict":true"#), "{}", other.body);
    assert!(handler.is_quiet());

    let ready = server.get("/readyz").body;
    assert!(ready.contains(r#""name":"inbox","ready":true"#), "{ready}");
    let parked = r#"semel_inbox_messages{consumer="mailer@1",state="PARKED"} 1"#;
    let metrics = server.metrics_with(parked);
    for series in [
        r#"semel_inbox_received_total{consumer="mailer@1",event_type="none"} 3"#,
        r#"semel_inbox_duplicates_total{consumer="mailer@1",event_type="none"} 1"#,
        r#"semel_inbox_claims_total{consumer="mailer@1",status="conflict"} 1"#,
        r#"semel_inbox_processing_seconds_count{consumer="mailer@1",event_type="none"} 1"#,
    ] {
        assert!(metrics.contains(series), "{series} is not in {metrics}");
    }
    let listed = server.get("/api/v1/inbox?state=COMPLETED").body;
    assert!(listed.contains("evt-1"), "{listed}");
    assert!(!server.log().contains("ada"), "{}", server.log());
}

#[test]
fn an_edited_message_reaches_its_handler_beside_its_original() {
    let (handler, dir) = (Handler::open(), tempfile::tempdir().unwrap());
    configure(dir.path(), &handler, "");
    let server = Semel::start_inbox(dir.path());
    assert_eq!(server.send("evt-1", "{\"to\":\"ad\"}").status, 202);
    handler.next().answer(422);
    server.wait_for("failed-terminal");
    wait_for_state(dir.path(), "evt-1", "FAILED_TERMINAL");
    fs::write(dir.path().join("mended.json"), "{\"to\":\"ada\"}").unwrap();
    let edit = [
        "inbox",
        "edit",
        "mailer",
        "evt-1",
        "--payload",
        "@mended.json",
    ];
    let edit = [&edit[..], &["--reason", "cut off", "--dry-run"]].concat();
    let (code, said, _) = semel(dir.path(), &edit);
    assert_eq!(
        (code, said.as_str()),
        (Some(0), "-   \"to\": \"ad\"\n+   \"to\": \"ada\"\n")
    );
    assert!(handler.is_quiet());
    assert_eq!(semel(dir.path(), &edit[..edit.len() - 1]).0, Some(0));
    let again = handler.next();
    assert_eq!(again.body, "{\"to\":\"ada\"}");
    for (name, value) in [
        ("semel-edited", "1"),
        ("semel-generation", "1"),
        ("idempotency-key", "mailer@1:evt-1"),
        ("x-trace", "t-1"),
    ] {
        assert_eq!(again.header(name), value);
    }
    again.answer(200);
    let done = wait_for_state(dir.path(), "evt-1", "COMPLETED");
    assert_eq!(done["edits"][0]["reason"], "cut off");
    // The original, sent again, is a duplicate of itself.
    assert_eq!(server.send("evt-1", "{\"to\":\"ad\"}").status, 200);
    assert!(handler.is_quiet());
}

#[test]
fn what_failed_for_good_runs_again_from_the_dead_letters_with_the_same_id_and_headers() {
    let (handler, dir) = (Handler::open(), tempfile::tempdir().unwrap());
    configure(dir.path(), &handler, "");
    let server = Semel::start_inbox(dir.path());
    assert_eq!(server.send("evt-1", "{}").status, 202);
    handler.next().answer(422);
    server.wait_for("failed-terminal");
    let dead = wait_for_state(dir.path(), "evt-1", "FAILED_TERMINAL");
    assert_eq!(dead["attempts"][0]["state"], "FAILED_TERMINAL");
    assert_eq!(server.send("evt-1", "{}").status, 200);
    assert!(handler.is_quiet());

    let (_, listed, _) = semel(dir.path(), &["dlq", "list", "mailer"]);
    assert!(listed.contains("evt-1"), "{listed}");
    let args = [
        "dlq", "replay", "mailer", "--all", "--yes", "--reason", "fixed",
    ];
    let (code, said, _) = semel(dir.path(), &args);
    assert_eq!(code, Some(0));
    assert!(said.starts_with("run again  1\n"), "{said}");
    let again = handler.next();
    assert_eq!(again.header("idempotency-key"), "mailer@1:evt-1");
    assert_eq!(again.header("x-trace"), "t-1");
    assert_eq!(again.header("semel-generation"), "1");
    assert_eq!(again.header("semel-replay"), "false");
    again.answer(200);
    let done = wait_for_state(dir.path(), "evt-1", "COMPLETED");
    assert_eq!(done["message"]["generation"], 1);
    let audit = server.get("/api/v1/inbox/audit").body;
    assert!(
        audit.contains("dlq replay") && audit.contains("fixed"),
        "{audit}"
    );
}

#[test]
fn a_replay_needs_force_where_the_policy_forbids_it_and_reaches_the_handler_as_one() {
    let (handler, dir) = (Handler::open(), tempfile::tempdir().unwrap());
    configure(dir.path(), &handler, "");
    let server = Semel::start_inbox(dir.path());
    assert_eq!(server.send("evt-1", "{}").status, 202);
    handler.next().answer(200);
    wait_for_state(dir.path(), "evt-1", "COMPLETED");
    let (code, _, said) = semel(dir.path(), &["replay", "mailer", "evt-1"]);
    assert_eq!(code, Some(1), "{said}");
    let body = r#"{"consumer":"mailer","ids":["evt-1"],"by":"ada"}"#;
    let json = [("Content-Type", "application/json")];
    let refused = ask(server.admin, "POST", "/api/v1/inbox/replay", &json, body).unwrap();
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(handler.is_quiet());
    let forced = ["replay", "mailer", "evt-1", "--force", "--reason", "INC-7"];
    assert_eq!(semel(dir.path(), &forced).0, Some(0));
    let replayed = handler.next();
    assert_eq!(replayed.header("semel-replay"), "true");
    replayed.answer(200);
    wait_for_state(dir.path(), "evt-1", "COMPLETED");
}

#[test]
fn asked_to_end_it_lets_handlers_finish_and_returns_what_was_not_begun() {
    let (handler, dir) = (Handler::open(), tempfile::tempdir().unwrap());
    configure(dir.path(), &handler, "\x20   workers: 1\n");
    let mut server = Semel::start_inbox(dir.path());
    assert_eq!(server.send("evt-1", "{}").status, 202);
    let running = handler.next();
    assert_eq!(server.send("evt-2", "{}").status, 202);
    server.signal("TERM");
    server.wait_for("the inbox lets its handlers finish");
    running.answer(200);
    assert_eq!(server.wait(), Some(0));
    wait_for_state(dir.path(), "evt-1", "COMPLETED");
    wait_for_state(dir.path(), "evt-2", "RECEIVED");
    let _server = Semel::start_inbox(dir.path());
    let next = handler.next();
    assert_eq!(next.header("semel-message-id"), "evt-2");
    next.answer(200);
    wait_for_state(dir.path(), "evt-2", "COMPLETED");
}

#[test]
fn killed_in_the_middle_the_message_is_delivered_again_with_a_higher_fence() {
    let (handler, dir) = (Handler::open(), tempfile::tempdir().unwrap());
    configure(dir.path(), &handler, "\x20   lease: 500ms\n");
    let mut server = Semel::start_inbox(dir.path());
    assert_eq!(server.send("evt-1", "{}").status, 202);
    let first = handler.next();
    server.signal("KILL");
    assert_eq!(server.wait(), None);
    let server = Semel::start_inbox(dir.path());
    let second = handler.next();
    assert_eq!(second.header("idempotency-key"), "mailer@1:evt-1");
    let fence = |delivery: &Delivery| delivery.header("semel-fence").parse::<u64>().unwrap();
    assert!(fence(&second) > fence(&first));
    second.answer(200);
    wait_for_state(dir.path(), "evt-1", "COMPLETED");
    server.wait_for("reclaimed");
}

#[test]
fn the_door_refuses_what_is_no_message() {
    let (handler, dir) = (Handler::open(), tempfile::tempdir().unwrap());
    configure(dir.path(), &handler, "\x20   max_body: 1KiB\n");
    let server = Semel::start_inbox(dir.path());
    let post = |path: &str, headers: &[(&str, &str)], body: &str| {
        let answer = ask(server.inbox, "POST", path, headers, body).unwrap();
        (answer.status, answer.body)
    };
    let key = [("Idempotency-Key", "evt-1")];
    for ((status, body), expected, problem) in [
        (post("/inbox/mailer", &[], "{}"), 400, "message-id-missing"),
        (post("/inbox/nobody", &key, "{}"), 404, "consumer-unknown"),
        (post("/", &key, "{}"), 404, "not-found"),
        (
            post("/inbox/mailer", &key, &"x".repeat(2_000)),
            413,
            "body-too-large",
        ),
    ] {
        assert_eq!(status, expected, "{body}");
        assert!(body.contains(problem), "{body}");
    }
    assert!(handler.is_quiet());
}

#[test]
fn a_slow_body_is_answered_408_after_the_time_of_the_file() {
    let (handler, dir) = (Handler::open(), tempfile::tempdir().unwrap());
    configure(dir.path(), &handler, "");
    let path = dir.path().join("semel.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let listen = "inbox: { listen: 127.0.0.1:0";
    let text = text.replace(listen, &format!("{listen}, timeouts: {{ body: 100ms }}"));
    fs::write(&path, text).unwrap();
    let server = Semel::start_inbox(dir.path());
    let mut stream = TcpStream::connect(server.inbox).unwrap();
    let head = "POST /inbox/mailer HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nhalf";
    stream.write_all(head.as_bytes()).unwrap();
    let (mut answer, mut byte) = (Vec::new(), [0]);
    while !answer.ends_with(b"}") {
        assert_eq!(stream.read(&mut byte).unwrap(), 1);
        answer.extend(byte);
    }
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("body-timeout"), "{answer}");
}

#[test]
fn a_store_without_an_inbox_is_refused_before_anything_is_served() {
    let (handler, dir) = (Handler::open(), tempfile::tempdir().unwrap());
    configure(dir.path(), &handler, "store: redis://127.0.0.1:1\n");
    let (code, data, _) = semel(dir.path(), &["check", "--config", "semel.yaml"]);
    assert_eq!(code, Some(78));
    assert!(
        data.contains("the inbox needs SQLite or PostgreSQL"),
        "{data}"
    );
    let (code, _, said) = semel(dir.path(), &["serve", "--config", "semel.yaml"]);
    assert_eq!(code, Some(78), "{said}");
    assert!(
        said.contains("the inbox needs SQLite or PostgreSQL"),
        "{said}"
    );
}
