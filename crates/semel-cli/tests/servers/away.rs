//! Servers that are not there, do not answer, or do not let us in.

use std::net::TcpListener;

use crate::test_store::{TestStore, server, with};

/// The URLs of both kinds of server at an address, with a password that must not be seen.
fn urls(addr: &str) -> [String; 3] {
    [
        format!("postgres://semel:hunter2@{addr}/shop?timeout=300ms"),
        format!("redis://:hunter2@{addr}/0?timeout=300ms"),
        format!("redis://:hunter2@{addr}/0?timeout=300ms+sqlite:semel.db"),
    ]
}

const VERBS: [&[&str]; 5] = [
    &["keys", "list"],
    &["stats"],
    &["check"],
    &["serve", "--admin", "127.0.0.1:0"],
    &[
        "gateway",
        "--upstream",
        "http://127.0.0.1:1",
        "--listen",
        "127.0.0.1:0",
    ],
];

fn is_unavailable(addr: &str) {
    for url in urls(addr) {
        let place = TestStore::at(&url);
        // A hybrid is looked into only if it has its file.
        let verbs = if url.contains('+') {
            &VERBS[3..]
        } else {
            &VERBS[..]
        };
        for verb in verbs {
            let ran = place.semel(verb);
            assert_eq!(ran.code, Some(69), "{verb:?}: {ran:?}");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(
                said.contains("cannot open ") && said.contains(addr),
                "{verb:?}: {said}"
            );
            assert!(!said.contains("semel@"), "{verb:?}: {said}");
        }
    }
}

#[test]
fn a_server_that_is_away_is_unavailable() {
    // Bound and closed again: nobody listens there.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    drop(listener);
    is_unavailable(&addr);
}

#[test]
fn a_server_that_never_answers_is_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    is_unavailable(&listener.local_addr().unwrap().to_string());
}

#[test]
fn a_wrong_password_is_said_and_not_shown() {
    for name in ["POSTGRES", "REDIS"] {
        let right = TestStore::at(&server(name));
        let wrong = right.url.replace(right.password(), "hunter2");
        for verb in VERBS {
            let ran = TestStore::at(&with(&wrong, "timeout=2s")).semel(verb);
            assert_eq!(ran.code, Some(78), "{verb:?}: {ran:?}");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(said.contains("password"), "{verb:?}: {said}");
        }
    }
}

#[test]
fn a_database_that_is_not_there_is_a_mistake() {
    let url = server("POSTGRES");
    let (server, _) = url.rsplit_once('/').unwrap();
    let ran = TestStore::at(&format!("{server}/nowhere")).semel(&["stats"]);
    assert_eq!(ran.code, Some(78), "{ran:?}");
    assert!(ran.stderr.contains("nowhere"), "{ran:?}");
}
