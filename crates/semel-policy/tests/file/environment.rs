//! Defaults < file < `SEMEL_SECTION__KEY`, and `${VAR}` in values.

use insta::assert_snapshot;
use semel_policy::file::{Admin, Level};
use semel_policy::{Error, File};

fn parse(text: &str, env: &[(&str, &str)]) -> Result<File, Error> {
    let env = env
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    File::parse("semel.yaml", text, env)
}

fn error(text: &str, env: &[(&str, &str)]) -> String {
    parse(text, env).unwrap_err().to_string()
}

#[test]
fn a_variable_wins_over_the_file() {
    let text = "store: sqlite:a.db\nlog: { level: warn }\nadmin: off\ngateway: { listen: '127.0.0.1:1' }\n";
    let env = [
        ("SEMEL_STORE", "sqlite:b.db"),
        ("SEMEL_LOG__LEVEL", "debug"),
        ("SEMEL_ADMIN__LISTEN", "127.0.0.1:2"),
        ("SEMEL_ADMIN__TOKEN", "t"),
        ("SEMEL_GATEWAY__LISTEN", "127.0.0.1:3"),
        ("SEMEL_GATEWAY__LIMITS__IN_FLIGHT", "9"),
        ("SEMEL_GATEWAY__UNKNOWN", "rerun"),
        ("SEMEL_GATEWAY__TENANT__HEADER", "X-Tenant"),
    ];
    let file = parse(text, &env).unwrap();
    assert_eq!(file.store.unwrap().text(), "sqlite:b.db");
    assert_eq!(file.log.level, Level::Debug);
    assert!(
        matches!(file.admin, Admin::On { listen, token: Some(_), .. } if listen.to_string() == "127.0.0.1:2")
    );
    let gateway = file.gateway.unwrap();
    assert_eq!(gateway.listen.to_string(), "127.0.0.1:3");
    assert_eq!(gateway.limits.in_flight.0.0, 9);
    let rules = &gateway.routes().unwrap()[0].rules;
    assert_eq!(
        format!("{:?} {:?}", rules.unknown, rules.tenant),
        "Rerun Header(\"x-tenant\")"
    );
}

#[test]
fn the_two_stores_of_a_hybrid_can_be_variables() {
    let env = [
        ("SEMEL_STORE__CLAIMS", "redis://:a@h"),
        ("SEMEL_STORE__OUTCOMES", "postgres://u@h/d"),
    ];
    for text in ["", "store: sqlite:a.db"] {
        let file = parse(text, &env).unwrap();
        assert_eq!(file.store.unwrap().text(), "redis://:a@h+postgres://u@h/d");
    }
    let only = [("SEMEL_STORE__CLAIMS", "sqlite:a")];
    assert_snapshot!(
        error("store: { outcomes: sqlite:b }", &only),
        @"SEMEL_STORE__CLAIMS: store.claims: expected a store for claims such as redis://HOST, found SQLite"
    );
}

#[test]
fn variables_need_no_file() {
    let file = parse(
        "",
        &[
            ("SEMEL_GATEWAY__UPSTREAM", "http://a"),
            ("SEMEL_ADMIN", "off"),
        ],
    )
    .unwrap();
    assert_eq!(file.gateway.unwrap().upstream.unwrap().as_str(), "http://a");
    assert_eq!(file.admin, Admin::Off);
}

#[test]
fn without_a_file_errors_name_none() {
    let parsed = File::parse("", "", [("SEMEL_GATEWAY__MODE".to_owned(), "x".to_owned())]);
    assert_snapshot!(
        parsed.unwrap_err(),
        @r#"SEMEL_GATEWAY__MODE: gateway.mode: expected one of enforce, observe, found "x""#
    );
    let parsed = File::parse("", "gateway: { mode: x }", []);
    assert_snapshot!(
        parsed.unwrap_err(),
        @r#"gateway.mode: expected one of enforce, observe, found "x""#
    );
}

