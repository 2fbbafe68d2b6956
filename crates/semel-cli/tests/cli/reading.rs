//! Verbs that look: list, show, stats, check.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Ran};

#[test]
fn list_shows_every_state_the_newest_claim_first() {
    let ran = Fixture::filled().semel("keys list");
    assert_snapshot!(ran.shown(), @r#"
    STATE      TENANT  SCOPE       KEY       ATTEMPT  FENCE  CLAIMED  DETAIL                         STATUS  BODY
    running    public  payments@1  order 5         1      8  2h ago   lease ends in 12h                   -     -
    unknown    public  payments@1  order-4         1      7  5h ago   lease ended 4h 59m ago              -     -
    unknown    public  payments@1  order-3         1      6  5h ago   owner could not tell (5h ago)       -     -
    unknown    acme    payments@1  order-2         1      5  2d ago   lease ended 1d 23h ago              -     -
    failed     public  payments@1  order-1         1      4  3d ago   settled 3d ago                    402  24 B
    succeeded  acme    refunds@2   refund-7        1      3  3d ago   settled 3d ago                    201  25 B

    exit: 0
    "#);
}

#[test]
fn list_tells_the_command_for_the_next_page_and_it_works() {
    let store = Fixture::filled();
    let ran = store.semel("keys list --state unknown --limit 2");
    assert_snapshot!(ran.shown(), @r#"
    STATE    TENANT  SCOPE       KEY      ATTEMPT  FENCE  CLAIMED  DETAIL
    unknown  public  payments@1  order-4        1      7  5h ago   lease ended 4h 59m ago
    unknown  public  payments@1  order-3        1      6  5h ago   owner could not tell (5h ago)

    stderr:
    hint: there are more: semel keys list --state unknown --limit 2 --before 6

    exit: 0
    "#);
    let (_, next) = ran.stderr.split_once("semel ").unwrap();
    assert_snapshot!(store.semel(next).shown(), @r#"
    STATE    TENANT  SCOPE       KEY      ATTEMPT  FENCE  CLAIMED  DETAIL
    unknown  acme    payments@1  order-2        1      5  2d ago   lease ended 1d 23h ago

    exit: 0
    "#);
}

#[test]
fn list_filters_by_state_tenant_and_scope() {
    let store = Fixture::filled();
    for (filter, keys) in [
        ("--state running", json!(["order 5"])),
        ("--state unknown", json!(["order-4", "order-3", "order-2"])),
        ("--state succeeded", json!(["refund-7"])),
        ("--state failed", json!(["order-1"])),
        ("--state archived", json!([])),
        ("--tenant acme", json!(["order-2", "refund-7"])),
        ("--scope refunds@2", json!(["refund-7"])),
        ("--scope refunds", json!([])),
        ("--scope payments --tenant acme", json!(["order-2"])),
        ("--before 5", json!(["order-1", "refund-7"])),
    ] {
        let listed = store.semel(&format!("keys list --json {filter}")).json();
        let records = listed["records"].as_array().unwrap();
        let found: Value = records.iter().map(|record| record["key"].clone()).collect();
        assert_eq!((found, &listed["next"]), (keys, &Value::Null), "{filter}");
    }
}

#[test]
fn list_says_on_stderr_that_there_is_nothing() {
    let store = Fixture::filled();
    assert_snapshot!(store.semel("keys list --tenant nobody").shown(), @r#"
    stderr:
    no record matches in sqlite:semel.db

    exit: 0
    "#);
}

#[test]
fn list_as_json_has_a_part_for_each_state() {
    let listed = Fixture::filled().semel("keys list --limit 2 --json").json();
    assert_eq!(listed["next"], "7");
    let [running, unknown] = [&listed["records"][0], &listed["records"][1]];
    assert_eq!(running["state"], "running");
    assert!(running["lease"]["left_ms"].as_u64().unwrap() > 11 * 3_600_000);
    assert_eq!(
        (&running["unknown"], &running["settled"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(unknown["state"], "unknown");
    assert_eq!(unknown["unknown"]["cause"], "lease-ended");
    assert_eq!(unknown["lease"], Value::Null);
    for name in [
        "tenant",
        "scope",
        "key",
        "attempt",
        "fence",
        "fingerprint",
        "claimed_at",
        "age_ms",
    ] {
        assert!(!running[name].is_null(), "{name}");
    }
}

#[test]
fn show_explains_a_running_record() {
    let ran = Fixture::filled().run(&["keys", "show", "order 5", "--scope", "payments"]);
    assert_snapshot!(ran.shown(), @r#"
    public/payments@1/order 5
      state        running
      lease until  <time> (in 12h)
      claimed      <time> (2h ago)
      attempt      1
      fence        8
      fingerprint  8bf230c732ddba260fe0e50368074a21c4716d450081246b48eb635141c939ad

    exit: 0
    "#);
}

#[test]
fn show_explains_an_unknown_record_and_what_to_do() {
    let ran = Fixture::filled().semel("keys show order-2 --scope payments --tenant acme");
    assert_snapshot!(ran.shown(), @r#"
    acme/payments@1/order-2
      state        unknown
      because      the lease ended without an outcome
      since        <time> (1d 23h ago)
      claimed      <time> (2d ago)
      attempt      1
      fence        5
      fingerprint  5c817655b39a1328ca64583600bf0fe23266fb406119a93039d2bf2c98231863

    history
      <time>  fence 5  became unknown: the lease ended without an outcome
      <time>  fence 5  late outcome, kept and never served: succeeded, status 201, 25 B

    stderr:
    hint: unless its scope is set to rerun or to reconcile, it does not run again until it is decided
          it did not happen:      semel keys release order-2 --scope payments@1 --tenant acme
          it did happen:          semel keys resolve order-2 --scope payments@1 --tenant acme --succeeded
          take the late outcome:  semel keys resolve order-2 --scope payments@1 --tenant acme --late

    exit: 0
    "#);
}

#[test]
fn show_explains_a_settled_record_and_hides_its_payload() {
    let ran = Fixture::filled().semel("keys show refund-7 --scope refunds@2 --tenant acme");
    assert_snapshot!(ran.shown(), @r#"
    acme/refunds@2/refund-7
      state        succeeded
      settled      <time> (3d ago)
      kept until   <time> (in 26d 23h), then deleted
      took         120ms
      claimed      <time> (3d ago)
      attempt      1
      fence        3
      fingerprint  d0bca6dcab50ac68dcf37b840f9029e2feb9d2e87ef674e0f713a766f30d6411

    outcome
      verdict  succeeded
      status   201
      headers  Content-Type, Set-Cookie
      body     25 B
      blake3   a01e246758531e2d9069ac1a976dcfe000bff6da11b1cebe8c242a618c69737e

    exit: 0
    "#);
}

#[test]
fn show_prints_payloads_when_asked() {
    let ran = Fixture::filled().semel("keys show refund-7 --scope refunds@2 --tenant acme --body");
    let (_, outcome) = ran.stdout.split_once("outcome\n").unwrap();
    assert_snapshot!(outcome, @r#"
    verdict  succeeded
    status   201
    body     25 B
    blake3   a01e246758531e2d9069ac1a976dcfe000bff6da11b1cebe8c242a618c69737e

    Content-Type: application/json
    Set-Cookie: session=SECRET

    {"id":42,"iban":"SECRET"}
    "#);
    let late = Fixture::filled().semel("keys show order-2 --scope payments --tenant acme --body");
    let (_, late) = late.stdout.split_once("late outcome of").unwrap();
    assert_snapshot!(late, @r#"
    fence 5: succeeded, status 201, 25 B

     Content-Type: application/json
     Set-Cookie: session=SECRET

     {"id":42,"iban":"SECRET"}
    "#);
}

#[test]
fn nothing_private_is_printed_unless_asked() {
    let store = Fixture::filled();
    for (line, secrets) in [
        ("keys list", 0),
        ("keys list --json", 0),
        ("keys show refund-7 --scope refunds@2 --tenant acme", 0),
        (
            "keys show refund-7 --scope refunds@2 --tenant acme --json",
            0,
        ),
        (
            "keys show refund-7 --scope refunds@2 --tenant acme --json --body",
            2,
        ),
        ("keys show order-2 --scope payments --tenant acme", 0),
        ("keys show order-2 --scope payments --tenant acme --json", 0),
        (
            "keys show order-2 --scope payments --tenant acme --json --body",
            2,
        ),
    ] {
        let ran = store.semel(line);
        let printed = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(printed.matches("SECRET").count(), secrets, "{line}");
    }
}

#[test]
fn show_as_json_has_record_outcome_and_history() {
    let store = Fixture::filled();
    let shown = store
        .semel("keys show refund-7 --scope refunds@2 --tenant acme --json --body")
        .json();
    assert_eq!(shown["record"]["state"], "succeeded");
    assert_eq!(shown["record"]["settled"]["took_ms"], 120);
    assert_eq!(shown["outcome"]["verdict"], "succeeded");
    assert_eq!(shown["outcome"]["status"], 201);
    let cookie = json!({"name": "Set-Cookie", "value": "session=SECRET"});
    assert_eq!(shown["outcome"]["headers"][1], cookie);
    assert_eq!(shown["outcome"]["body"]["bytes"], 25);
    assert_eq!(
        shown["outcome"]["body"]["text"],
        r#"{"id":42,"iban":"SECRET"}"#
    );
    assert_eq!(shown["history"], json!([]));

    let shown = store
        .semel("keys show order-2 --scope payments --tenant acme --json")
        .json();
    assert_eq!(shown["outcome"], Value::Null);
    let [unknown, late] = [&shown["history"][0], &shown["history"][1]];
    assert_eq!(
        (&unknown["event"], &unknown["cause"]),
        (&json!("became-unknown"), &json!("lease-ended"))
    );
    assert_eq!(
        (&late["event"], &late["outcome"]["status"]),
        (&json!("late-outcome"), &json!(201))
    );
    assert_eq!(late["outcome"]["body"].get("text"), None);
}

#[test]
fn show_of_an_absent_record_still_tells_its_history() {
    let store = Fixture::filled();
    assert_eq!(store.semel("keys release order-3 --scope payments").code, 0);
    assert_snapshot!(store.semel("keys show order-3 --scope payments").shown(), @r#"
    public/payments@1/order-3
      state  absent: the next request runs

    history
      <time>  fence 6  became unknown: the run could not tell whether it took effect
      <time>  fence 6  resolved by cli:alice: it did not happen

    stderr:
    error: there is no record with the key order-3 in the scope payments@1
    hint: it is absent now and has a history:
            semel keys show order-3 --scope payments@1 --tenant public

    exit: 3
    "#);
}

#[test]
fn stats_counts_and_points_at_what_waits() {
    let ran = Fixture::filled().semel("stats");
    assert_snapshot!(ran.shown(), @r#"
    running                1   the oldest claimed 2h ago
    unknown                3   the oldest since <time> (1d 23h ago)
    settled                4
    archived               0
    late outcomes          1
    on disk        <size>

    stderr:
    hint: 3 operations wait for a decision: semel keys list --state unknown

    exit: 0
    "#);
}

#[test]
fn stats_as_json_has_numbers() {
    let stats = Fixture::filled().semel("stats --json").json();
    let expected = json!([1, 3, 4, 0, 1]);
    let names = ["running", "unknown", "settled", "archived", "late_outcomes"];
    assert_eq!(
        names
            .iter()
            .map(|name| stats[name].clone())
            .collect::<Value>(),
        expected
    );
    let hours = |name: &str| stats[name]["age_ms"].as_u64().unwrap() / 3_600_000;
    assert_eq!((hours("oldest_running"), hours("oldest_unknown")), (2, 47));
    assert!(stats["bytes"].as_u64().unwrap() > 0);
}

#[test]
fn check_lists_what_it_found() {
    let ran = Fixture::filled().semel("check");
    assert_snapshot!(ran.shown(), @r#"
    ✓ sqlite  version <version>
    ✓ url     sqlite:semel.db
    ✓ file    semel.db, <size>, can be written
    ✓ open    the schema is one that this semel knows
    ✓ read    1 running, 3 unknown, 4 settled
    ✓ write   the write lock was taken and given back
    ✓ clock   <time>

    exit: 0
    "#);
    let checked = Fixture::filled().semel("check --json").json();
    assert_eq!(checked["ok"], true);
    assert_eq!(checked["checks"][0]["name"], "sqlite");
}

#[test]
fn looking_changes_nothing() {
    let store = Fixture::filled();
    let before = store.contents();
    for line in [
        "keys list",
        "keys show order-4 --scope payments",
        "stats",
        "check",
    ] {
        assert_eq!(store.semel(line).code, 0, "{line}");
        assert_eq!(store.contents(), before, "{line}");
    }
}

#[test]
fn the_store_may_be_named_in_the_environment() {
    let store = Fixture::filled();
    let mut command = store.command(&["stats"]);
    command
        .current_dir("/")
        .env("SEMEL_STORE", format!("sqlite:{}", store.path().display()));
    let ran = Ran::of(command.output().unwrap());
    assert_eq!(ran.code, 0, "{ran:?}");
    let shown = format!("using sqlite:{}, from SEMEL_STORE", store.path().display());
    assert_eq!(ran.using, Some(shown));
    // Another command finds the store in the environment, too.
    assert!(!ran.stderr.contains("--store"), "{ran:?}");
}

#[test]
fn help_lists_the_exit_codes() {
    let help = Fixture::empty().semel("--help").stdout;
    let (_, codes) = help.split_once("Exit codes:\n").unwrap();
    assert_snapshot!(codes, @r#"
     0  done
     1  refused or failed
     2  the command line was not understood
     3  there is no such record
     4  several records match; name scope and tenant, too
     5  alerts fire (semel check --alerts)
    69  the store is locked, or it or the process that is asked cannot answer; try again
    74  data is damaged, the disk is full, or input and output failed
    78  bad configuration: no such store, no permission, or from a newer Semel
    "#);
}
