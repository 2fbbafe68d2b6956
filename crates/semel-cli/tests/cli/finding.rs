//! A key is found by the key alone; what is not found is looked for nearby; unknown records say what is known.

use std::time::Duration;

use insta::assert_snapshot;
use semel_core::{Evidence, Outcome, Retention};
use serde_json::{Value, json};

use crate::fixture::{Filler, Fixture, HOUR};

/// Four payments of two tenants; one key is there twice.
pub(crate) fn shop() -> Fixture {
    Fixture::filled_by(async |filler: &Filler| {
        let after = |seconds| Duration::from_secs(seconds);
        filler.ago(HOUR * 5);
        let late = Evidence::new(Some(504), None, after(60));
        filler
            .unknown("acme/payments@1/order-17", "POST /payments", Some(late))
            .await;
        let cut = Evidence::new(None, Some("connection reset by peer"), after(2));
        filler
            .unknown("globex/payments@1/order-18", "POST /payments", Some(cut))
            .await;
        filler.ago(HOUR * 2);
        filler
            .unknown("globex/refunds@2/order-18", "PATCH /refunds/18", None)
            .await;
        let done = filler.claim("payments@1", "acme", "Order-19", HOUR).await;
        let keep = Retention::delete_after(HOUR * 48).unwrap();
        filler.settle(done, Outcome::succeeded("ok"), keep).await;
    })
}

