//! Every key that is not a route's setting reaches the plain data.

use std::path::Path;

use semel_policy::file::{Admin, Format, Host, Level};
use semel_policy::{File, Gateway};

use super::{gateway, parse};

/// A key, and how the data differs from the default.
type Row = (&'static str, fn(&Gateway) -> bool);

#[test]
fn every_key_of_the_gateway_is_data() {
    let rows: [Row; 36] = [
        ("policy_page: off", |g| g.policy_page.path().is_none()),
        ("listen: '[::1]:80'", |g| g.listen.to_string() == "[::1]:80"),
        ("upstream: https://a:1", |g| {
            g.upstream
                .as_ref()
                .is_some_and(|origin| origin.as_str() == "https://a:1")
        }),
        ("host: upstream", |g| g.host == Host::Upstream),
        ("trust_forwarded: true", |g| g.trust_forwarded),
        ("tls: { certificate: c.pem, key: k.pem }", |g| {
            g.tls
                .as_ref()
                .is_some_and(|tls| *tls.certificate.0 == *Path::new("c.pem"))
        }),
        ("tls: { certificate: c.pem, key: k.pem }", |g| {
            g.tls
                .as_ref()
                .is_some_and(|tls| *tls.key.0 == *Path::new("k.pem"))
        }),
        ("upstream_tls: { ca: ca.pem }", |g| {
            g.upstream_tls
                .as_ref()
                .is_some_and(|tls| *tls.ca.0 == *Path::new("ca.pem"))
        }),
        ("upstream_http2: true", |g| g.upstream_http2),
        ("limits: { connections: 7 }", |g| {
            g.limits.connections.0.0 == 7
        }),
        ("limits: { in_flight: 7 }", |g| g.limits.in_flight.0.0 == 7),
        ("limits: { runs: 7 }", |g| {
            g.limits.runs.is_some_and(|n| n.0.0 == 7)
        }),
        ("limits: { receiving: 7 }", |g| {
            g.limits.receiving.is_some_and(|n| n.0.0 == 7)
        }),
        ("limits: { waiting: 7 }", |g| {
            g.limits.waiting.is_some_and(|n| n.0.0 == 7)
        }),
        ("limits: { waiting_per_key: 7 }", |g| {
            g.limits.waiting_per_key.0.0 == 7
        }),
        ("limits: { passing: 7 }", |g| {
            g.limits.passing.is_some_and(|n| n.0.0 == 7)
        }),
        ("limits: { tunnels: 7 }", |g| {
            g.limits.tunnels.is_some_and(|n| n.0.0 == 7)
        }),
        ("limits: { body_rate: 1KiB }", |g| {
            g.limits.body_rate.0.0 == 1024
        }),
        ("timeouts: { body_grace: 7s }", |g| {
            g.timeouts.body_grace.as_secs() == 7
        }),
        ("timeouts: { body_idle: 7s }", |g| {
            g.timeouts.body_idle.as_secs() == 7
        }),
        ("limits: { header_bytes: 9KiB }", |g| {
            g.limits.header_bytes.0.0 == 9 * 1024
        }),
        ("limits: { request_bytes: 7KiB }", |g| {
            g.limits.request_bytes.0.0 == 7 * 1024
        }),
        ("limits: { response_bytes: 7KiB }", |g| {
            g.limits.response_bytes.0.0 == 7 * 1024
        }),
        ("timeouts: { header: 7s }", |g| {
            g.timeouts.header.as_secs() == 7
        }),
        ("timeouts: { body: 7s }", |g| g.timeouts.body.as_secs() == 7),
        ("timeouts: { connect: 7s }", |g| {
            g.timeouts.connect.as_secs() == 7
        }),
        ("timeouts: { idle: 7s }", |g| g.timeouts.idle.as_secs() == 7),
        ("timeouts: { upstream_idle: 7s }", |g| {
            g.timeouts.upstream_idle.as_secs() == 7
        }),
        ("timeouts: { response: 7s }", |g| {
            g.timeouts.response.as_secs() == 7
        }),
        ("limits: { response_header_bytes: 9KiB }", |g| {
            g.limits.response_header_bytes.0.0 == 9 * 1024
        }),
        ("limits: { response_headers: 7 }", |g| {
            g.limits.response_headers.0.0 == 7
        }),
        ("limits: { http2_connections: 7 }", |g| {
            g.limits.http2_connections.0.0 == 7
        }),
        ("timeouts: { client_stall: 7s }", |g| {
            g.timeouts.client_stall.as_secs() == 7
        }),
        ("timeouts: { tunnel_idle: 7s }", |g| {
            g.timeouts.tunnel_idle.as_secs() == 7
        }),
        ("timeouts: { tunnel_closing: 7s }", |g| {
            g.timeouts.tunnel_closing.as_secs() == 7
        }),
        ("timeouts: { drain: 7s }", |g| {
            g.timeouts.drain.as_secs() == 7
        }),
    ];
    let plain = gateway("gateway: {}");
    for (text, holds) in rows {
        assert!(!holds(&plain), "{text} is the default");
        assert!(holds(&gateway(&format!("gateway: {{ {text} }}"))), "{text}");
    }
}

#[test]
fn the_other_sections_are_data() {
    let file =
        parse("store: sqlite:x.db\nlog: { level: debug, format: json }\nlimits: { buffered_bytes: 64MiB }\nadmin: off\n").unwrap();
    assert_eq!(file.limits.buffered_bytes.0.0, 64 * 1024 * 1024);
    assert_eq!(file.store.unwrap().text(), "sqlite:x.db");
    assert_eq!(
        (file.log.level, file.log.format),
        (Level::Debug, Format::Json)
    );
    assert_eq!(file.admin, Admin::Off);
    assert!(file.gateway.is_none());
    let file = parse("admin: { listen: '0.0.0.0:1', token: t }").unwrap();
    let Admin::On { listen, token, .. } = file.admin else {
        panic!("it is on");
    };
    assert_eq!(listen.to_string(), "0.0.0.0:1");
    assert_eq!(token.unwrap().expose(), "t");
}

#[test]
fn an_empty_file_is_all_defaults() {
    for text in ["", "# nothing\n", "gateway:\nlog:\nadmin:\nstore:\n", "{}"] {
        let file = parse(text).unwrap();
        assert!(file.store.is_none() && file.gateway.is_none(), "{text}");
        let Admin::On {
            listen,
            token: None,
            ..
        } = file.admin
        else {
            panic!("on, without a token");
        };
        assert_eq!(listen.to_string(), "127.0.0.1:7071");
    }
    assert_eq!(
        gateway("gateway: { listen: }").listen.to_string(),
        "127.0.0.1:7070"
    );
}

#[test]
fn paths_are_relative_to_the_file() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("jwt.key"), "secret\n").unwrap();
    let path = dir.path().join("semel.yaml");
    let text = "
