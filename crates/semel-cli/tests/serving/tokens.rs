//! Tokens of the admin side, taken over at SIGHUP.

use std::fs;

use crate::support::{Semel, ask, semel};

/// The lines of a new token, and its secret.
fn made(dir: &std::path::Path, words: &[&str]) -> (String, String) {
    let (code, secret, said) = semel(dir, &[&["token", "new"], words].concat());
    assert_eq!(code, Some(0), "{said}");
    let lines = said.split_once("  tokens:\n").unwrap().1;
    (lines.trim_end().to_owned(), secret.trim().to_owned())
}

#[test]
fn a_token_is_replaced_without_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("semel.yaml");
    let claims = [
        "--role", "claims", "--tenant", "acme", "--scope", "payments",
    ];
    let (old_lines, old) = made(dir.path(), &[&["--name", "ci-1"][..], &claims].concat());
    let (new_lines, new) = made(dir.path(), &[&["--name", "ci-2"][..], &claims].concat());
    let file = |tokens: &[&str]| {
        let head = "admin:\n  listen: 127.0.0.1:0\n  tokens:";
        fs::write(&path, format!("{head}\n{}\n", tokens.join("\n"))).unwrap();
    };
    file(&[&old_lines]);
    let server = Semel::serve(dir.path(), &["--log", "debug"]);
    let claim = |token: &str, tenant: &str, key: &str| {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
        ];
        let body = format!(r#"{{"tenant":"{tenant}","scope":"payments","key":"{key}"}}"#);
        ask(server.admin, "POST", "/api/v1/claims", &headers, &body)
            .unwrap()
            .status
    };
    assert_eq!(
        (claim(&old, "acme", "a"), claim(&new, "acme", "b")),
        (201, 401)
    );
    assert_eq!(claim(&old, "globex", "a"), 403);
    let reload = |tokens: &[&str]| {
        file(tokens);
        server.signal("HUP");
        server.wait_for("the configuration was read again");
    };
    reload(&[&old_lines, &new_lines]);
    assert_eq!(
        (claim(&old, "acme", "c"), claim(&new, "acme", "d")),
        (201, 201)
    );
    reload(&[&new_lines]);
    assert_eq!(
        (claim(&old, "acme", "e"), claim(&new, "acme", "f")),
        (401, 201)
    );
    let log = server.log();
    assert!(
        log.contains("ci-1") && !log.contains(&old) && !log.contains(&new),
        "{log}"
    );
}