#[test]
fn a_key_is_found_whatever_its_scope_and_tenant() {
    let ran = shop().semel("keys show order-17");
    assert_snapshot!(ran.shown(), @r#"
    acme/payments@1/order-17
      state        unknown
      request      POST /payments
      because      504 from the upstream after 1m
      since        <time> (5h ago)
      claimed      <time> (5h ago)
      attempt      1
      fence        1
      fingerprint  0000000000000000000000000000000000000000000000000000000000000000

    history
      <time>  fence 1  became unknown: 504 from the upstream after 1m

    stderr:
    hint: unless its scope is set to rerun or to reconcile, it does not run again until it is decided
          it did not happen:      semel keys release order-17 --scope payments@1 --tenant acme
          it did happen:          semel keys resolve order-17 --scope payments@1 --tenant acme --succeeded

    exit: 0
    "#);
}

#[test]
fn unknown_records_are_listed_with_what_was_asked_and_what_is_known() {
    let store = shop();
    assert_snapshot!(store.semel("keys list --state unknown").shown(), @r#"
    STATE    TENANT  SCOPE       KEY       REQUEST            ATTEMPT  FENCE  CLAIMED  DETAIL
    unknown  globex  refunds@2   order-18  PATCH /refunds/18        1      3  2h ago   owner could not tell (2h ago)
    unknown  globex  payments@1  order-18  POST /payments           1      2  5h ago   connection reset by peer, after 2s (5h ago)
    unknown  acme    payments@1  order-17  POST /payments           1      1  5h ago   504 from the upstream after 1m (5h ago)

    exit: 0
    "#);
    let shown = store.semel("keys show order-17 --json").json();
    assert_eq!(shown["record"]["about"], "POST /payments");
    let evidence = &shown["record"]["unknown"]["evidence"];
    assert_eq!(
        (&evidence["status"], &evidence["after_ms"]),
        (&json!(504), &json!(60_000))
    );
}

#[test]
fn list_filters_by_key_method_and_settled() {
    let store = shop();
    for (filter, keys) in [
        ("--key order-18", json!(["order-18", "order-18"])),
        ("--key order-18 --scope refunds@2", json!(["order-18"])),
        ("--method patch", json!(["order-18"])),
        ("--method POST --tenant acme", json!(["order-17"])),
        ("--state settled", json!(["Order-19"])),
        ("--state settled --key order-17", json!([])),
    ] {
        let listed = store.semel(&format!("keys list --json {filter}")).json();
        let records = listed["records"].as_array().unwrap();
        let found: Value = records.iter().map(|record| record["key"].clone()).collect();
        assert_eq!(found, keys, "{filter}");
    }
    let paged = store.semel("keys list --key order-18 --limit 1");
    assert!(
        paged.stderr.contains("--key order-18 --limit 1 --before"),
        "{paged:?}"
    );
}

#[test]
fn several_records_of_a_key_are_listed_with_the_command_for_each() {
    let store = shop();
    let ran = store.semel("keys show order-18");
    assert_snapshot!(ran.shown(), @r#"
    STATE    TENANT  SCOPE       KEY       REQUEST            CLAIMED
    unknown  globex  refunds@2   order-18  PATCH /refunds/18  2h ago
    unknown  globex  payments@1  order-18  POST /payments     5h ago

    stderr:
    error: 2 records have the key order-18
    hint: say which one:
          semel keys show order-18 --scope refunds@2 --tenant globex
          semel keys show order-18 --scope payments@1 --tenant globex

    exit: 4
    "#);
    let command = ran.stderr.lines().nth(2).unwrap();
    let (_, command) = command.split_once("semel ").unwrap();
    assert_eq!(store.semel(command).code, 0);
    assert_eq!(store.semel("keys show order-18 --scope refunds@2").code, 0);
    let json = store.semel("keys show order-18 --json");
    let matches: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (json.code, matches["matches"].as_array().unwrap().len()),
        (4, 2)
    );
}

#[test]
fn a_verb_that_changes_asks_which_record_is_meant() {
    let store = shop();
    let before = store.contents();
    assert_snapshot!(store.semel("keys release order-18").shown(), @r#"
    stderr:
    error: 2 records have the key order-18; nothing was changed
    hint: say which one is meant:
          --scope refunds@2 --tenant globex   # unknown, PATCH /refunds/18, claimed 2h ago
          --scope payments@1 --tenant globex   # unknown, POST /payments, claimed 5h ago

    exit: 4
    "#);
    assert_eq!(store.contents(), before);
    assert_eq!(store.semel("keys release order-17").code, 0);
    assert_eq!(store.semel("keys purge Order-19 --yes").code, 0);
}

#[test]
fn a_key_that_is_not_there_names_those_that_are_near() {
    let store = shop();
    assert_snapshot!(store.semel("keys show order-19").shown(), @r#"
    stderr:
    error: there is no record with the key order-19
    hint: did you mean
            semel keys show Order-19 --scope payments@1 --tenant acme   # succeeded, claimed 2h ago
            semel keys show order-18 --scope refunds@2 --tenant globex   # unknown, PATCH /refunds/18, claimed 2h ago
            semel keys show order-18 --scope payments@1 --tenant globex   # unknown, POST /payments, claimed 5h ago
            semel keys show order-17 --scope payments@1 --tenant acme   # unknown, POST /payments, claimed 5h ago

    exit: 3
    "#);
    let elsewhere = store.semel("keys show order-17 --scope refunds@2 --tenant acme");
    assert_eq!(elsewhere.code, 3);
    let hint = "semel keys show order-17 --scope payments@1 --tenant acme";
    assert!(elsewhere.stderr.contains(hint), "{elsewhere:?}");
    let pasted = store.semel("keys show acme/payments@1/order-17");
    assert!(pasted.stderr.contains(hint), "{pasted:?}");
    let json = store.semel("keys show ordr-17 --json");
    let none: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(
        (&none["matches"], &none["near"][0]["key"]),
        (&json!([]), &json!("order-17"))
    );
    let nothing = store.semel("keys show invoice-2026-11");
    assert!(
        nothing
            .stderr
            .contains("see what there is: semel keys list"),
        "{nothing:?}"
    );
}

#[test]
fn an_absent_record_is_found_by_its_history() {
    let store = shop();
    store.semel("keys release order-17 --reason INC-7");
    assert_snapshot!(store.semel("keys show order-17").shown(), @r#"
    acme/payments@1/order-17
      state  absent: the next request runs

    history
      <time>  fence 1  became unknown: 504 from the upstream after 1m
      <time>  fence 1  resolved by cli:alice (INC-7): it did not happen

    stderr:
    error: there is no record with the key order-17
    hint: it is absent now and has a history:
            semel keys show order-17 --scope payments@1 --tenant acme

    exit: 3
    "#);
}

#[test]
fn an_archived_record_is_named() {
    let store = Fixture::filled();
    store.semel("keys purge --expired");
    let ran = store.semel("keys show archived-1");
    let hint =
        "1 record of this key in the archive: semel keys list --state archived --key archived-1";
    assert!(ran.code == 3 && ran.stderr.contains(hint), "{ran:?}");
    let (_, list) = ran.stderr.split_once("archive: semel ").unwrap();
    assert!(store.semel(list).stdout.contains("archived-1"));
}
