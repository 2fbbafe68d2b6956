//! Tokens are made, listed and hashed.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::fixture::{Fixture, Ran};

fn hash(fixture: &Fixture, secret: &str) -> Ran {
    let mut child = fixture
        .command(&["token", "hash"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(secret.as_bytes())
        .unwrap();
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn a_new_token_is_shown_once_and_its_lines_are_a_file() {
    let fixture = Fixture::empty();
    let made = fixture.semel("token new --name ci --role claims --tenant acme --scope payments --scope mail@2 --expires 90d");
    assert_eq!(made.code, 0, "{made:?}");
    let secret = made.stdout.trim();
    assert!(
        secret.starts_with("semel_") && secret.len() == 70,
        "{secret}"
    );
    assert!(!made.stderr.contains(secret));
    let lines = made.stderr.split_once("\n\n").unwrap().1;
    fs::write(fixture.path().with_file_name("semel.yaml"), lines).unwrap();
    // The hash in the file is that of the secret.
    let hashed = hash(&fixture, &format!("{secret}\n"));
    assert!(lines.contains(hashed.stdout.trim()), "{lines} {hashed:?}");
    let listed = fixture.semel("token list --json").json();
    let token = &listed["tokens"][0];
    assert_eq!(token["name"], "ci");
    assert_eq!(token["tenant"], "acme");
    assert_eq!(token["scopes"], serde_json::json!(["payments", "mail@2"]));
    assert_eq!(token["expired"], false);
    let another = fixture.semel("token new --name ci --role read");
    assert_ne!(another.stdout.trim(), secret);
}

#[test]
fn tokens_are_listed_without_their_secrets() {
    let fixture = Fixture::empty();
    let file = "admin:\n  token: the-one-that-may-do-everything\n  tokens:\n\
                \x20   - { name: ci, role: claims, token: hunter2hunter2hunter2, tenant: acme, scopes: [payments, 'mail@2'] }\n\
                \x20   - { name: all, role: claims, token: hunter2hunter2hunter3, scopes: '*' }\n\
                \x20   - { name: old, role: operate, token: hunter2hunter2hunter4, expires: 2020-01-01 }\n";
    fs::write(fixture.path().with_file_name("tokens.yaml"), file).unwrap();
    let listed = fixture.semel("token list --config tokens.yaml");
    let shown = listed
        .stdout
        .lines()
        .map(|line| match line.split_once("expired ") {
            Some((before, _)) => format!("{before}expired <age>"),
            None => line.to_owned(),
        });
    assert_snapshot!(shown.collect::<Vec<_>>().join("\n"), @r"
    NAME   ROLE     TENANT  SCOPES            EXPIRES
    admin  admin    -       -                 never
    ci     claims   acme    payments, mail@2  never
    all    claims   every   *                 never
    old    operate  -       -                 expired <age>
    ");
    let json = fixture.semel("token list --config tokens.yaml --json");
    assert_eq!(json.json()["tokens"][3]["expired"], true);
    assert!(!format!("{listed:?}{json:?}").contains("hunter2"));
    assert!(!format!("{listed:?}{json:?}").contains("everything"));
    let checked = fixture.semel("check --config tokens.yaml");
    assert!(checked.stdout.contains("token old expired "), "{checked:?}");
    assert!(
        checked
            .stdout
            .contains("token all has the role claims and no tenant"),
        "{checked:?}"
    );
    assert!(!format!("{checked:?}").contains("hunter2"));
}

#[test]
fn what_makes_no_token_is_refused() {
    let fixture = Fixture::empty();
    for (line, code, said) in [
        (
            "token new --name ci --role root",
            2,
            "expected one of claims, read, operate, admin",
        ),
        (
            "token new --name admin --role admin",
            2,
            "admin is the token of admin.token",
        ),
        (
            "token new --name a/b --role read",
            2,
            "letters, digits, dots",
        ),
        ("token new --name ci --role claims", 78, "1 to 32 scopes"),
        (
            "token new --name ci --role claims --scope pay*",
            2,
            "or * alone",
        ),
        (
            "token new --name ci --role read --tenant acme",
            2,
            "belong to the role claims",
        ),
        (
            "token new --name ci --role read --expires 2020-01-01",
            2,
            "a moment to come",
        ),
        (
            "token new --name ci --role read --expires soon",
            2,
            "such as 90d",
        ),
        (
            "token list",
            78,
            "there is no configuration file semel.yaml",
        ),
    ] {
        let refused = fixture.semel(line);
        assert_eq!(refused.code, code, "{line}: {refused:?}");
        assert!(refused.stderr.contains(said), "{line}: {refused:?}");
        assert_eq!(refused.stdout, "", "{line}");
    }
    for secret in ["", "two words", &"x".repeat(513)] {
        let refused = hash(&fixture, secret);
        assert_ne!(refused.code, 0, "{refused:?}");
        assert_eq!(refused.stdout, "");
    }
    let short = hash(&fixture, "tiny");
    assert!(short.stderr.contains("the token is short"), "{short:?}");
}