#[test]
fn other_variables_mean_something_else() {
    let env = [
        ("SEMEL_ADMIN_TOKEN", "t"),
        ("SEMEL_TEST_POSTGRES_URL", "x"),
        ("SEMEL_BUSY_TIMEOUT", "5s"),
        ("SEMEL_", "x"),
        ("SEMEL", "x"),
        ("GATEWAY__LISTEN", "x"),
        ("HOME", "x"),
    ];
    assert!(parse("gateway: {}", &env).is_ok());
}

#[test]
fn errors_name_the_variable() {
    assert_snapshot!(
        error("", &[("SEMEL_GATEWAY__LISTEN", "here")]),
        @r#"SEMEL_GATEWAY__LISTEN: gateway.listen: expected an address such as 127.0.0.1:7070 or unix:/run/semel.sock, found "here""#
    );
    assert_snapshot!(
        error("gateway: { lease: 3s }", &[("SEMEL_GATEWAY__LISEN", "127.0.0.1:1")]),
        @"SEMEL_GATEWAY__LISEN: gateway.lisen: unknown key; did you mean listen?"
    );
    assert_snapshot!(
        error("gateway: { routes: [{ match: { path: /a } }] }", &[("SEMEL_GATEWAY__ROUTES__0__LEASE", "3s")]),
        @"SEMEL_GATEWAY__ROUTES__0__LEASE: gateway.routes.0.lease: a list can only be set in the file"
    );
    assert_snapshot!(
        error("gateway: { lease: 30s }", &[("SEMEL_GATEWAY__RETENTION", "1s")]),
        @"SEMEL_GATEWAY__RETENTION: gateway.retention: expected at least the lease of 30s, found 1s"
    );
    assert_snapshot!(
        error("", &[("SEMEL_CONSUMERS__A__SOURCE", "kafka://")]),
        @"SEMEL_CONSUMERS__A__SOURCE: consumers.a.source: expected a URL of Kafka with an address of at most 2048 bytes behind ://"
    );
}

#[test]
fn variables_are_filled_into_values() {
    let text = "admin: { token: '${A}-${B}' }\ngateway: { lease: '${LEASE}', key: { header: \"X-${A}\" } }\n";
    let file = parse(text, &[("A", "a"), ("B", "b: [c"), ("LEASE", "3s")]).unwrap();
    assert!(matches!(&file.admin, Admin::On { token: Some(t), .. } if t.expose() == "a-b: [c"));
    let rules = &file.gateway.unwrap().routes().unwrap()[0].rules;
    assert_eq!(rules.lease.get().as_secs(), 3);
    assert!(format!("{:?}", rules.key).contains("x-a"));
}

#[test]
fn a_dollar_can_be_written() {
    let file = parse("admin: { token: 'a$${B}$c' }", &[]).unwrap();
    assert!(matches!(&file.admin, Admin::On { token: Some(t), .. } if t.expose() == "a${B}$c"));
}

#[test]
fn a_variable_that_is_not_set_is_an_error_with_a_place() {
    assert_snapshot!(
        error("store: sqlite:a\nadmin:\n  token: \"${SEMEL_ADMIN_TOKEN}\"\n", &[]),
        @"semel.yaml:3:10: admin.token: the variable SEMEL_ADMIN_TOKEN is not set"
    );
    assert_snapshot!(
        error("gateway: { routes: [{ match: { path: '/${A' } }] }", &[]),
        @"semel.yaml:1:38: gateway.routes[0].match.path: expected a } after ${"
    );
    assert_snapshot!(
        error("gateway: { listen: '${ADDRESS}' }", &[("ADDRESS", "here")]),
        @r#"semel.yaml:1:20: gateway.listen: expected an address such as 127.0.0.1:7070 or unix:/run/semel.sock, found the value of "${ADDRESS}""#
    );
}

#[test]
fn a_value_that_a_variable_replaces_needs_no_variables_of_its_own() {
    let text = "admin: { token: '${SEMEL_ADMIN_TOKEN}' }";
    assert!(parse(text, &[("SEMEL_ADMIN__TOKEN", "t")]).is_ok());
}

#[test]
fn variables_are_not_filled_into_variables() {
    let file = parse("", &[("SEMEL_ADMIN__TOKEN", "${A}")]).unwrap();
    assert!(matches!(&file.admin, Admin::On { token: Some(t), .. } if t.expose() == "${A}"));
}
