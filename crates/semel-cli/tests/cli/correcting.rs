//! What an operator puts on record: clients' view of it is said first, and it can be corrected.

use insta::assert_snapshot;
use serde_json::json;

use crate::finding::shop;

#[test]
fn an_outcome_without_status_and_body_needs_a_yes() {
    let store = shop();
    let before = store.contents();
    assert_snapshot!(store.semel("keys resolve order-17 --succeeded").shown(), @r#"
    stderr:
    error: without --status and --body duplicates get 200 with an empty body; that needs a yes, and there is no terminal to ask on; nothing was changed
    hint: say what clients get with --status and --body, or add --yes

    exit: 1
    "#);
    let failed = store.semel("keys resolve order-17 --failed");
    assert!(
        failed
            .stderr
            .contains("duplicates get 500 with an empty body"),
        "{failed:?}"
    );
    assert_eq!(store.contents(), before);
    assert_snapshot!(store.semel("keys resolve order-17 --succeeded --yes").shown(), @r#"
    stderr:
    resolved acme/payments@1/order-17 as succeeded: duplicates get 200 with an empty body, for 1d

    exit: 0
    "#);
}

#[test]
fn an_operators_outcome_is_corrected_until_its_retention_ends() {
    let store = shop();
    store.semel("keys resolve order-17 --failed --status 402 --retention 7d --reason mistake");
    let refused = store.semel("keys resolve order-17 --succeeded --status 201");
    assert_snapshot!(refused.shown(), @r#"
    stderr:
    error: acme/payments@1/order-17 failed just now with status 402; only an unknown record can be resolved
    hint: a decision put its outcome on record; duplicates get it until <time>
          it has another outcome:  semel keys resolve order-17 --scope payments@1 --tenant acme --correct --succeeded --status 200 --body …
          to forget it:            semel keys purge order-17 --scope payments@1 --tenant acme

    exit: 1
    "#);
    let before = store.semel("keys show order-17 --json").json();
    let line =
        "keys resolve order-17 --correct --succeeded --status 201 --body paid --reason INC-9";
    assert_snapshot!(store.semel(line).shown(), @r#"
    stderr:
    corrected acme/payments@1/order-17 as succeeded: duplicates get 201 with a body of 4 B, until <time>
    gateways that run may replay the earlier outcome from memory for up to 5s more

    exit: 0
    "#);
    let shown = store.semel("keys show order-17 --json --body").json();
    assert_eq!(shown["outcome"]["body"]["text"], "paid");
    let kept = |shown: &serde_json::Value| shown["record"]["settled"]["expires_at"].clone();
    assert_eq!(kept(&shown), kept(&before));
    let corrected = &shown["history"][2];
    assert_eq!(
        (&corrected["how"], &corrected["reason"]),
        (&json!("corrected"), &json!("INC-9"))
    );
    let audit = store.semel("audit --json").json();
    assert_eq!(audit["audit"][0]["action"], "correct");
}

#[test]
fn only_what_a_person_decided_is_corrected() {
    let store = shop();
    let run = store.semel("keys resolve Order-19 --correct --failed --status 402");
    assert_snapshot!(run.shown(), @r#"
    stderr:
    error: acme/payments@1/Order-19 succeeded 2h ago; the run itself put that on record, and only what a person decided can be corrected
    hint: to forget it: semel keys purge Order-19 --scope payments@1 --tenant acme

    exit: 1
    "#);
    let unknown = store.semel("keys resolve order-17 --correct --failed --status 402");
    assert!(
        unknown.stderr.contains("leave out --correct"),
        "{unknown:?}"
    );
    assert_eq!(
        store
            .semel("keys resolve order-17 --correct --failed --status 402 --retention 1h")
            .code,
        2
    );
}
