//! Verbs that change messages by hand: retry, park, unpark, skip.

use insta::assert_snapshot;

use crate::fixture::Fixture;

#[test]
fn retry_runs_a_message_again() {
    let store = Fixture::with_messages();
    let ran = store.semel("inbox retry mailer evt-2 --reason INC-7");
    assert_snapshot!(ran.shown(), @r#"
    run again  1
    unchanged  0
    conflicts  0
    gone       0

    exit: 0
    "#);
    assert_eq!(store.state("mailer", "evt-2"), "RECEIVED");
    assert_snapshot!(store.semel("inbox show mailer evt-2").shown(), @r#"
    public/mailer@1/evt-2
      state        RECEIVED
      last error   503 Service Unavailable: the mail server is being updated
      since        <time> (just now)
      type         order.paid, schema version 2
      received     <time> (5h ago) from orders, partition 3, offset 42
      attempts     0; it was run again by hand 1 time
      headers      content-type, x-token
      payload      30 B
      fingerprint  86dd2212d538ea44805ba968fc5917e4595b8dd5d8a125b91931237982436693

    timeline
      <time>  RECEIVED
      <time>  IN_PROGRESS       host-1
      <time>  FAILED_RETRYABLE  retryable: 503 Service Unavailable: the mail server is being updated
      <time>  IN_PROGRESS       host-1
      <time>  PARKED            attempts-exhausted: 503 Service Unavailable: the mail server is being updated
      <time>  RECEIVED          operator: cli:alice

    attempts that did not complete
      1  fence 2 by host-1, took 0ms: FAILED_RETRYABLE
         the handler failed in a way that may pass
         503 Service Unavailable: the mail server is being updated
      2  fence 3 by host-1, took 0ms: PARKED
         all attempts are used up
         503 Service Unavailable: the mail server is being updated

    steps that are done
      charge  6 B

    exit: 0
    "#);
    assert_snapshot!(store.semel("audit").shown(), @r#"
    WHEN      BY         VERB         SCOPE     CHANGED  WHICH     REASON
    just now  cli:alice  inbox retry  mailer@1        1  id evt-2  INC-7

    exit: 0
    "#);
    let audit = store.semel("audit --json").json();
    assert_eq!(audit["audit"][0]["reason"], "INC-7");
    assert_eq!(audit["audit"][0]["by"], "cli:alice");
}

#[test]
fn a_dry_run_says_what_would_change_and_changes_nothing() {
    let store = Fixture::with_messages();
    let before = store.semel("inbox list --json").stdout.len();
    let ran = store.semel("inbox retry mailer --all --dry-run");
    assert_snapshot!(ran.shown(), @r#"
    would run again  4
    unchanged        0
    conflicts        1   among those that change: another payload under a known id
    gone             0

    stderr:
    nothing was changed; this is about evt-2, evt-3, evt-4, evt-1#conflict-5c0735ac63b3c4a3

    exit: 0
    "#);
    assert_eq!(store.semel("inbox list --json").stdout.len(), before);
    assert_eq!(store.semel("audit").stdout, "");
    let json = store
        .semel("inbox retry mailer --all --dry-run --json")
        .json();
    assert_eq!(
        (&json["dry_run"], &json["changed"]),
        (&true.into(), &4.into())
    );
}

#[test]
fn many_messages_need_a_yes() {
    let store = Fixture::with_messages();
    let ran = store.semel("inbox skip mailer --state parked --state failed-terminal");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: 3 messages of mailer@1 would be passed over for good; that needs a yes, and there is no terminal to ask on; nothing was changed
    hint: look with --dry-run; add --yes if you are sure

    exit: 1
    "#);
    assert_eq!(store.state("mailer", "evt-2"), "PARKED");
    let ran = store.semel("inbox skip mailer --state parked --state failed-terminal --yes");
    assert_snapshot!(ran.shown(), @r#"
    passed over for good  3
    unchanged             0
    conflicts             1   among those that change: another payload under a known id

    exit: 0
    "#);
    assert_eq!(store.state("mailer", "evt-2"), "SKIPPED_DUPLICATE");
    assert_eq!(store.state("mailer", "evt-3"), "SKIPPED_DUPLICATE");
}

#[test]
fn erasing_needs_a_yes_even_for_a_message_that_is_named() {
    let store = Fixture::with_messages();
    let ran = store.semel("inbox erase mailer evt-2 --reason asked");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: 1 message of mailer@1 would lose their contents; what is erased cannot be brought back; that needs a yes, and there is no terminal to ask on; nothing was changed
    hint: look with --dry-run; add --yes if you are sure

    exit: 1
    "#);
    assert_eq!(store.state("mailer", "evt-2"), "PARKED");
    let ran = store.semel("inbox erase mailer evt-2 --reason asked --yes");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(store.state("mailer", "evt-2"), "SKIPPED_DUPLICATE");
}

#[test]
fn what_changed_after_the_look_is_left_alone_in_all_rounds() {
    let store = Fixture::with_messages();
    let look = store.semel("inbox skip mailer --all --dry-run --json");
    let moment = look.json()["unchanged_since"].as_str().map(str::to_owned);
    let moment = moment.expect("a dry run says of which moment it is");
    let early = "inbox skip mailer --all --yes --json --unchanged-since 2020-01-01";
    assert_eq!(store.semel(early).json()["matched"], 0);
    let same = format!("inbox skip mailer --all --yes --json --unchanged-since {moment}");
    let done = store.semel(&same).json();
    assert_eq!(done["changed"], look.json()["changed"]);
    assert_eq!(done["unchanged_since"], look.json()["unchanged_since"]);
}

#[test]
fn park_and_unpark_set_aside_and_go_on() {
    let store = Fixture::with_messages();
    let ran = store.run(&["inbox", "park", "mailer", "evt 6", "--by", "bob"]);
    assert_snapshot!(ran.shown(), @r#"
    set aside  1
    unchanged  0

    exit: 0
    "#);
    assert_eq!(store.state("mailer", "evt 6"), "PARKED");
    let ran = store.run(&["inbox", "unpark", "mailer", "evt 6"]);
    assert_snapshot!(ran.shown(), @r#"
    go on      1
    unchanged  0
    conflicts  0
    gone       0

    exit: 0
    "#);
    assert_eq!(store.state("mailer", "evt 6"), "RECEIVED");
}

#[test]
fn a_message_in_another_state_is_left_alone_and_it_is_said_why() {
    let store = Fixture::with_messages();
    assert_snapshot!(store.semel("inbox retry mailer evt-1").shown(), @r#"
    stderr:
    error: public/mailer@1/evt-1 is COMPLETED, and inbox retry is for FAILED_RETRYABLE, FAILED_TERMINAL, PARKED; nothing was changed
    hint: to run once more what was dealt with: semel replay mailer@1 evt-1

    exit: 1
    "#);
    assert_snapshot!(store.semel("inbox skip mailer evt-5").shown(), @r#"
    stderr:
    error: public/mailer@1/evt-5 is IN_PROGRESS, and inbox skip is for RECEIVED, FAILED_RETRYABLE, FAILED_TERMINAL, PARKED; nothing was changed
    hint: wait until the attempt has ended

    exit: 1
    "#);
    assert_snapshot!(store.semel("inbox retry mailer evt-404").shown(), @r#"
    stderr:
    error: there is no message public/mailer@1/evt-404
    hint: see what there is: semel inbox list mailer@1

    exit: 3
    "#);
    assert_snapshot!(store.semel("inbox retry mailer evt-1 evt-404").shown(), @r#"
    stderr:
    error: none of them is in a state that inbox retry is for (FAILED_RETRYABLE, FAILED_TERMINAL, PARKED):
           evt-1 is COMPLETED
           evt-404 is not there

    exit: 1
    "#);
}

#[test]
fn which_messages_has_to_be_said() {
    let store = Fixture::with_messages();
    assert_snapshot!(store.semel("inbox retry mailer").shown(), @r#"
    stderr:
    error: expected ids, an option such as --key or --cause, or --all; found none of them

    exit: 2
    "#);
    assert_snapshot!(store.semel("inbox retry mailer --all --from soon").shown(), @r#"
    stderr:
    error: invalid value 'soon' for '--from <TIME>': expected a moment such as 2026-11-16T08:30:00Z, or how long ago it was, such as 2h; found "soon"

    For more information, try '--help'.

    exit: 2
    "#);
    assert_eq!(store.semel("inbox retry mailer evt-1 --all").code, 2);
}

#[test]
fn an_id_may_look_like_an_option() {
    let ran = Fixture::with_messages().semel("inbox retry mailer -- --all");
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{ran:?}");
    assert!(ran.stderr.contains("public/mailer@1/--all"), "{ran:?}");
}

#[test]
fn a_file_that_is_wrong_stops_changes_and_not_looks_into_a_named_store() {
    let store = Fixture::with_messages();
    std::fs::write(store.path().with_file_name("semel.yaml"), "stores: x\n").unwrap();
    assert_snapshot!(store.semel("inbox retry mailer evt-2").shown(), @r#"
    stderr:
    error: semel.yaml:1:1: stores: unknown key; did you mean store?
    hint: what the file says about a consumer decides how its messages change; set it right, or name another with --config

    exit: 78
    "#);
    let line = "inbox list mailer --state in-progress";
    let ran = store.semel(&format!("{line} --store sqlite:semel.db"));
    assert_snapshot!(ran.shown(), @r#"
    STATE        CONSUMER  ID     TYPE        ATTEMPTS  RECEIVED  DETAIL
    IN_PROGRESS  mailer@1  evt-5  order.paid         1  2h ago    host-1, lease ends in 12h

    stderr:
    the file is left aside: semel.yaml:1:1: stores: unknown key; did you mean store?

    exit: 0
    "#);
    // Without another word about the store, only the file can say which is meant.
    assert_eq!(store.semel(line).code, 78);
    let named = format!("{line} --store sqlite:semel.db --config semel.yaml");
    assert_eq!(store.semel(&named).code, 78);
}

#[test]
fn failures_are_grouped_and_a_group_is_decided_as_one() {
    let store = Fixture::configured();
    let found = store.semel("inbox failures mailer --json").json();
    assert_eq!(found["more"], false);
    let groups = found["groups"].as_array().unwrap();
    let said = "503 Service Unavailable: the mail server is being updated";
    let exhausted = groups
        .iter()
        .find(|group| group["cause"] == "attempts-exhausted" && group["error"] == said);
    let group = exhausted.unwrap()["group"].as_str().unwrap();
    let listed = store.semel("inbox failures");
    assert!(listed.stdout.contains(group), "{listed:?}");
    assert!(listed.stderr.contains("--group"), "{listed:?}");

    let retry = |more: &str| store.semel(&format!("inbox retry mailer --group {group} {more}"));
    let forecast = retry("--dry-run");
    assert!(
        forecast.stdout.starts_with("would run again  1"),
        "{forecast:?}"
    );
    assert_eq!(store.state("mailer", "evt-2"), "PARKED");
    assert_eq!(retry("--yes --reason INC-7").code, 0);
    assert_eq!(store.state("mailer", "evt-2"), "RECEIVED");
    let unpark = store.semel(&format!("inbox unpark mailer --group {group} --yes"));
    assert!(
        unpark.stderr.contains("a group of failures is retried"),
        "{unpark:?}"
    );
}

#[test]
fn an_edit_that_changes_nothing_or_comes_too_early_is_refused() {
    let store = Fixture::configured();
    let edit = |id: &str, more: &str| {
        store.semel(&format!("inbox edit mailer {id} --reason INC-7 {more}"))
    };
    let nothing = edit("evt-2", "");
    assert_eq!(nothing.code, 1, "{nothing:?}");
    assert!(
        nothing.stderr.contains("found neither changed"),
        "{nothing:?}"
    );
    assert_eq!(edit("evt-99", "--header x:1").code, 3);
    let unreasoned = store.semel("inbox edit mailer evt-2 --header x:1");
    assert_eq!(unreasoned.code, 2, "{unreasoned:?}");
    let done = edit("evt-2", "--content-type text/plain --json").json();
    assert_eq!(
        (&done["version"], &done["report"]["changed"]),
        (&1.into(), &1.into())
    );
    let shown = store.semel("inbox show mailer evt-2");
    assert!(
        shown
            .stdout
            .contains("edited       1 time, last by cli:alice"),
        "{shown:?}"
    );
    let again = edit("evt-2", "--header x:1");
    assert!(
        again.stderr.contains("an edit is for FAILED_RETRYABLE"),
        "{again:?}"
    );
    assert_eq!(again.code, 1, "{again:?}");
}
