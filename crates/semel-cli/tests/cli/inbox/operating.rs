//! Consumers: pausing them, sending to them, and those that the file does not name.

use insta::assert_snapshot;

use crate::fixture::Fixture;

#[test]
fn a_consumer_is_paused_and_resumed_and_everything_shows_it() {
    let store = Fixture::configured();
    assert_snapshot!(store.semel("inbox pause mailer --reason INC-7").shown(), @r"
    stderr:
    mailer@1 is paused: it receives messages and runs none
    hint: to let it go on: semel inbox resume mailer@1

    exit: 0
    ");
    assert_snapshot!(store.semel("inbox counts").shown(), @r"
    CONSUMER   RECEIVED  IN PROGRESS  RETRYABLE  TERMINAL  PARKED  SKIPPED  OLDEST PENDING  NOTE
    indexer@1         0            0          0         0       3        0  -
    mailer@1          1            1          1         1       2        0  2h ago          paused just now by cli:alice: INC-7

    stderr:
    hint: 6 messages are parked or failed for good: semel dlq list

    exit: 0
    ");
    let stats = store.semel("stats");
    assert!(
        stats
            .stderr
            .contains("consumer mailer@1 was paused just now by cli:alice"),
        "{stats:?}"
    );
    let json = store.semel("stats --json").json();
    assert_eq!(json["paused_consumers"][0], "mailer@1");
    assert_snapshot!(store.semel("inbox pause mailer").stderr, @r"
    mailer@1 was paused already
    hint: to let it go on: semel inbox resume mailer@1
    ");
    let resumed = store.semel("inbox resume mailer --json").json();
    assert_eq!(resumed["changed"], true);
    assert_eq!(
        store.semel("inbox resume mailer").stderr,
        "mailer@1 was not paused\n"
    );
    let audit = store.semel("audit --json").json();
    let line = |index: usize| audit["audit"][index]["action"].clone();
    assert_eq!((line(0), line(1)), ("resume".into(), "pause".into()));
    assert_eq!(audit["audit"][1]["reason"], "INC-7");
}

#[test]
fn a_consumer_with_a_typing_mistake_is_refused_and_the_right_one_named() {
    let store = Fixture::configured();
    assert_snapshot!(store.semel("inbox pause mialer").shown(), @r"
    stderr:
    error: there is no consumer mialer@1: the configuration file does not name it
    hint: did you mean mailer@1?

    exit: 3
    ");
    assert_snapshot!(store.semel("inbox send mailer@2 --id new-1").shown(), @r"
    stderr:
    error: there is no consumer mailer@2: the configuration file does not name it
    hint: did you mean mailer@1?

    exit: 3
    ");
    assert_snapshot!(store.semel("inbox import postman events.jsonl").shown(), @r"
    stderr:
    error: there is no consumer postman@1: the configuration file does not name it
    hint: there are: indexer@1, mailer@1

    exit: 3
    ");
    let without_file = Fixture::with_messages();
    assert_snapshot!(without_file.semel("inbox send maler --id new-1").shown(), @r"
    stderr:
    error: there is no consumer maler@1: there is no configuration file that names it, and the store has no message of it
    hint: did you mean mailer@1?

    exit: 3
    ");
    assert_eq!(without_file.semel("inbox send mailer --id new-1").code, 0);
    let line = "inbox send postman --id new-1 --new-consumer";
    assert_eq!(without_file.semel(line).code, 0);
}

#[test]
fn messages_of_consumers_that_the_file_does_not_name_are_named_and_kept_in_order() {
    let store = Fixture::with_messages();
    let file = store.path().with_file_name("semel.yaml");
    std::fs::write(&file, "consumers: { mailer: { version: 2 } }\n").unwrap();
    let counts = store.semel("inbox counts");
    assert_snapshot!(counts.shown(), @r"
    CONSUMER   RECEIVED  IN PROGRESS  RETRYABLE  TERMINAL  PARKED  SKIPPED  OLDEST PENDING  NOTE
    indexer@1         0            0          0         0       3        0  -               not served
    mailer@1          1            1          1         1       2        0  2h ago          not served

    stderr:
    hint: 3 messages wait for indexer@1, which the file does not name: keep a consumer indexer@1 in the file, beside a newer version of it, until they have run; or end them with semel inbox skip indexer@1 --all
    hint: 5 messages wait for mailer@1, which the file does not name: keep a consumer mailer@1 in the file, beside a newer version of it, until they have run; or end them with semel inbox skip mailer@1 --all
    hint: 6 messages are parked or failed for good: semel dlq list

    exit: 0
    ");
    let checked = store.semel("check --config semel.yaml");
    assert_eq!(checked.code, 0, "{checked:?}");
    assert!(
        checked
            .stdout
            .contains("! inbox   5 messages wait for mailer@1"),
        "{}",
        checked.stdout
    );
    assert_snapshot!(store.semel("inbox unpark indexer order-1-v4").shown(), @r"
    stderr:
    error: the configuration does not name indexer@1, and its messages have keys: in which order they run, only its policy says; name it in the file, at its old version if need be; park and skip work without it

    exit: 1
    ");
    assert_eq!(store.semel("inbox retry mailer evt-2").code, 0);
    assert_eq!(store.semel("inbox skip indexer order-1-v9").code, 0);
    assert_eq!(store.state("indexer", "order-1-v9"), "SKIPPED_DUPLICATE");
}

#[test]
fn a_new_key_needs_a_reason_and_a_yes() {
    let store = Fixture::with_messages();
    let ran = store.semel("inbox retry mailer evt-2 --new-key");
    assert_eq!(ran.code, 2, "{ran:?}");
    let line = "inbox retry mailer evt-2 --new-key --reason INC-7";
    assert_snapshot!(store.semel(line).shown(), @r"
    stderr:
    error: 1 message of mailer@1 would run again; the provider is given a new key and may do once more what it did before; that needs a yes, and there is no terminal to ask on; nothing was changed
    hint: look with --dry-run; add --yes if you are sure

    exit: 1
    ");
    assert_eq!(store.semel(&format!("{line} --yes")).code, 0);
    let audit = store.semel("audit --json").json();
    assert_eq!(audit["audit"][0]["action"], "retry-with-new-key");
}

#[test]
fn intents_for_a_target_that_the_file_does_not_name_are_named() {
    let store = Fixture::with_messages();
    let line = "inbox send intent:charge --id evt-1/charge --new-consumer";
    assert_eq!(store.semel(line).code, 0);
    let file = "consumers: { mailer: {}, indexer: {} }\nintents: { pay: { url: 'http://a/b' } }\n";
    std::fs::write(store.path().with_file_name("semel.yaml"), file).unwrap();
    let checked = store.semel("check --config semel.yaml");
    let said = "! inbox   1 message waits for intent:charge@1, which the file does not name: keep the target charge in intents";
    assert!(checked.stdout.contains(said), "{}", checked.stdout);
    assert_eq!(checked.stdout.matches("! inbox").count(), 1);
}
