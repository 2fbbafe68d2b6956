//! An operator asks what the routes of a running gateway would ask: the command line, the admin side, the gateway, and a provider.

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::thread;

use serde_json::Value;

use crate::support::{Semel, ask, read_message, semel};

/// A service that takes a first payment and dies, takes later ones, and says by the key what became of each.
fn provider() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            thread::spawn(move || answer(stream.unwrap()));
        }
    });
    format!("http://{addr}")
}

fn answer(mut stream: TcpStream) {
    let Some((head, _)) = read_message(&mut stream) else {
        return;
    };
    if head.starts_with("POST") && head.contains("semel-attempt: 1\r\n") {
        let _ = stream.write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nhalf");
        let _ = stream.shutdown(Shutdown::Both);
        return;
    }
    let is_asked = |key: &str| head.contains(&format!("GET /status?key={key}"));
    let (status, body) = match () {
        () if is_asked("happened") => ("201 Created", "{\"id\":7}"),
        () if is_asked("lost") => ("404 Not Found", ""),
        () if head.starts_with("GET") => ("500 Internal Server Error", ""),
        () => ("200 OK", "ran again"),
    };
    let length = body.len();
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    let _ = stream.write_all(text.as_bytes());
}

fn gateway(dir: &Path) -> Semel {
    let provider = provider();
    let route = |path: &str, unknown: &str| {
        format!(
            "    - match: {{ methods: [POST], path: /{path} }}\n      scope: {path}@1\n      tenant: public\n      unknown: {unknown}\n"
        )
    };
    let reconcile = format!("{{ reconcile: '{provider}/status?key={{key}}' }}");
    let yaml = format!(
        "store: sqlite:semel.db\nadmin: {{ listen: 127.0.0.1:0 }}\ngateway:\n  listen: 127.0.0.1:0\n  upstream: {provider}\n  routes:\n{}{}",
        route("payments", &reconcile),
        route("letters", "hold"),
    );
    std::fs::write(dir.join("semel.yaml"), yaml).unwrap();
    Semel::start(dir, &["serve", "--config", "semel.yaml"])
}

/// The words of `semel keys reconcile …`, which asks this process.
fn reconcile(dir: &Path, server: &Semel, words: &[&str]) -> (Option<i32>, String, String) {
    let admin = server.admin.to_string();
    let line = [
        &["keys", "reconcile", "--admin", &admin, "--by", "ada"],
        words,
    ];
    semel(dir, &line.concat())
}

fn audit(server: &Semel) -> Vec<Value> {
    let audit: Value = serde_json::from_str(&server.get("/api/v1/audit").body).unwrap();
    audit["audit"].as_array().unwrap().clone()
}

#[test]
fn an_operator_asks_about_one_payment_at_a_time() {
    let dir = tempfile::tempdir().unwrap();
    let server = gateway(dir.path());
    for (path, key) in [
        ("/payments", "happened-1"),
        ("/payments", "lost-1"),
        ("/payments", "error-1"),
        ("/letters", "happened-2"),
    ] {
        assert_eq!(server.post(path, key).status, 502, "{key}");
    }
    let why = ["--reason", "INC-7"];
    let one = |key: &str| reconcile(dir.path(), &server, &[&[key], &why[..]].concat());

    let (code, data, said) = one("happened-1");
    assert_eq!(code, Some(0), "{said}");
    assert!(
        data.contains("it happened and is on record: succeeded, status 201, 8 B"),
        "{data}"
    );
    let replay = server.post("/payments", "happened-1");
    assert_eq!((replay.status, replay.body.as_str()), (201, "{\"id\":7}"));
    assert!(replay.is_replay());

    let (code, data, said) = one("lost-1");
    assert_eq!(code, Some(0), "{said}");
    assert!(data.contains("it did not happen and is released"), "{data}");

    let (code, _, said) = one("error-1");
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("still unknown, nothing was changed: it answered 500"),
        "{said}"
    );

    let (code, _, said) = one("happened-2");
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("the route of the scope letters@1 has no reconcile URL"),
        "{said}"
    );
    let (code, _, said) = one("happened-1");
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("no unknown record has the key happened-1"),
        "{said}"
    );

    let lines = audit(&server);
    let decided: Vec<_> = lines
        .iter()
        .map(|line| line["action"].as_str().unwrap())
        .collect();
    assert_eq!(decided, ["release", "resolve"]);
    for line in &lines {
        assert_eq!(
            (line["by"].as_str(), line["reason"].as_str()),
            (Some("no-token:ada"), Some("reconciled: INC-7"))
        );
    }
}

