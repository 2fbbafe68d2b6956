//! Verbs that decide: release, resolve, purge; what they do and what they refuse.

use std::io::Write;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::fixture::Fixture;

impl Fixture {
    fn shown(&self, identity: &str) -> Value {
        self.semel(&format!("keys show {identity} --json --body"))
            .json()
    }

    fn history(&self, identity: &str) -> Value {
        let ran = self.semel(&format!("keys show {identity} --json"));
        serde_json::from_str::<Value>(&ran.stdout).unwrap()["history"].clone()
    }
}

#[test]
fn release_makes_an_unknown_record_absent() {
    let store = Fixture::filled();
    assert_snapshot!(store.semel("keys release order-3 --scope payments").shown(), @r#"
    stderr:
    released public/payments@1/order-3: the next request with this key runs

    exit: 0
    "#);
    assert_eq!(store.semel("keys show order-3 --scope payments").code, 3);
    let decided = &store.history("order-3 --scope payments")[1];
    assert_eq!(
        (&decided["by"], &decided["how"]),
        (&json!("cli:alice"), &json!("released"))
    );
}

#[test]
fn release_takes_a_record_whose_lease_has_just_ended() {
    let store = Fixture::filled();
    assert_eq!(
        store
            .semel("keys release order-4 --scope payments --by bob")
            .code,
        0
    );
    let history = store.history("order-4 --scope payments");
    assert_eq!(history[0]["event"], "became-unknown");
    assert_eq!(history[1]["by"], "cli:bob");
}

#[test]
fn release_refuses_a_running_record_and_says_how_long_to_wait() {
    let ran = Fixture::filled().run(&["keys", "release", "order 5", "--scope", "payments"]);
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: public/payments@1/order 5 is running, and its lease ends in 12h; only an unknown record can be released
    hint: wait: if the lease ends without an outcome, the record becomes unknown by itself

    exit: 1
    "#);
}

#[test]
fn release_refuses_a_settled_record_and_says_what_to_do_instead() {
    let ran = Fixture::filled().semel("keys release order-1 --scope payments");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: public/payments@1/order-1 failed 3d ago with status 402; only an unknown record can be released
    hint: duplicates get its outcome until <time>; to forget it before that:
          semel keys purge order-1 --scope payments@1 --tenant public

    exit: 1
    "#);
}

#[test]
fn verbs_say_that_there_is_no_such_record() {
    let store = Fixture::filled();
    let ran = store.semel("keys release order-404 --scope payments");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: there is no record with the key order-404 in the scope payments@1
    hint: did you mean
            semel keys show order-4 --scope payments@1 --tenant public   # unknown, claimed 5h ago

    exit: 3
    "#);
    for verb in ["show", "resolve --failed", "purge --yes"] {
        let ran = store.semel(&format!("keys {verb} order-404 --scope payments"));
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{verb}");
    }
}

#[test]
fn resolve_puts_an_outcome_on_record() {
    let store = Fixture::filled();
    let line = "keys resolve order-3 --scope payments --succeeded --status 201 --body done \
                --header Content-Type:text/plain --header X-A:1 --header X-A:2 --retention 7d";
    assert_snapshot!(store.semel(line).shown(), @r#"
    stderr:
    resolved public/payments@1/order-3 as succeeded: duplicates get 201 with a body of 4 B, for 7d

    exit: 0
    "#);
    let shown = store.shown("order-3 --scope payments");
    assert_eq!(shown["record"]["state"], "succeeded");
    assert_eq!(shown["outcome"]["status"], 201);
    assert_eq!(shown["outcome"]["body"]["text"], "done");
    let second = json!({"name": "X-A", "value": "2"});
    assert_eq!(shown["outcome"]["headers"][2], second);
    assert_eq!(shown["history"][1]["how"], "settled");
}

#[test]
fn resolve_reads_the_body_from_a_file_or_from_stdin() {
    let store = Fixture::filled();
    let file = store.path().with_file_name("body.bin");
    std::fs::write(&file, [0xff, 0x00]).unwrap();
    let line = "keys resolve order-3 --scope payments --failed --body-file body.bin";
    assert_eq!(store.semel(line).code, 0);
    let shown = store.shown("order-3 --scope payments");
    assert_eq!(shown["record"]["state"], "failed");
    assert_eq!(shown["outcome"]["status"], Value::Null);
    assert_eq!(shown["outcome"]["body"]["hex"], "ff00");

    let words = "keys resolve order-4 --scope payments --succeeded --body-file -";
    let mut command = store.command(&words.split(' ').collect::<Vec<_>>());
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"piped").unwrap();
    assert!(child.wait().unwrap().success());
    let shown = store.shown("order-4 --scope payments");
    assert_eq!(shown["outcome"]["body"]["text"], "piped");
}

#[test]
fn resolve_adopts_the_late_outcome_byte_for_byte() {
    let store = Fixture::filled();
    let ran = store.semel("keys resolve order-2 --scope payments --tenant acme --late");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    resolved acme/payments@1/order-2 as succeeded: duplicates get 201 with a body of 25 B, for 1d

    exit: 0
    "#);
    let adopted = store.shown("order-2 --scope payments --tenant acme");
    let original = store.shown("refund-7 --scope refunds@2 --tenant acme");
    assert_eq!(adopted["outcome"], original["outcome"]);
}

#[test]
fn resolve_refuses_what_it_cannot_decide() {
    let store = Fixture::filled();
    let ran = store.semel("keys resolve order-3 --scope payments --late");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: the history has no late outcome for this record
    hint: say yourself what happened: --succeeded or --failed, with --status and --body

    exit: 1
    "#);
    let ran = store.semel("keys resolve order-2 --scope payments --tenant acme --late=99");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: the history has no late outcome of fence 99 for this record
    hint: say yourself what happened: --succeeded or --failed, with --status and --body

    exit: 1
    "#);
    let ran = store.run(&[
        "keys", "resolve", "order 5", "--scope", "payments", "--failed",
    ]);
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: public/payments@1/order 5 is running, and its lease ends in 12h; only an unknown record can be resolved
    hint: wait: if the lease ends without an outcome, the record becomes unknown by itself

    exit: 1
    "#);
    let ran = store.semel("keys resolve order-1 --scope payments --failed");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: public/payments@1/order-1 failed 3d ago with status 402; only an unknown record can be resolved
    hint: duplicates get its outcome until <time>; to forget it before that:
          semel keys purge order-1 --scope payments@1 --tenant public

    exit: 1
    "#);
    let ran = store.semel("keys resolve order-3 --scope payments --failed --body-file nowhere");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: cannot read the body from nowhere: No such file or directory (os error 2)

    exit: 74
    "#);
}

#[test]
fn purge_erases_a_settled_record_and_says_who_did_it() {
    let store = Fixture::filled();
    let ran = store.semel("keys purge order-1 --scope payments --yes --by bob");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    purged public/payments@1/order-1: a request that comes again runs again
    gateways that run may replay the earlier outcome from memory for up to 5s more

    exit: 0
    "#);
    let erased = &store.history("order-1 --scope payments")[0];
    assert_eq!(
        (&erased["event"], &erased["by"]),
        (&json!("erased"), &json!("cli:bob"))
    );
}

#[test]
fn purge_without_a_yes_or_a_terminal_changes_nothing() {
    let store = Fixture::filled();
    assert_snapshot!(store.semel("keys purge order-1 --scope payments").shown(), @r#"
    stderr:
    error: erasing a record needs a yes, and there is no terminal to ask on; nothing was changed
    hint: add --yes if you are sure

    exit: 1
    "#);
    assert_eq!(store.semel("keys show order-1 --scope payments").code, 0);
}

#[test]
fn purge_refuses_what_is_not_settled() {
    let store = Fixture::filled();
    let ran = store.semel("keys purge order-3 --scope payments --yes");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: public/payments@1/order-3 has been unknown for 5h: the run could not tell whether it took effect; only a settled record can be purged
    hint: decide first:
          it did not happen:  semel keys release order-3 --scope payments@1 --tenant public
          it did happen:      semel keys resolve order-3 --scope payments@1 --tenant public --succeeded

    exit: 1
    "#);
    let ran = store.run(&["keys", "purge", "order 5", "--scope", "payments", "--yes"]);
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: public/payments@1/order 5 is running, and its lease ends in 12h; only a settled record can be purged
    hint: wait until it is settled

    exit: 1
    "#);
}

#[test]
fn purge_expired_sweeps_to_the_end() {
    let store = Fixture::filled();
    assert_snapshot!(store.semel("keys purge --expired").shown(), @r#"
    1  expired records deleted
    1  expired records archived
    1  leases ended, their records are now unknown
    0  old events deleted

    exit: 0
    "#);
    let again = store.semel("keys purge --expired --json").json();
    let nothing = json!({"deleted": 0, "archived": 0, "leases_ended": 0, "events_deleted": 0});
    assert_eq!(again, nothing);
    assert_snapshot!(store.semel("keys list --state archived").shown(), @r#"
    STATE      TENANT  SCOPE       KEY         ATTEMPT  FENCE  CLAIMED  DETAIL          STATUS  BODY
    succeeded  public  payments@1  archived-1        1      2  3d ago   expired 2d ago       -   3 B

    exit: 0
    "#);
}

#[test]
fn who_decides_is_the_user_or_an_operator() {
    let store = Fixture::filled();
    let mut command = store.command(&["keys", "release", "order-3", "--scope", "payments"]);
    assert!(command.env_remove("USER").status().unwrap().success());
    assert_eq!(
        store.history("order-3 --scope payments")[1]["by"],
        "cli:operator"
    );
    let ran = store.run(&[
        "keys",
        "release",
        "order-4",
        "--scope",
        "payments",
        "--by",
        "\u{1b}[2J",
    ]);
    assert_eq!(ran.code, 2, "{ran:?}");
}

#[test]
fn a_key_may_look_like_an_option() {
    let store = Fixture::filled();
    let ran = store.semel("keys show --scope payments -- --body");
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    assert!(
        ran.stderr
            .contains("the key --body in the scope payments@1"),
        "{ran:?}"
    );
}
