//! `semel policy`: what callers may know, from the file.

use serde_json::Value;

use crate::fixture::Fixture;

const FILE: &str = "
store: postgres://semel:hunter2@db.internal/semel
gateway:
  upstream: http://payments.internal:8080
  routes:
    - match: { methods: [POST], path: /payments }
      missing: require
      tenant: { api_key: X-Api-Key }
      retention: 7d
    - match: { methods: [POST], path: '/v1/{*rest}' }
    - match: { path: /mcp }
      mcp: { except: [search] }
      unknown: { reconcile: { url: 'http://payments.internal/{key}', headers: { Authorization: hunter3 } } }
";

fn fixture(file: &str) -> Fixture {
    let fixture = Fixture::empty();
    let path = fixture.path().with_file_name("semel.yaml");
    std::fs::write(path, file).unwrap();
    fixture
}

#[test]
fn the_policy_is_the_files_and_tells_no_secret() {
    let fixture = fixture(FILE);
    let text = fixture.semel("policy");
    assert_eq!((text.code, text.stderr.as_str()), (0, ""));
    for line in [
        "POST /payments\n",
        "  key         header Idempotency-Key; 1 to 255 bytes\n",
        "  no key      refused\n",
        "  caller      api_key (X-Api-Key)\n",
        "  expiry      7d after the first request has ended\n",
        "  guarded     tools/call but of search\n",
        "  unknown     reconcile; a duplicate gets 409 until then\n",
    ] {
        assert!(text.stdout.contains(line), "{line}\n{}", text.stdout);
    }
    let json = fixture.semel("policy --json --config semel.yaml");
    let document: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(document["version"], 1);
    assert_eq!(document["routes"][0]["expiry"]["seconds"], 7 * 86_400);
    assert_eq!(document["routes"][0]["key"]["required"], true);
    for secret in ["hunter", "internal", "semel:"] {
        assert!(!text.stdout.contains(secret), "{secret}");
        assert!(
            !json.stdout.replace("urn:semel:", "").contains(secret),
            "{secret}"
        );
    }
}

#[test]
fn the_overlay_names_on_stderr_what_it_cannot_say() {
    let ran = fixture(FILE).semel("policy --openapi overlay");
    assert_eq!(ran.code, 0, "{ran:?}");
    let overlay: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(overlay["overlay"], "1.0.0");
    assert_eq!(overlay["actions"][1]["target"], "$.paths['/payments'].post");
    assert!(
        ran.stderr.starts_with("POST /v1/{*rest}: "),
        "{}",
        ran.stderr
    );
}

#[test]
fn without_a_file_or_a_gateway_there_is_no_policy() {
    let nothing = Fixture::empty().semel("policy");
    assert_eq!(nothing.code, 78);
    assert!(
        nothing.stderr.contains("expected a configuration file"),
        "{nothing:?}"
    );
    let messages = fixture("consumers: { a: {} }").semel("policy");
    assert_eq!(messages.code, 78);
    assert!(messages.stderr.contains("has no gateway"), "{messages:?}");
    let below = "gateway: { routes: [{ match: { path: '/v1/{*rest}' } }] }";
    let below = fixture(below).semel("policy --openapi overlay");
    assert_eq!((below.code, below.stdout.as_str()), (1, ""), "{below:?}");
}