#[test]
fn many_are_asked_about_by_the_command_that_the_dry_run_names() {
    let dir = tempfile::tempdir().unwrap();
    let server = gateway(dir.path());
    for (path, key) in [
        ("/payments", "happened-1"),
        ("/payments", "lost-1"),
        ("/payments", "error-1"),
        ("/letters", "happened-2"),
    ] {
        assert_eq!(server.post(path, key).status, 502, "{key}");
    }
    let (code, data, said) = reconcile(dir.path(), &server, &["--all"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        data.contains("/status?key={key}") && data.contains("letters@1 has no reconcile URL"),
        "{data}"
    );
    assert!(
        said.contains("dry run, nothing was asked: this would ask about 3 unknown records"),
        "{said}"
    );
    assert!(audit(&server).is_empty());
    let (_, command) = said.split_once("to do it: semel ").unwrap();
    let command = command.lines().next().unwrap().replace("WHY", "INC-7");
    let words: Vec<_> = command.split(' ').chain(["--by", "ada"]).collect();
    let (code, data, said) = semel(dir.path(), &words);
    assert_eq!(code, Some(0), "{said}");
    for answer in [
        "it happened and is on record",
        "it did not happen",
        "still unknown",
    ] {
        assert!(data.contains(answer), "{answer}: {data}");
    }
    assert_eq!(audit(&server).len(), 2);
    let (code, data, said) = reconcile(
        dir.path(),
        &server,
        &["--all", "--reason", "INC-7", "--yes", "--json"],
    );
    assert_eq!(code, Some(0), "{said}");
    let report: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(
        (&report["still_unknown"], &report["without_reconciler"]),
        (&1.into(), &1.into())
    );
}

#[test]
fn without_a_process_or_with_a_store_the_command_says_what_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let admin = free.local_addr().unwrap().to_string();
    drop(free);
    let words = [
        "keys",
        "reconcile",
        "k",
        "--reason",
        "INC-7",
        "--admin",
        &admin,
    ];
    let (code, _, said) = semel(dir.path(), &words);
    assert_eq!(code, Some(69), "{said}");
    assert!(said.contains("does not answer"), "{said}");
    let stored = [&words[..], &["--store", "sqlite:semel.db"]].concat();
    let (code, _, said) = semel(dir.path(), &stored);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("takes no --store"), "{said}");
    let (code, _, said) = semel(dir.path(), &["keys", "reconcile", "k", "--admin", &admin]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("needs a reason"), "{said}");
}

#[test]
fn the_url_is_asked_over_the_api_with_the_fence_that_is_meant() {
    let dir = tempfile::tempdir().unwrap();
    let server = gateway(dir.path());
    assert_eq!(server.post("/payments", "happened-1").status, 502);
    let call = |fence: u64| {
        let body = format!(
            r#"{{"tenant":"public","scope":"payments@1","key":"happened-1","fence":{fence},"by":"ada","reason":"INC-7"}}"#
        );
        let json = [("Content-Type", "application/json")];
        ask(
            server.admin,
            "POST",
            "/api/v1/records/reconcile",
            &json,
            &body,
        )
        .unwrap()
    };
    let listed: Value = serde_json::from_str(&server.get("/api/v1/records").body).unwrap();
    let fence = listed["records"][0]["fence"].as_u64().unwrap();
    assert_eq!(call(fence + 1).status, 409);
    let done = call(fence);
    assert_eq!(done.status, 200, "{done:?}");
    assert!(done.body.contains("\"answer\":\"happened\""), "{done:?}");
}