gateway:
  tls: { certificate: c.pem, key: sub/k.pem }
  upstream_tls: { ca: /etc/ca.pem }
  tenant: { jwt_claim: { claim: sub, algorithm: HS256, key_file: jwt.key } }
";
    std::fs::write(&path, text).unwrap();
    let gateway = File::load(&path).unwrap().gateway.unwrap();
    let tls = gateway.tls.as_ref().unwrap();
    assert_eq!(tls.certificate.0, dir.path().join("c.pem"));
    assert_eq!(tls.key.0, dir.path().join("sub/k.pem"));
    assert_eq!(
        gateway.upstream_tls.as_ref().unwrap().ca.0,
        Path::new("/etc/ca.pem")
    );
    gateway.routes().unwrap();
}

#[test]
fn anchors_and_merges_work() {
    let text = "
gateway:
  routes:
    - &first
      match: { path: /a }
      lease: 3s
      missing: require
    - <<: *first
      match: { path: /b }
      lease: 4s
";
    let routes = gateway(text).routes().unwrap();
    let leases: Vec<_> = routes
        .iter()
        .map(|r| (r.path.as_str(), r.rules.lease.get().as_secs()))
        .collect();
    assert_eq!(leases, [("/a", 3), ("/a", 3), ("/b", 4), ("/b", 4)]);
}
