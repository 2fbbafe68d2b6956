//! What observe mode found, asked by `semel observe` from a running process.

use std::fs;
use std::net::TcpListener;

use serde_json::Value;

use crate::support::{Semel, Shop, ask, semel};

const GATEWAY: [&str; 4] = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];

/// One request with a key, of which nothing is refused.
fn post(server: &Semel, caller: &str, key: &str, body: &str) {
    let credential = format!("Bearer {caller}");
    let headers = [("Idempotency-Key", key), ("Authorization", &credential)];
    let answer = ask(server.gateway, "POST", "/pay", &headers, body).unwrap();
    assert_eq!(answer.status, 201, "{answer:?}");
}

/// Waits until so many requests are counted: observations end beside them.
fn counted(server: &Semel, headers: &[(&str, &str)], requests: u64) {
    let seen = || {
        let answer = ask(server.admin, "GET", "/api/v1/observations", headers, "").unwrap();
        let found: Value = serde_json::from_str(&answer.body).unwrap();
        let rows = found["routes"].as_array().cloned().unwrap_or_default();
        let counts = rows.iter().filter_map(|row| row["requests"].as_u64());
        counts.sum::<u64>()
    };
    let mut all = std::iter::repeat_with(seen).take(10_000);
    assert!(all.any(|found| found == requests));
}

/// First, duplicate and mismatch of one client; first and new key of another. Each is counted before the next: what came first decides what a
/// request is called.
fn storm(server: &Semel, headers: &[(&str, &str)]) {
    let requests = [
        ("ann", "k-1", "1"),
        ("ann", "k-1", "1"),
        ("ann", "k-1", "2"),
        ("bob", "k-2", "1"),
        ("bob", "k-3", "1"),
    ];
    for (sent, (caller, key, body)) in (1..).zip(requests) {
        post(server, caller, key, body);
        counted(server, headers, sent);
    }
}

#[test]
fn a_gateway_that_observes_is_asked_for_what_it_found() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let url = shop.url();
    let args = [&["gateway", "--upstream", &url, "--observe"], &GATEWAY[..]].concat();
    let server = Semel::start(dir.path(), &args);
    let admin = server.admin.to_string();
    let observe = |more: &[&str]| {
        semel(
            dir.path(),
            &[&["observe", "--admin", &admin], more].concat(),
        )
    };
    let (code, data, said) = observe(&[]);
    assert_eq!((code, data.as_str()), (Some(0), ""), "{said}");
    assert!(said.starts_with("nothing was observed since 2"), "{said}");
    storm(&server, &[]);
    assert_eq!(shop.effects(), 5);
    let (code, data, said) = observe(&[]);
    assert_eq!(code, Some(0), "{said}");
    let lines: Vec<_> = data.lines().collect();
    let words = |line: &str| {
        line.split_whitespace()
            .map(ToOwned::to_owned)
            .collect::<Vec<_>>()
    };
    let heading = "ROUTE CLIENT REQUESTS DUPLICATES CONCURRENT MISMATCHES NEW KEYS";
    assert_eq!(words(lines[0]).join(" "), heading);
    assert_eq!(lines.len(), 3, "{data}");
    let numbers = |line: &str| words(line).split_off(words(line).len() - 5).join(" ");
    let mut numbers: Vec<_> = lines[1..].iter().map(|line| numbers(line)).collect();
    numbers.sort();
    assert_eq!(numbers, ["2 0 0 0 1", "3 1 0 1 0"], "{data}");
    for hint in [
        "1 request repeated an earlier one with its key",
        "1 request brought a key that another request had used (such as k-1 on POST /{*rest}@1)",
        "1 request came again within seconds with a new key (such as k-3 on POST /{*rest}@1)",
    ] {
        assert!(said.contains(hint), "{hint}: {said}");
    }
    let (code, data, _) = observe(&["--json"]);
    let found: Value = serde_json::from_str(&data).unwrap();
    assert_eq!(
        (code, found["routes"].as_array().unwrap().len()),
        (Some(0), 2)
    );
    assert!(!data.contains("ann") && !data.contains("bob"), "{data}");
}

#[test]
fn a_file_in_observe_mode_says_where_to_ask_and_with_which_token() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let file = |token: &str| {
        format!(
            "admin: {{ listen: '0.0.0.0:{port}', token: {token} }}\n\
             gateway: {{ listen: '127.0.0.1:0', upstream: '{}', mode: observe }}\n",
            shop.url()
        )
    };
    let path = dir.path().join("semel.yaml");
    fs::write(&path, file("open-sesame")).unwrap();
    let mut server = Semel::start(dir.path(), &["serve"]);
    server.admin = format!("127.0.0.1:{port}").parse().unwrap();
    storm(&server, &[("Authorization", "Bearer open-sesame")]);
    let (code, data, said) = semel(dir.path(), &["observe", "--json"]);
    assert_eq!(code, Some(0), "{said}");
    let found: Value = serde_json::from_str(&data).unwrap();
    let sum = |name: &str| {
        let rows = found["routes"].as_array().unwrap().iter();
        rows.filter_map(|row| row[name].as_u64()).sum::<u64>()
    };
    assert_eq!(
        (sum("duplicate"), sum("mismatch"), sum("suspicious_key")),
        (1, 1, 1)
    );
    fs::write(&path, file("wrong")).unwrap();
    let (code, _, said) = semel(dir.path(), &["observe"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("refuses the token (status 401)"), "{said}");
    assert!(
        !said.contains("wrong") && !said.contains("sesame"),
        "{said}"
    );
}

#[test]
fn a_process_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (code, data, said) = semel(dir.path(), &["observe", "--admin", "127.0.0.1:1"]);
    assert_eq!((code, data.as_str()), (Some(69), ""), "{said}");
    let expected = "error: the admin side at http://127.0.0.1:1 does not answer: ";
    assert!(said.starts_with(expected), "{said}");
    fs::write(dir.path().join("semel.yaml"), "admin: off\n").unwrap();
    let (code, _, said) = semel(dir.path(), &["observe"]);
    assert_eq!(code, Some(78), "{said}");
    assert!(
        said.contains("admin is off in the configuration file"),
        "{said}"
    );
}

#[cfg(unix)]
#[test]
fn an_admin_side_on_a_socket_is_asked_too() {
    let (shop, dir) = (Shop::open(), tempfile::tempdir().unwrap());
    let file = format!(
        "admin: {{ listen: 'unix:admin.sock' }}\n\
         gateway: {{ listen: '127.0.0.1:0', upstream: '{}', mode: observe }}\n",
        shop.url()
    );
    fs::write(dir.path().join("semel.yaml"), file).unwrap();
    let server = Semel::start_gateway(dir.path(), &["serve"]);
    post(&server, "ann", "k-1", "1");
    let (code, _, said) = semel(dir.path(), &["observe", "--json"]);
    assert_eq!(code, Some(0), "{said}");
}
