//! Decisions about many records: looked at first, with a reason, in the audit.

use insta::assert_snapshot;
use serde_json::json;

use crate::finding::shop;
use crate::fixture::Fixture;

#[test]
fn many_are_released_only_after_a_look_with_a_reason_and_a_yes() {
    let store = shop();
    let before = store.contents();
    let dry = store.semel("keys release --all --method POST");
    assert_snapshot!(dry.shown(), @r#"
    STATE    TENANT  SCOPE       KEY       REQUEST         ATTEMPT  FENCE  CLAIMED  DETAIL
    unknown  globex  payments@1  order-18  POST /payments        1      2  5h ago   connection reset by peer, after 2s (5h ago)
    unknown  acme    payments@1  order-17  POST /payments        1      1  5h ago   504 from the upstream after 1m (5h ago)

    stderr:
    dry run, nothing was changed: this would release 2 unknown records; the next requests with these keys would run
    hint: to do it: semel keys release --all --method POST --older-than <time> --reason WHY --yes
          what becomes unknown after that moment is left alone

    exit: 0
    "#);
    assert_eq!(store.contents(), before);
    let unreasoned = store.semel("keys release --all --method POST --yes");
    assert_snapshot!(unreasoned.shown(), @r#"
    stderr:
    error: a decision about many records needs a reason, for the audit
    hint: add --reason WHY

    exit: 2
    "#);
    assert_eq!(store.contents(), before);

    let (_, command) = dry.stderr.split_once("semel ").unwrap();
    let command = command.lines().next().unwrap().replace("WHY", "INC-7");
    assert_snapshot!(store.semel(&command).shown(), @r#"
    released    2
    left alone  0

    exit: 0
    "#);
    let left = store.semel("keys list --state unknown --json").json();
    let left = left["records"].as_array().unwrap();
    assert_eq!((left.len(), &left[0]["scope"]), (1, &json!("refunds@2")));
    assert_snapshot!(store.semel("audit").shown(), @r#"
    WHEN      BY         VERB          SCOPE       CHANGED  WHICH                                 REASON
    just now  cli:alice  keys release  payments@1        1  key order-17; tenant acme; fence 1    INC-7
    just now  cli:alice  keys release  payments@1        1  key order-18; tenant globex; fence 2  INC-7

    exit: 0
    "#);
}

#[test]
fn filters_select_and_the_rest_is_left_alone() {
    for (filter, matched) in [
        ("", 3),
        ("--state unknown", 3),
        ("--tenant globex", 2),
        ("--tenant globex --scope refunds@2", 1),
        ("--key order-18", 2),
        ("--older-than 4h", 2),
        ("--older-than 1d", 0),
        ("--method patch", 1),
    ] {
        let store = shop();
        let line = format!("keys release --all {filter} --json");
        let dry = store.semel(&format!("{line} --dry-run")).json();
        assert_eq!(
            (&dry["matched"], &dry["changed"]),
            (&json!(matched), &json!(0)),
            "{filter}"
        );
        let done = store.semel(&format!("{line} --reason x --yes")).json();
        assert_eq!(
            (&done["changed"], &done["dry_run"]),
            (&json!(matched), &json!(false)),
            "{filter}"
        );
        let left = store.semel("keys list --state unknown --json").json();
        assert_eq!(
            left["records"].as_array().unwrap().len(),
            3 - matched,
            "{filter}"
        );
    }
}

#[test]
fn many_get_the_same_outcome() {
    let store = shop();
    let line =
        "keys resolve --all --tenant globex --succeeded --status 201 --body {} --retention 7d";
    let dry = store.semel(line);
    assert!(
        dry.stderr.contains("this would resolve 2 unknown records; duplicates would get 201 with a body of 2 B, for 7d"),
        "{dry:?}"
    );
    let (_, command) = dry.stderr.split_once("semel ").unwrap();
    let command = command.lines().next().unwrap();
    let command = command.replace("WHY", "INC-8").replace("'{}'", "{}");
    assert_snapshot!(store.semel(&command).shown(), @r#"
    resolved    2
    left alone  0

    exit: 0
    "#);
    let shown = store
        .semel("keys show order-18 --scope payments --json --body")
        .json();
    assert_eq!(shown["outcome"]["status"], 201);
    assert_eq!(shown["outcome"]["body"]["text"], "{}");
    assert_eq!(shown["record"]["settled"]["resolved"], true);
    assert_eq!(shown["history"][1]["reason"], "INC-8");
    let nothing = store.semel(&command);
    assert_eq!(nothing.stderr, "no unknown record matches\n");
}

#[test]
fn a_filter_without_all_is_not_a_decision_about_many() {
    let store = shop();
    for line in [
        "keys release",
        "keys release --method POST",
        "keys release order-17 --older-than 1h",
        "keys release order-17 --all",
        "keys resolve --all --late",
        "keys resolve --all --correct --succeeded",
        "keys release --all --state running",
    ] {
        assert_eq!(store.semel(line).code, 2, "{line}");
    }
}

#[test]
fn the_audit_says_that_it_is_empty_only_if_it_is() {
    let store = shop();
    let none = store.semel("audit");
    assert!(none.stderr.contains("the audit has no lines"), "{none:?}");
    store.semel("keys resolve order-17 --succeeded --yes");
    store.semel("keys purge Order-19 --yes --reason tests --by bob");
    assert_snapshot!(store.semel("audit").shown(), @r#"
    WHEN      BY         VERB          SCOPE       CHANGED  WHICH                                             REASON
    just now  cli:bob    keys purge    payments@1        1  key Order-19; tenant acme; fence 4                tests
    just now  cli:alice  keys resolve  payments@1        1  key order-17; tenant acme; fence 1; as succeeded  -

    exit: 0
    "#);
    let lines = store.semel("audit --json").json();
    assert_eq!(lines["audit"][0]["verb"], "keys purge");
    assert_eq!(lines["audit"][1]["reason"], json!(null));
}

#[test]
fn an_empty_store_has_nothing_to_decide() {
    let store = Fixture::filled_by(async |_| {});
    let ran = store.semel("keys release --all --yes --reason x");
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (0, "no unknown record matches\n")
    );
}
