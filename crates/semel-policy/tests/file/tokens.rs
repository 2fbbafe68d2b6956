//! The tokens of the admin side.

use insta::assert_snapshot;
use semel_policy::file::{Admin, Role};
use semel_policy::{explain, warnings};

use super::parse;

const HASH: &str = "blake3:6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";

fn error(tokens: &str) -> String {
    let text = format!("admin:\n  tokens: [{tokens}]\n").replace("HASH", HASH);
    parse(&text).expect_err(&text).to_string()
}

#[test]
fn a_token_has_a_name_a_role_and_for_claims_a_reach() {
    let text = format!(
        "admin:\n  token: hunter2hunter2hunter2\n  tokens:\n\
         \x20   - {{ name: ci, role: claims, hash: '{HASH}', tenant: acme, scopes: [payments, mail@2], expires: 2027-03-01 }}\n\
         \x20   - {{ name: scraper, role: read, token: 0123456789abcdef0123 }}\n"
    );
    let file = parse(&text).unwrap();
    let Admin::On { tokens, .. } = &file.admin else {
        panic!("it is served");
    };
    assert_eq!((tokens[0].role, tokens[1].role), (Role::Claims, Role::Read));
    assert_eq!(tokens[0].hash.as_ref().unwrap().expose(), HASH);
    assert_eq!(tokens[0].scopes.as_ref().unwrap().len(), 2);
    assert!(warnings(&file).is_empty(), "{:?}", warnings(&file));
    let shown = explain(&file);
    assert!(
        !shown.contains("0123456789abcdef") && !shown.contains("6437b3"),
        "{shown}"
    );
    assert!(!format!("{file:?}").contains("0123456789abcdef"));
    assert!(!format!("{file:?}").contains("6437b3"));
    assert_snapshot!(shown.split("\nno gateway").next().unwrap(), @r"
    records are kept in sqlite:semel.db
      they survive kills and power cuts, not the loss of the disk; processes of this machine share them
    the admin side listens on 127.0.0.1:7071, for callers with one of its 3 tokens
      admin may do everything
      ci may claim for acme in payments, mail@2, until 2027-03-01
      scraper may look at everything
    ");
}

#[test]
fn tokens_that_say_too_little_or_too_much_are_refused_by_their_line() {
    for (tokens, expected) in [
        (
            "{ name: a, role: read }",
            "[0]: expected hash or token, found neither",
        ),
        (
            "{ name: a, role: read, hash: HASH, token: hunter2 }",
            "[0].token: expected hash or token, found both",
        ),
        (
            "{ name: a, role: read, hash: hunter2 }",
            "[0].hash: expected blake3: and 64 hexadecimal digits, as semel token hash prints them; found another text",
        ),
        (
            "{ name: a, role: root, hash: HASH }",
            "[0].role: expected one of claims, read, operate, admin, found \"root\"",
        ),
        (
            "{ name: 'a b', role: read, hash: HASH }",
            "[0].name: expected a name of 1 to 64 letters, digits, dots, hyphens or underscores, found \"a b\"",
        ),
        (
            "{ name: admin, role: read, hash: HASH }",
            "[0].name: expected another name: admin is the token of admin.token",
        ),
        (
            "{ name: a, role: read, hash: HASH }, { name: a, role: read, token: other }",
            "[1].name: expected a name of its own, found a a second time",
        ),
        (
            "{ name: a, role: claims, hash: HASH, tenant: acme }",
            "[0]: expected scopes, because the role is claims; '*' is all of them",
        ),
        (
            "{ name: a, role: claims, hash: HASH, scopes: [] }",
            "[0].scopes: expected 1 to 32 scopes, found 0",
        ),
        (
            "{ name: a, role: claims, hash: HASH, scopes: 'pay*' }",
            "[0].scopes: expected the beginning of scopes such as payments, or *, found \"pay*\"",
        ),
        (
            "{ name: a, role: operate, hash: HASH, scopes: payments }",
            "[0].scopes: expected no scopes: the role operate is for all tenants and scopes",
        ),
        (
            "{ name: a, role: read, hash: HASH, tenant: acme }",
            "[0].tenant: expected no tenant: the role read is for all tenants and scopes",
        ),
        (
            "{ name: a, role: read, hash: HASH, expires: tomorrow }",
            "[0].expires: expected a date such as 2027-03-01, or a moment such as 2027-03-01T08:30:00Z, found \"tomorrow\"",
        ),
    ] {
        let found = error(tokens);
        assert!(found.starts_with("semel.yaml:2:"), "{found}");
        assert!(
            found.ends_with(&format!(": admin.tokens{expected}")),
            "{found}"
        );
        assert!(!found.contains("hunter2"), "{found}");
    }
}

#[test]
fn weak_and_wide_tokens_are_warned_about() {
    let text = format!(
        "admin:\n  token: short\n  tokens:\n\
         \x20   - {{ name: ci, role: claims, hash: '{HASH}', scopes: '*' }}\n\
         \x20   - {{ name: dash, role: read, token: tiny }}\n"
    );
    assert_snapshot!(warnings(&parse(&text).unwrap()).join("\n"), @r"
    admin.token has fewer than 16 characters and can be guessed: semel token new makes one of 256 random bits
    token ci has the role claims and no tenant: its holder can claim, settle and read for every tenant
    token dash has fewer than 16 characters and can be guessed: semel token new makes one of 256 random bits
    ");
    let wide = format!(
        "admin: {{ listen: '0.0.0.0:1', tokens: [{{ name: a, role: read, hash: '{HASH}' }}] }}"
    );
    assert!(warnings(&parse(&wide).unwrap()).is_empty());
}
