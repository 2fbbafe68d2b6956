//! Verbs that run messages again: `dlq replay` and `replay`.

use insta::assert_snapshot;

use crate::fixture::Fixture;

#[test]
fn dead_letters_run_again_with_the_same_id_and_headers() {
    let store = Fixture::with_messages();
    let before = store
        .semel("inbox show mailer evt-2 --json --payload")
        .json();
    assert_snapshot!(store.semel("dlq replay mailer --all --dry-run").shown(), @r#"
    would run again  3
    unchanged        0
    conflicts        1   among those that change: another payload under a known id
    gone             0

    stderr:
    nothing was changed; this is about evt-2, evt-3, evt-1#conflict-5c0735ac63b3c4a3

    exit: 0
    "#);
    let ran = store.semel("dlq replay mailer --all --yes --reason INC-7");
    assert_snapshot!(ran.shown(), @r#"
    run again  3
    unchanged  0
    conflicts  1   among those that change: another payload under a known id
    gone       0

    exit: 0
    "#);
    let after = store
        .semel("inbox show mailer evt-2 --json --payload")
        .json();
    assert_eq!(after["message"]["state"], "RECEIVED");
    assert_eq!(after["message"]["generation"], 1);
    assert_eq!(after["arrived"], before["arrived"]);
    assert_eq!(store.semel("dlq list mailer").stdout, "");
    assert_snapshot!(store.semel("audit").shown(), @r#"
    WHEN      BY         VERB        SCOPE     CHANGED  WHICH                          REASON
    just now  cli:alice  dlq replay  mailer@1        3  state FAILED_TERMINAL, PARKED  INC-7

    exit: 0
    "#);
}

#[test]
fn dead_letters_are_chosen_by_cause() {
    let store = Fixture::with_messages();
    let ran = store.semel("dlq replay mailer --cause terminal --yes --json");
    assert_eq!(ran.json()["sample"], serde_json::json!(["evt-3"]));
    assert_eq!(store.state("mailer", "evt-2"), "PARKED");
}

#[test]
fn what_was_dealt_with_is_no_dead_letter() {
    let ran = Fixture::with_messages().semel("dlq replay mailer evt-1");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: public/mailer@1/evt-1 is COMPLETED, and dlq replay is for FAILED_TERMINAL, PARKED; nothing was changed
    hint: to run once more what was dealt with: semel replay mailer@1 evt-1

    exit: 1
    "#);
}

#[test]
fn a_consumer_without_a_policy_is_replayed_only_by_force_and_with_a_reason() {
    let store = Fixture::with_messages();
    assert_snapshot!(store.semel("replay mailer evt-1").shown(), @r#"
    stderr:
    error: the policy of consumer mailer@1 does not allow replays, because its effects reach others; to replay all the same, force it and give a reason
    hint: no configuration file says that mailer@1 may be replayed; name one with --config
          to look first: --dry-run
          to replay all the same: --force --reason WHY

    exit: 1
    "#);
    assert_snapshot!(store.semel("replay mailer evt-1 --dry-run").shown(), @r#"
    would run once more  1
    unchanged            0
    conflicts            0
    gone                 0

    stderr:
    without a dry run this needs --force --reason WHY
    nothing was changed; this is about evt-1

    exit: 0
    "#);
    let unsaid = store.semel("replay mailer evt-1 --force");
    assert_eq!(unsaid.code, 2, "{unsaid:?}");
    let ran = store.semel("replay mailer evt-1 --force --reason INC-7");
    assert_snapshot!(ran.shown(), @r#"
    run once more  1
    unchanged      0
    conflicts      0
    gone           0

    exit: 0
    "#);
    assert_eq!(store.state("mailer", "evt-1"), "RECEIVED");
    assert_snapshot!(store.semel("audit").shown(), @r#"
    WHEN      BY         VERB    SCOPE     CHANGED  WHICH     REASON
    just now  cli:alice  replay  mailer@1        1  id evt-1  INC-7

    exit: 0
    "#);
}

#[test]
fn the_file_says_who_may_be_replayed() {
    let store = Fixture::configured();
    assert_snapshot!(store.semel("replay mailer evt-1").shown(), @r#"
    stderr:
    error: the policy of consumer mailer@1 does not allow replays, because its effects reach others; to replay all the same, force it and give a reason
    hint: to look first: --dry-run
          to replay all the same: --force --reason WHY

    exit: 1
    "#);
    let ran = store.semel("replay indexer --key order-1 --yes");
    assert_snapshot!(ran.shown(), @r#"
    run once more  1   their keys are set back to before them
    unchanged      0
    conflicts      0
    gone           0

    exit: 0
    "#);
    assert_eq!(store.state("indexer", "order-1-v1"), "RECEIVED");
}

#[test]
fn a_replay_takes_what_was_received_in_a_time() {
    let store = Fixture::configured();
    let none = store.semel("replay indexer --from 1h --yes");
    assert_snapshot!(none.shown(), @r#"
    run once more  0
    unchanged      0
    conflicts      0
    gone           0

    stderr:
    no message matches

    exit: 0
    "#);
    let some = store.semel("replay indexer --from 3h --until 1h --dry-run --json");
    assert_eq!(some.json()["changed"], 1);
}

#[test]
fn which_messages_has_to_be_said() {
    assert_snapshot!(Fixture::configured().semel("replay indexer").shown(), @r#"
    stderr:
    error: expected ids, an option such as --key or --cause, or --all; found none of them

    exit: 2
    "#);
}

#[test]
fn a_failed_message_is_not_replayed_but_run_again_from_the_dead_letters() {
    let store = Fixture::with_messages();
    let ran = store.semel("replay mailer evt-2 --force --reason x");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: public/mailer@1/evt-2 is PARKED, and replay is for COMPLETED, SKIPPED_DUPLICATE; nothing was changed
    hint: to run again what failed: semel dlq replay mailer@1 evt-2

    exit: 1
    "#);
}
