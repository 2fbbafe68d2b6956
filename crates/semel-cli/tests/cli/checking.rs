//! `semel check` on files with a gateway: what cannot start, and where effects could repeat.

use crate::fixture::{Fixture, Ran};

fn check(file: &str, options: &str) -> Ran {
    let fixture = Fixture::filled();
    std::fs::write(fixture.path().with_file_name("semel.yaml"), file).unwrap();
    fixture.semel(&format!("check{options}"))
}

fn route(scope: &str) -> String {
    format!(
        "gateway:\n  upstream: http://127.0.0.1:9\n  tenant: public\n  routes:\n    - match: {{ path: /pay }}\n      scope: {scope}\n"
    )
}

#[test]
fn listeners_that_would_meet_and_an_open_admin_side_cannot_start() {
    let gateway = "gateway: { upstream: 'http://127.0.0.1:9', listen: ";
    for (file, said) in [
        (
            format!("{gateway}127.0.0.1:7071 }}"),
            "✗ start   gateway.listen is 127.0.0.1:7071 and admin.listen is 127.0.0.1:7071: two listeners cannot have one port",
        ),
        (
            format!("{gateway}'0.0.0.0:7071' }}"),
            "✗ start   gateway.listen is 0.0.0.0:7071 and admin.listen is 127.0.0.1:7071",
        ),
        (
            format!("{gateway}'[::]:7071' }}"),
            "✗ start   gateway.listen is [::]:7071 and admin.listen is 127.0.0.1:7071",
        ),
        (
            "admin: { listen: '[::]:7071' }".to_owned(),
            "✗ start   the admin side needs a token to listen on [::]:7071",
        ),
    ] {
        let ran = check(&file, "");
        assert_eq!(ran.code, 78, "{file}: {ran:?}");
        assert!(ran.stdout.contains(said), "{file}: {}", ran.stdout);
    }
    let apart = check(&format!("{gateway}'[::1]:7071' }}"), "");
    assert_eq!(apart.code, 0, "{apart:?}");
}

#[test]
fn operations_that_are_open_under_another_version_are_named() {
    let ran = check(&route("payments@2"), "");
    assert_eq!(ran.code, 0, "{ran:?}");
    let said = "! scope   3 unknown and 1 running under payments@1, and the file says payments@2: a retry runs again under the new version";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
    let command = "semel keys list --state unknown --scope payments@1\n";
    assert!(ran.stdout.contains(command), "{}", ran.stdout);
    let same = check(&route("payments@1"), "");
    assert!(!same.stdout.contains("! scope"), "{}", same.stdout);
}

#[test]
fn a_version_that_is_no_number_is_refused_with_its_place() {
    let ran = check(&route("payments@one"), "");
    assert_eq!((ran.code, ran.stdout.as_str()), (78, ""), "{ran:?}");
    let said = "error: semel.yaml:6:14: gateway.routes[0].scope: expected a scope such as payments@1, with a whole number from 1 on \
                behind its only @, found \"payments@one\"";
    assert!(ran.stderr.starts_with(said), "{}", ran.stderr);
}

#[test]
fn warnings_are_in_the_json_too() {
    let file = "gateway: { upstream: 'http://127.0.0.1:9', tenant: bearer }\n\
                consumers: { hook: { source: http, deliver: 'http://127.0.0.1:9', signature: { scheme: github, secret: s } } }\n";
    let report = check(file, " --json").json();
    assert_eq!(report["ok"], true);
    let checks = report["checks"].as_array().unwrap();
    let warnings = checks.iter().filter(|check| check["level"] == "warning");
    let warnings: Vec<_> = warnings
        .filter_map(|check| check["found"].as_str())
        .collect();
    for said in ["told apart by their tokens", "does not cover the id"] {
        let is_there = warnings.iter().any(|warning| warning.contains(said));
        assert!(is_there, "{said}: {warnings:#?}");
    }
    let levels = checks.iter().filter_map(|check| check["level"].as_str());
    assert!(levels.clone().any(|level| level == "good"));
    assert!(levels.clone().all(|level| level != "failed"));
}
