//! Secrets are neither shown nor quoted.

use semel_policy::{File, explain};

const SECRET: &str = "hunter2";

fn parse(text: &str) -> Result<File, semel_policy::Error> {
    let env = [("SECRET".to_owned(), SECRET.to_owned())];
    File::parse("semel.yaml", text, env)
}

#[test]
fn a_file_does_not_show_its_secrets() {
    let text = "
store: postgres://semel:hunter2@db/semel?password=hunter2
admin: { token: '${SECRET}' }
gateway:
  tenant: { jwt_claim: { claim: sub, algorithm: HS256, key: hunter2 } }
  unknown: { reconcile: { url: 'http://a/{key}', headers: { Authorization: 'Bearer ${SECRET}' } } }
";
    let hybrid = "store: { claims: 'redis://:hunter2@h', outcomes: 'postgres://u:hunter2@h/d?password=hunter2' }";
    let hybrid = parse(hybrid).unwrap();
    let shown = format!("{hybrid:?} {}", explain(&hybrid));
    assert!(!shown.contains(SECRET), "{shown}");
    let file = parse(text).unwrap();
    let routes = file.gateway.as_ref().unwrap().routes().unwrap();
    let shown = format!("{file:?} {file:#?} {} {routes:?}", explain(&file));
    assert!(!shown.contains(SECRET), "{shown}");
}

#[test]
fn consumers_and_targets_do_not_show_their_secrets() {
    let text = "
consumers:
  a:
    source: http
    signature: { scheme: generic, header: X-Sig, secret: [hunter2, '${SECRET}'] }
    deliver: { url: 'http://a/b?token=hunter2', headers: { Authorization: 'Bearer ${SECRET}' } }
  b: { source: http, signature: { scheme: stripe, secret: '${SECRET}' }, deliver: 'http://a/?t=${SECRET}' }
intents:
  c: { url: 'https://a/b?token=hunter2', headers: { X-Api-Key: '${SECRET}' } }
";
    let file = parse(text).unwrap();
    let (consumers, targets) = (file.consumers().unwrap(), file.targets().unwrap());
    let shown = format!(
        "{file:?} {file:#?} {consumers:?} {targets:#?} {} {:?}",
        explain(&file),
        semel_policy::warnings(&file)
    );
    assert!(!shown.contains(SECRET), "{shown}");
}

#[test]
fn no_error_holds_a_secret_or_a_variable() {
    for text in [
        "admin: { token: [hunter2] }",
        "admin: { token: { a: hunter2 } }",
        "admin: { listen: '${SECRET}' }",
        "admin: '${SECRET}'",
        "store: '${SECRET}'",
        "store: hunter2",
        "store: 'oracle://u:hunter2@h'",
        "store: 'redis://:hunter2@h+redis://:hunter2@h'",
        "store: { claims: 'postgres://u:hunter2@h/d', outcomes: 'sqlite:a' }",
        "store: { claims: 'redis://:hunter2@h', outcomes: 'mysql://u:hunter2@h/d' }",
        "store: { claims: '${SECRET}', outcomes: '${SECRET}' }",
        "gateway: { upstream: 'http://u:hunter2@a' }",
        "gateway: { upstream: 'u:hunter2@a' }",
        "gateway: { unknown: { reconcile: 'http://u:hunter2@a/{key}' } }",
        "gateway: { unknown: { reconcile: 'http://u:hunter2@a/{keys}' } }",
        "gateway: { mode: '${SECRET}' }",
        "gateway: { trust_forwarded: '${SECRET}' }",
        "gateway: { limits: '${SECRET}' }",
        "gateway: { key: '${SECRET}' }",
        "gateway: { key: { template: '${SECRET}' } }",
        "gateway: { key: { derive: '${SECRET}' } }",
        "gateway: { in_progress: '${SECRET}' }",
        "gateway: { retention: 'x${SECRET}' }",
        "gateway: { keep: { statuses: ['${SECRET}'] } }",
        "gateway: { routes: '${SECRET}' }",
        "gateway: { routes: [{ match: { path: '${SECRET}' } }] }",
        "gateway: { tenant: { jwt_claim: { claim: sub, algorithm: RS256, key: hunter2 } } }",
        "gateway: { tenant: { jwt_claim: { claim: sub, algorithm: ES256, key: '${SECRET}' } } }",
        "gateway: { tenant: { jwt_claim: { claim: sub, algorithm: '${SECRET}', key: a } } }",
        "consumers: { a: { source: 'kafka:u:hunter2@h' } }",
        "consumers: { a: { source: 'odd://u:hunter2@h' } }",
        "consumers: { a: { source: '${SECRET}' } }",
        "consumers: { a: { deliver: 'http://u:hunter2@h' } }",
        "consumers: { a: { deliver: 'h?token=hunter2' } }",
        "consumers: { a: { deliver: { url: 'http://h', headers: { 'a b': hunter2 } } } }",
        "consumers: { a: { deliver: { url: 'http://h', headers: { Host: hunter2 } } } }",
        "consumers: { a: { deliver: { url: 'http://h', headers: { A: [hunter2] } } } }",
        "consumers: { a: { deliver: { url: 'http://h', headers: hunter2 } } }",
        "consumers: { a: { deliver: { url: 'http://h', headers: { A: \"hunter2\\n\" } } } }",
        "consumers: { a: { signature: { scheme: stripe, secret: hunter2 } } }",
        "consumers: { a: { source: http, signature: { scheme: generic, secret: hunter2 } } }",
        "consumers: { a: { source: http, signature: { scheme: stripe, secret: { a: hunter2 } } } }",
        "consumers: { a: { source: http, signature: '${SECRET}' } }",
        "consumers: { a: { order: '${SECRET}' } }",
        "consumers: { a: { id: { template: '${SECRET}' } } }",
        "consumers: { a: { version: '${SECRET}' } }",
        "intents: { a: { url: 'http://u:hunter2@h' } }",
        "intents: { a: { url: 'http://h', headers: { A: [hunter2] } } }",
        "intents: { a: { url: 'http://h', unknown: { reconcile: 'http://u:hunter2@h/{key}' } } }",
    ] {
        let error = parse(text).expect_err(text);
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(SECRET), "{shown}");
    }
}
