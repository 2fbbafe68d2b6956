//! What `semel check` says about a file.

use insta::assert_snapshot;
use semel_policy::{explain, warnings};

use super::parse;

fn explained(text: &str) -> String {
    explain(&parse(text).unwrap())
}

fn warned(text: &str) -> String {
    warnings(&parse(text).unwrap()).join("\n")
}

#[test]
fn an_empty_file_in_words() {
    assert_snapshot!(explained(""), @"");
}

#[test]
fn a_gateway_without_routes_in_words() {
    assert_snapshot!(explained("gateway: { upstream: 'http://127.0.0.1:8080' }"), @"");
}

#[test]
fn routes_in_words() {
    let text = "
store: postgres://semel:secret@db/semel
admin: off
gateway:
  upstream: https://shop.internal
  tls: { certificate: c.pem, key: k.pem }
  routes:
    - match: { methods: [POST], path: /payments }
      scope: payments@2
      missing: require
      tenant: { api_key: X-Api-Key }
      fingerprint: { exclude: [sent_at] }
      in_progress: 425
      retention: { keep: 7d, archive: true }
      unknown: { reconcile: 'https://shop.internal/payments?key={key}' }
    - match: { path: '/orders/{id}' }
      key: [{ query: key }, { body: $.id }, derive]
      upstream: http://orders
      keep: { release: [] }
      replay: { expires: true }
      request_bytes: 10KiB
";
    assert_snapshot!(explained(text), @"");
}

#[test]
fn warnings_are_about_what_surprises() {
    for text in ["", "gateway: { upstream: 'http://a' }", "admin: { listen: '0.0.0.0:1', token: t }"] {
        assert_eq!(warned(text), "", "{text}");
    }
    let text = "
admin: { listen: '0.0.0.0:7071' }
gateway:
  trust_forwarded: true
  routes:
    - match: { methods: [POST], path: /a }
      tenant: public
      replay: { cookies: true }
    - match: { path: /b }
      missing: derive
    - match: { methods: [POST], path: /c }
      retention: 5m
      unknown: rerun
    - match: { methods: [POST], path: /d }
      fingerprint: off
      mode: observe
";
    assert_snapshot!(warned(text), @"");
}
