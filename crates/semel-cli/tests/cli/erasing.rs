//! `semel keys erase`: contents go, records stay.

use std::time::Duration;

use insta::assert_snapshot;
use semel_core::{Outcome, Retention};
use serde_json::json;

use crate::fixture::{Fixture, HOUR};

#[test]
fn erase_takes_the_contents_of_a_record_and_leaves_the_record() {
    let store = Fixture::filled();
    let before = store.semel("keys show refund-7 --json --body");
    assert!(before.stdout.contains("SECRET"));
    let ran = store.semel("keys erase refund-7 --yes --by bob --reason asked");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    erased the contents of acme/refunds@2/refund-7, fence 3
    duplicates get the status without a body
    gateways that run may replay the earlier outcome from memory for up to 5s more

    exit: 0
    "#);
    let shown = store.semel("keys show refund-7 --json --body");
    assert!(!shown.stdout.contains("SECRET"), "{}", shown.stdout);
    let shown = shown.json();
    assert_eq!(shown["record"]["settled"]["erased"], true);
    assert_eq!(shown["outcome"]["status"], 201);
    assert_eq!(shown["outcome"]["headers"], json!([]));
    assert_eq!(shown["history"][0]["event"], "contents-erased");
    assert_eq!(shown["history"][0]["by"], "cli:bob");
    let audit = store.semel("audit --json").json();
    assert_eq!(audit["audit"][0]["verb"], "keys erase");
    assert_snapshot!(store.semel("keys show refund-7").shown(), @r#"
    acme/refunds@2/refund-7
      state        succeeded
      settled      <time> (3d ago)
      kept until   <time> (in 26d 23h), then deleted
      erased       on request: headers, the body, and what was asked; duplicates get the status
      took         120ms
      claimed      <time> (3d ago)
      attempt      1
      fence        3
      fingerprint  d0bca6dcab50ac68dcf37b840f9029e2feb9d2e87ef674e0f713a766f30d6411

    outcome
      verdict  succeeded
      status   201
      body     25 B (not kept)
      blake3   a01e246758531e2d9069ac1a976dcfe000bff6da11b1cebe8c242a618c69737e

    history
      <time>  fence 3  contents erased by cli:bob (asked)

    exit: 0
    "#);
}

#[test]
fn erase_asks_and_refuses_what_is_not_settled() {
    let store = Fixture::filled();
    assert_snapshot!(store.semel("keys erase refund-7").shown(), @r#"
    stderr:
    error: erasing contents needs a yes, and there is no terminal to ask on; nothing was changed
    hint: add --yes if you are sure

    exit: 1
    "#);
    assert_snapshot!(store.semel("keys erase order-3 --scope payments --yes").shown(), @r#"
    stderr:
    error: public/payments@1/order-3 has been unknown for 5h: the run could not tell whether it took effect; contents are erased of settled records only
    hint: wait until it is settled, or decide what came of it first

    exit: 1
    "#);
    let shown = store.semel("keys show refund-7 --body");
    assert!(shown.stdout.contains("SECRET"));
}

#[test]
fn erase_finds_what_only_the_archive_has() {
    let store = Fixture::filled();
    assert_eq!(store.semel("keys purge --expired").code, 0);
    let ran = store.semel("keys erase archived-1 --yes --by bob");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    erased the contents of public/payments@1/archived-1, fence 2

    exit: 0
    "#);
    let listed = store.semel("keys list --state archived --json").json();
    assert_eq!(listed["records"][0]["settled"]["erased"], true);
}

/// Archived records of one key: of the tenant acme in two scopes, the first of them many times, and of the tenant globex.
fn archived(times: u32) -> Fixture {
    const STEP: Duration = Duration::from_secs(600);
    let archive = Retention::archive_after(STEP / 2).unwrap();
    let store = Fixture::filled_by(async |filler| {
        for left in (1..=times).rev() {
            filler.ago(HOUR + STEP * left);
            let claim = filler.claim("payments@1", "acme", "k", HOUR).await;
            filler
                .settle(claim, Outcome::succeeded("SECRET"), archive)
                .await;
        }
        filler.ago(HOUR);
        for (scope, tenant) in [("refunds@1", "acme"), ("payments@1", "globex")] {
            let claim = filler.claim(scope, tenant, "k", HOUR).await;
            filler
                .settle(claim, Outcome::succeeded("SECRET"), archive)
                .await;
        }
    });
    assert_eq!(store.semel("keys purge --expired").code, 0);
    store
}

fn erased(store: &Fixture, place: &str) -> Vec<bool> {
    let line = format!("keys list --state archived --key k --limit 1000 --json {place}");
    let listed = store.semel(&line).json();
    let records = listed["records"].as_array().unwrap().iter();
    records
        .map(|record| record["settled"]["erased"] == true)
        .collect()
}

#[test]
fn erase_refuses_a_key_that_several_operations_have_in_the_archive() {
    let store = archived(1);
    assert_snapshot!(store.semel("keys erase k --yes --by bob").shown(), @r#"
    stderr:
    error: 3 records have the key k; nothing was changed
    hint: say which one is meant:
          --scope payments@1 --tenant globex   # succeeded, claimed 1h ago
          --scope refunds@1 --tenant acme   # succeeded, claimed 1h ago
          --scope payments@1 --tenant acme   # succeeded, claimed 1h 10m ago

    exit: 4
    "#);
    let refused = store.semel("keys erase k --tenant acme --yes --by bob");
    assert_eq!(refused.code, 4, "{}", refused.stderr);
    assert_eq!(erased(&store, ""), [false; 3]);
    let ran = store.semel("keys erase k --tenant acme --scope payments --yes --by bob");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(erased(&store, "--tenant acme --scope payments"), [true]);
    assert_eq!(erased(&store, "--scope refunds"), [false]);
    assert_eq!(erased(&store, "--tenant globex"), [false]);
}

#[test]
fn erase_of_a_key_goes_to_the_end_of_the_archive() {
    let store = archived(101);
    let ran = store.semel("keys erase k --tenant acme --scope payments --yes --by bob");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        erased(&store, "--tenant acme --scope payments"),
        [true; 101]
    );
}

#[test]
fn erase_of_a_tenant_shows_first_and_needs_a_reason() {
    let store = Fixture::filled();
    assert_eq!(store.semel("keys purge --expired").code, 0);
    assert_snapshot!(store.semel("keys erase --all --tenant public").shown(), @r#"
    STATE      TENANT  SCOPE       KEY         ATTEMPT  FENCE  CLAIMED  DETAIL          STATUS  BODY
    failed     public  payments@1  order-1           1      4  3d ago   settled 3d ago     402  24 B
    succeeded  public  payments@1  archived-1        1      2  3d ago   expired 2d ago       -   3 B

    stderr:
    dry run, nothing was changed: this would erase headers, body and request of 2 records for good; duplicates would get the status
    hint: to do it: semel keys erase --all --tenant public --older-than <time> --reason WHY --yes
          what is settled after that moment is left alone
    3 records are running or unknown, and keep what they hold
    hint: semel keys list --state unknown --tenant public and --state running show them: decide what is unknown, wait for what runs, and erase again

    exit: 0
    "#);
    assert_snapshot!(store.semel("keys erase --all --tenant public --yes").shown(), @r#"
    stderr:
    error: erasing the contents of many records needs a reason, for the audit
    hint: add --reason WHY

    exit: 2
    "#);
    let ran = store.semel("keys erase --all --tenant public --yes --by bob --reason asked");
    assert_snapshot!(ran.shown(), @r#"
    erased      2
    left alone  0

    stderr:
    3 records are running or unknown, and keep what they hold
    hint: semel keys list --state unknown --tenant public and --state running show them: decide what is unknown, wait for what runs, and erase again
    hint: what is past its retention and not swept yet is not among these: semel keys purge --expired sweeps it

    exit: 0
    "#);
    assert_snapshot!(store.semel("keys erase --all --tenant public").shown(), @r#"
    stderr:
    no settled or archived record with contents matches
    3 records are running or unknown, and keep what they hold
    hint: semel keys list --state unknown --tenant public and --state running show them: decide what is unknown, wait for what runs, and erase again

    exit: 0
    "#);
    let shown = store.semel("keys show refund-7 --body");
    assert!(shown.stdout.contains("SECRET"), "another tenant's");
}
