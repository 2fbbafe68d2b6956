//! `semel keys erase`: contents go, records stay.

use insta::assert_snapshot;
use serde_json::json;

use crate::fixture::Fixture;

#[test]
fn erase_takes_the_contents_of_a_record_and_leaves_the_record() {
    let store = Fixture::filled();
    let before = store.semel("keys show refund-7 --json --body");
    assert!(before.stdout.contains("SECRET"));
    let ran = store.semel("keys erase refund-7 --yes --by bob --reason asked");
    assert_snapshot!(ran.shown(), @"");
    let shown = store.semel("keys show refund-7 --json --body");
    assert!(!shown.stdout.contains("SECRET"), "{}", shown.stdout);
    let shown = shown.json();
    assert_eq!(shown["record"]["settled"]["erased"], true);
    assert_eq!(shown["outcome"]["status"], 201);
    assert_eq!(shown["outcome"]["headers"], json!([]));
    assert_eq!(shown["history"][0]["event"], "contents-erased");
    assert_eq!(shown["history"][0]["by"], "bob");
    let audit = store.semel("audit --json").json();
    assert_eq!(audit["audit"][0]["verb"], "keys erase");
    assert_snapshot!(store.semel("keys show refund-7").shown(), @"");
}

#[test]
fn erase_asks_and_refuses_what_is_not_settled() {
    let store = Fixture::filled();
    assert_snapshot!(store.semel("keys erase refund-7").shown(), @"");
    assert_snapshot!(store.semel("keys erase order-3 --scope payments --yes").shown(), @"");
    let shown = store.semel("keys show refund-7 --body");
    assert!(shown.stdout.contains("SECRET"));
}

#[test]
fn erase_finds_what_only_the_archive_has() {
    let store = Fixture::filled();
    assert_eq!(store.semel("keys purge --expired").code, 0);
    let ran = store.semel("keys erase archived-1 --yes --by bob");
    assert_snapshot!(ran.shown(), @"");
    let listed = store.semel("keys list --state archived --json").json();
    assert_eq!(listed["records"][0]["settled"]["erased"], true);
}

#[test]
fn erase_of_a_tenant_shows_first_and_needs_a_reason() {
    let store = Fixture::filled();
    assert_eq!(store.semel("keys purge --expired").code, 0);
    assert_snapshot!(store.semel("keys erase --all --tenant public").shown(), @"");
    assert_snapshot!(store.semel("keys erase --all --tenant public --yes").shown(), @"");
    let ran = store.semel("keys erase --all --tenant public --yes --by bob --reason asked");
    assert_snapshot!(ran.shown(), @"");
    assert_snapshot!(store.semel("keys erase --all --tenant public").shown(), @"");
    let shown = store.semel("keys show refund-7 --body");
    assert!(shown.stdout.contains("SECRET"), "another tenant's");
}
