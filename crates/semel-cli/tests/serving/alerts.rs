//! What a process judges about itself, as operators and their scripts see it.

use std::fs;

use serde_json::Value;

use crate::support::{Semel, semel};

/// What `semel check --alerts` says about a process, once alerts were judged.
fn asked(dir: &std::path::Path, server: &Semel, flags: &[&str]) -> (Option<i32>, String) {
    let url = server.admin.to_string();
    loop {
        let args = [&["check", "--alerts", "--admin", &url], flags].concat();
        let (code, out, said) = semel(dir, &args);
        match said.contains("no alert was judged yet") {
            true => assert_eq!(code, Some(69), "{said}"),
            false => return (code, out),
        }
    }
}

#[test]
fn an_alert_that_fires_is_the_exit_code_of_check_until_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    // Who asks has no file, or would be told about that one.
    let elsewhere = tempfile::tempdir().unwrap();
    let elsewhere = elsewhere.path();
    let path = dir.path().join("semel.yaml");
    let good = "admin: { listen: 127.0.0.1:0 }\n\
                gateway: { listen: '127.0.0.1:0', upstream: 'http://127.0.0.1:9' }\n\
                alerts: { thresholds: { paused: false } }\n";
    fs::write(&path, good).unwrap();
    let server = Semel::start(dir.path(), &["serve", "--config", "semel.yaml"]);
    let (code, out) = asked(elsewhere, &server, &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.starts_with("✓ no alert fires"), "{out}");
    let page = server.get("/configuration").body;
    assert!(page.contains("alert paused is off"), "{page}");

    fs::write(&path, "gateway: { upstraem: x }").unwrap();
    server.signal("HUP");
    server.wait_for("alert-began");
    let (code, out) = asked(elsewhere, &server, &[]);
    assert_eq!(code, Some(5), "{out}");
    assert!(out.starts_with("✗ reload-failed: warning, firing"), "{out}");
    assert!(out.contains("docs/alerts/reload-failed.md"), "{out}");
    let (code, _) = asked(elsewhere, &server, &["--severity", "critical"]);
    assert_eq!(code, Some(0), "it is a warning");
    let (code, out) = asked(elsewhere, &server, &["--json"]);
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (code, &found["active"][0]["name"]),
        (Some(5), &"reload-failed".into())
    );
    let page = server.get("/configuration").body;
    assert!(page.contains("A newer file was refused"), "{page}");

    fs::write(&path, good.replace("127.0.0.1:0'", "127.0.0.1:1'")).unwrap();
    server.signal("HUP");
    server.wait_for("alert-ended");
    assert_eq!(asked(elsewhere, &server, &[]).0, Some(0));
    let page = server.get("/configuration").body;
    assert!(page.contains("need a restart: gateway.listen"), "{page}");

    let url = server.admin.to_string();
    drop(server);
    let (code, _, said) = semel(elsewhere, &["check", "--alerts", "--url", &url]);
    assert_eq!(code, Some(69), "{said}");
}

#[test]
fn a_webhook_that_cannot_be_posted_to_keeps_the_process_from_starting() {
    let dir = tempfile::tempdir().unwrap();
    let text = "alerts: { webhook: { url: 'secret-place' } }";
    fs::write(dir.path().join("semel.yaml"), text).unwrap();
    let (code, _, said) = semel(dir.path(), &["serve", "--config", "semel.yaml"]);
    assert_eq!(code, Some(78));
    assert!(
        said.contains("alerts.webhook.url") && !said.contains("secret-place"),
        "{said}"
    );
}
