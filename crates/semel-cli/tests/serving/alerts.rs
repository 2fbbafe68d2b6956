//! What a process judges about itself, as operators and their scripts see it.

use std::fs;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::Value;

use crate::support::{PATIENCE, Semel, ask, field, read_message, semel};

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

/// A receiver of notices that answers with these statuses, one to each request, and tells the head and the body of each.
fn receiver(statuses: &'static [u16]) -> (SocketAddr, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    let (tell, heard) = channel();
    thread::spawn(move || {
        for status in statuses {
            let (mut stream, _) = listener.accept().unwrap();
            let notice = read_message(&mut stream).unwrap();
            let answer =
                format!("HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
            let _ = tell.send(notice);
        }
    });
    (addr, heard)
}

#[test]
fn a_webhook_of_the_file_hears_of_an_alert_and_of_its_end_though_it_was_away() {
    let (addr, heard) = receiver(&[503, 204, 204]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("semel.yaml");
    let good = format!(
        "admin: {{ listen: 127.0.0.1:0 }}\n\
         alerts:\n  instance: here\n  webhook:\n    url: 'http://{addr}/notices'\n    \
         secret: whsec_c2VjcmV0LW9mLXRoZS10ZXN0LXRoYXQtaXMtbG9uZw==\n    \
         headers: {{ Authorization: Bearer t }}\n"
    );
    fs::write(&path, &good).unwrap();
    let server = Semel::serve(dir.path(), &[]);
    fs::write(&path, "admin: { lisen: x }").unwrap();
    server.signal("HUP");
    let tried = heard.recv_timeout(PATIENCE).unwrap();
    let taken = heard.recv_timeout(PATIENCE).unwrap();
    for (head, body) in [&tried, &taken] {
        assert!(head.starts_with("POST /notices "), "{head}");
        assert_eq!(field(head, "authorization"), Some("Bearer t"));
        let signature = field(head, "webhook-signature").unwrap();
        assert!(signature.starts_with("v1,"), "{signature}");
        assert_eq!(field(head, "webhook-id"), field(&tried.0, "webhook-id"));
        assert_eq!(*body, tried.1);
    }
    let began: Value = serde_json::from_str(&taken.1).unwrap();
    assert_eq!(began["type"], "alert.firing");
    assert_eq!(began["data"]["name"], "reload-failed");
    assert_eq!(began["instance"], "here");

    fs::write(&path, &good).unwrap();
    server.signal("HUP");
    let (head, body) = heard.recv_timeout(PATIENCE).unwrap();
    let ended: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(ended["type"], "alert.resolved");
    assert_eq!(ended["data"]["name"], "reload-failed");
    assert_ne!(field(&head, "webhook-id"), field(&tried.0, "webhook-id"));
    let metrics = server.metrics_with("semel_alert_notices_total{result=\"delivered\"} 2");
    let retried = "semel_alert_notices_total{result=\"retried\"} 1";
    assert!(metrics.contains(retried), "{metrics}");
}

/// Writes a certificate that ends with the first day of this year, and its key.
fn certificate(dir: &std::path::Path, ends: i32) {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2_000, 1, 1);
    params.not_after = rcgen::date_time_ymd(ends, 1, 1);
    let signed = params.self_signed(&key).unwrap();
    fs::write(dir.join("gateway.pem"), signed.pem()).unwrap();
    fs::write(dir.join("gateway.key"), key.serialize_pem()).unwrap();
}

#[test]
fn the_ends_of_certificates_and_tokens_are_shown_and_judged() {
    let dir = tempfile::tempdir().unwrap();
    certificate(dir.path(), 2_020);
    let token = "a-token-that-is-long-enough";
    let settings = format!(
        "admin:\n  listen: 127.0.0.1:0\n  tokens:\n  \
         - {{ name: ci, role: read, token: {token}, expires: 2131-02-03 }}\n  \
         - {{ name: old, role: read, token: another-{token}, expires: 2020-02-03 }}\n\
         gateway:\n  listen: 127.0.0.1:0\n  upstream: http://127.0.0.1:9\n  \
         tls: {{ certificate: gateway.pem, key: gateway.key }}\n"
    );
    fs::write(dir.path().join("semel.yaml"), settings).unwrap();
    let server = Semel::start(dir.path(), &["serve"]);
    let bearer = format!("Bearer {token}");
    let get = |path: &str| {
        let headers = [("Authorization", bearer.as_str())];
        ask(server.admin, "GET", path, &headers, "").unwrap().body
    };
    let metrics = get("/metrics");
    for series in [
        "semel_certificate_expiry_timestamp_seconds{port=\"gateway\"} 1577836800.0",
        "semel_token_expiry_timestamp_seconds{token=\"ci\"} 5083516800.0",
        "semel_token_expiry_timestamp_seconds{token=\"old\"} 1580688000.0",
    ] {
        assert!(metrics.contains(series), "{series} is not in {metrics}");
    }
    let began = [
        server.wait_for("alert-began"),
        server.wait_for("alert-began"),
    ]
    .concat();
    assert!(began.contains("certificate-expiring"), "{began}");
    assert!(began.contains("token-expiring"), "{began}");
    let alerts: Value = serde_json::from_str(&get("/api/v1/alerts")).unwrap();
    let active = alerts["active"].as_array().unwrap().iter();
    let about: Vec<&Value> = active.map(|alert| &alert["subject"]["name"]).collect();
    assert_eq!(about, ["gateway", "old"], "that of ci is far away");
}
