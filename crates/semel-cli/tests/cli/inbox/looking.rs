//! Verbs that look: list, show, counts, gaps, dlq list, audit.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::fixture::Fixture;

#[test]
fn list_shows_every_state_the_newest_message_first() {
    let store = Fixture::with_messages();
    assert_snapshot!(store.semel("inbox list").shown(), @r#"
    STATE             CONSUMER   ID                               TYPE        KEY      SEQ  ATTEMPTS  AGAIN  RECEIVED    DETAIL
    PARKED            indexer@1  order-1-v9                       order.paid  order-1    9         0      -  2h ago      gap
    PARKED            indexer@1  order-1-v5                       order.paid  order-1    5         0      -  2h ago      gap
    PARKED            indexer@1  order-1-v4                       order.paid  order-1    4         0      -  2h ago      gap
    COMPLETED         indexer@1  order-1-v1                       order.paid  order-1    1         1      1  2h ago      done 2h ago
    PARKED            mailer@1   evt-1#conflict-5c0735ac63b3c4a3  -           -          -         0      -  2h ago      conflict
    RECEIVED          mailer@1   evt 6                            order.paid  -          -         0      -  2h ago      due
    IN_PROGRESS       mailer@1   evt-5                            order.paid  -          -         1      -  2h ago      host-1, lease ends in 12h
    FAILED_RETRYABLE  mailer@1   evt-4                            order.paid  -          -         1      -  2h ago      again in 12h: 503 Service Unavailable: the mail server is being updated
    FAILED_TERMINAL   mailer@1   evt-3                            order.paid  -          -         1      -  4h 58m ago  422 Unprocessable Content: no such address
    PARKED            mailer@1   evt-2                            order.paid  -          -         2      -  5h ago      attempts-exhausted: 503 Service Unavailable: the mail server is being updated
    COMPLETED         mailer@1   evt-1                            order.paid  -          -         1      2  20h ago     done 20h ago

    exit: 0
    "#);
}

#[test]
fn list_tells_the_command_for_the_next_page_and_it_works() {
    let store = Fixture::with_messages();
    let ran = store.semel("inbox list mailer --state parked --state failed-terminal --limit 2");
    assert_snapshot!(ran.shown(), @r#"
    STATE            CONSUMER  ID                               TYPE        ATTEMPTS  RECEIVED    DETAIL
    PARKED           mailer@1  evt-1#conflict-5c0735ac63b3c4a3  -                  0  2h ago      conflict
    FAILED_TERMINAL  mailer@1  evt-3                            order.paid         1  4h 58m ago  422 Unprocessable Content: no such address

    stderr:
    hint: there are more: semel inbox list mailer@1 --state PARKED --state FAILED_TERMINAL --limit 2 --before 3

    exit: 0
    "#);
    let (_, next) = ran.stderr.split_once("semel ").unwrap();
    assert_snapshot!(store.semel(next).shown(), @r#"
    STATE   CONSUMER  ID     TYPE        ATTEMPTS  RECEIVED  DETAIL
    PARKED  mailer@1  evt-2  order.paid         2  5h ago    attempts-exhausted: 503 Service Unavailable: the mail server is being updated

    exit: 0
    "#);
}

#[test]
fn list_filters_by_consumer_state_cause_and_key() {
    let store = Fixture::with_messages();
    for (filter, ids) in [
        ("--state COMPLETED", json!(["order-1-v1", "evt-1"])),
        ("--state in-progress", json!(["evt-5"])),
        ("mailer --state RECEIVED", json!(["evt 6"])),
        ("--cause attempts-exhausted", json!(["evt-2"])),
        (
            "--key order-1 --state PARKED",
            json!(["order-1-v9", "order-1-v5", "order-1-v4"]),
        ),
        ("nobody", json!([])),
    ] {
        let listed = store.semel(&format!("inbox list --json {filter}")).json();
        let messages = listed["messages"].as_array().unwrap();
        let found: Value = messages
            .iter()
            .map(|message| message["id"].clone())
            .collect();
        assert_eq!(found, ids, "{filter}");
    }
    assert_snapshot!(store.semel("inbox list nobody").shown(), @r#"
    stderr:
    no message matches

    exit: 0
    "#);
    assert_snapshot!(store.semel("inbox list --state done").shown(), @r#"
    stderr:
    error: invalid value 'done' for '--state <STATE>': a message's state is one of RECEIVED, IN_PROGRESS, COMPLETED, FAILED_RETRYABLE, FAILED_TERMINAL, PARKED, SKIPPED_DUPLICATE, found "done"

    For more information, try '--help'.

    exit: 2
    "#);
}

#[test]
fn list_as_json_has_every_field() {
    let listed =
        Fixture::with_messages().semel("inbox list --limit 1 --cause attempts-exhausted --json");
    let message = &listed.json()["messages"][0];
    for (name, value) in [
        ("tenant", json!("public")),
        ("consumer", json!("mailer@1")),
        ("id", json!("evt-2")),
        ("state", json!("PARKED")),
        ("cause", json!("attempts-exhausted")),
        ("event_type", json!("order.paid")),
        ("attempts", json!(2)),
        ("generation", json!(0)),
        ("duplicates", json!(0)),
        ("payload_bytes", json!(30)),
    ] {
        assert_eq!(message[name], value, "{name}");
    }
    assert!(!listed.stdout.contains("SECRET"));
}

#[test]
fn show_explains_a_parked_message_and_what_to_do() {
    let ran = Fixture::with_messages().semel("inbox show mailer evt-2");
    assert_snapshot!(ran.shown(), @r#"
    public/mailer@1/evt-2
      state        PARKED
      because      all attempts are used up
      last error   503 Service Unavailable: the mail server is being updated
      since        <time> (4h 58m ago)
      type         order.paid, schema version 2
      received     <time> (5h ago) from orders, partition 3, offset 42
      attempts     2
      headers      content-type, x-token
      payload      30 B
      fingerprint  86dd2212d538ea44805ba968fc5917e4595b8dd5d8a125b91931237982436693

    timeline
      <time>  RECEIVED
      <time>  IN_PROGRESS       host-1
      <time>  FAILED_RETRYABLE  retryable: 503 Service Unavailable: the mail server is being updated
      <time>  IN_PROGRESS       host-1
      <time>  PARKED            attempts-exhausted: 503 Service Unavailable: the mail server is being updated

    attempts that did not complete
      1  fence 2 by host-1, took 0ms: FAILED_RETRYABLE
         the handler failed in a way that may pass
         503 Service Unavailable: the mail server is being updated
      2  fence 3 by host-1, took 0ms: PARKED
         all attempts are used up
         503 Service Unavailable: the mail server is being updated

    steps that are done
      charge  6 B

    stderr:
    hint: nothing runs this until an operator decides
          run it again:   semel inbox retry mailer@1 evt-2
          mend it first:  semel inbox edit mailer@1 evt-2 --payload @FILE --reason WHY
          never run it:   semel inbox skip mailer@1 evt-2

    exit: 0
    "#);
    assert!(!ran.stdout.contains("SECRET"));
}

#[test]
fn show_explains_a_message_that_is_done() {
    let ran = Fixture::with_messages().semel("inbox show mailer evt-1");
    assert_snapshot!(ran.shown(), @r#"
    public/mailer@1/evt-1
      state        COMPLETED
      since        <time> (20h ago)
      type         order.paid, schema version 2
      received     <time> (20h ago) from orders, partition 3, offset 42
      attempts     1
      duplicates   arrived again 2 times
      outcome      succeeded, status 200, 17 B
      kept until   <time> (in 3h 59m)
      headers      content-type, x-token
      payload      30 B
      fingerprint  6b6db249fb7afbf1a4ba4157760dee8c0a4c6c04c291b18e23e95bc2be6fc11e

    timeline
      <time>  RECEIVED
      <time>  IN_PROGRESS
      <time>  COMPLETED

    exit: 0
    "#);
}

#[test]
fn show_explains_a_message_that_waits_for_versions() {
    let ran = Fixture::with_messages().semel("inbox show indexer order-1-v5");
    assert_snapshot!(ran.shown(), @r#"
    public/indexer@1/order-1-v5
      state        PARKED
      because      an earlier version of its key has not arrived
      since        <time> (2h ago)
      type         order.paid, schema version 2
      key          order-1, version 5
      received     <time> (2h ago) from orders, partition 3, offset 42
      attempts     0
      headers      content-type, x-token
      payload      35 B
      fingerprint  8e52a490ec6eb49f4c6c1ce6455921ba81a30f2cb971baf6a837315e36b39ec9

    timeline
      <time>  RECEIVED
      <time>  PARKED    gap

    stderr:
    hint: it goes on by itself when the missing versions are there
          which are missing:    semel inbox gaps indexer@1
          go on without them:   semel inbox unpark indexer@1 order-1-v5
          never run it:         semel inbox skip indexer@1 order-1-v5

    exit: 0
    "#);
}

#[test]
fn show_explains_a_message_in_progress() {
    let ran = Fixture::with_messages().semel("inbox show mailer evt-5");
    assert_snapshot!(ran.shown(), @r#"
    public/mailer@1/evt-5
      state        IN_PROGRESS
      since        <time> (2h ago)
      lease until  <time> (in 12h)
      worker       host-1
      type         order.paid, schema version 2
      received     <time> (2h ago) from orders, partition 3, offset 42
      attempts     1
      headers      content-type, x-token
      payload      30 B
      fingerprint  fecb98dd625351af30b4d7c22d11c06467916fca19fc6bdb75a4a868a4a7e146

    timeline
      <time>  RECEIVED
      <time>  IN_PROGRESS  host-1

    exit: 0
    "#);
}

#[test]
fn show_gives_the_payload_only_if_asked() {
    let store = Fixture::with_messages();
    assert_snapshot!(store.semel("inbox show mailer evt-1 --payload").shown(), @r#"
    public/mailer@1/evt-1
      state        COMPLETED
      since        <time> (20h ago)
      type         order.paid, schema version 2
      received     <time> (20h ago) from orders, partition 3, offset 42
      attempts     1
      duplicates   arrived again 2 times
      outcome      succeeded, status 200, 17 B
      kept until   <time> (in 3h 59m)
      headers      content-type, x-token
      payload      30 B
      fingerprint  6b6db249fb7afbf1a4ba4157760dee8c0a4c6c04c291b18e23e95bc2be6fc11e

    timeline
      <time>  RECEIVED
      <time>  IN_PROGRESS
      <time>  COMPLETED

    message
      content-type: application/json
      x-token: SECRET

      {"id":"evt-1","iban":"SECRET"}

    outcome
      {"mail":"SECRET"}

    exit: 0
    "#);
    let hidden = store.semel("inbox show mailer evt-2 --json");
    assert!(!hidden.stdout.contains("SECRET"));
    let shown = store
        .semel("inbox show mailer evt-2 --json --payload")
        .json();
    assert_eq!(
        shown["arrived"]["payload"]["text"],
        r#"{"id":"evt-2","iban":"SECRET"}"#
    );
    assert_eq!(shown["arrived"]["headers"][1]["value"], "SECRET");
    assert_eq!(shown["steps"][0]["result"]["text"], "SECRET");
    assert_eq!(shown["arrived"]["topic"], "orders");
    assert_eq!(shown["attempts"].as_array().unwrap().len(), 2);
}

#[test]
fn show_says_that_there_is_no_such_message() {
    let ran = Fixture::with_messages().semel("inbox show mailer evt-404");
    assert_snapshot!(ran.shown(), @r#"
    stderr:
    error: there is no message public/mailer@1/evt-404
    hint: see what there is: semel inbox list mailer@1

    exit: 3
    "#);
}

#[test]
fn counts_say_how_every_consumer_stands() {
    let store = Fixture::with_messages();
    assert_snapshot!(store.semel("inbox counts").shown(), @r#"
    CONSUMER   RECEIVED  IN PROGRESS  RETRYABLE  TERMINAL  PARKED  SKIPPED  OLDEST PENDING
    indexer@1         0            0          0         0       3        0  -
    mailer@1          1            1          1         1       2        0  2h ago

    stderr:
    hint: 6 messages are parked or failed for good: semel dlq list

    exit: 0
    "#);
    let counts = store.semel("inbox counts --json").json();
    let consumers = counts["consumers"].as_array().unwrap();
    let mailer = consumers.iter().find(|one| one["consumer"] == "mailer@1");
    assert_eq!(mailer.unwrap()["parked"], 2);
}

#[test]
fn gaps_say_which_versions_are_missing() {
    let store = Fixture::with_messages();
    assert_snapshot!(store.semel("inbox gaps indexer").shown(), @r#"
    KEY      APPLIED  MISSING   WAITING  DEADLINE
    order-1        1  2–3, 6–8        3  passed 1h 55m ago

    exit: 0
    "#);
    assert_snapshot!(store.semel("inbox gaps mailer").shown(), @r#"
    stderr:
    no key of mailer@1 waits for a version

    exit: 0
    "#);
    let gaps = store.semel("inbox gaps indexer --json").json();
    assert_eq!(gaps["gaps"][0]["missing"][0], json!({ "from": 2, "to": 3 }));
}

#[test]
fn dead_letters_are_what_failed_for_good_or_is_parked() {
    let store = Fixture::with_messages();
    assert_snapshot!(store.semel("dlq list mailer").shown(), @r#"
    STATE            CONSUMER  ID                               TYPE        ATTEMPTS  RECEIVED    DETAIL
    PARKED           mailer@1  evt-1#conflict-5c0735ac63b3c4a3  -                  0  2h ago      conflict
    FAILED_TERMINAL  mailer@1  evt-3                            order.paid         1  4h 58m ago  422 Unprocessable Content: no such address
    PARKED           mailer@1  evt-2                            order.paid         2  5h ago      attempts-exhausted: 503 Service Unavailable: the mail server is being updated

    exit: 0
    "#);
    assert_snapshot!(store.semel("dlq list nobody").shown(), @r#"
    stderr:
    no message matches

    exit: 0
    "#);
    let listed = store.semel("dlq list --cause gap --json").json();
    assert_eq!(listed["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn an_empty_inbox_says_so() {
    let store = Fixture::filled();
    for (verb, said) in [
        ("inbox list", "the inbox has no messages\n"),
        ("inbox counts", "the inbox has no messages\n"),
        ("dlq list", "there are no dead letters\n"),
        (
            "audit",
            "the audit has no lines: no key and no message was changed by hand, as far back as it goes\n",
        ),
    ] {
        let ran = store.semel(verb);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, said), "{verb}");
    }
}

#[test]
fn a_store_without_an_inbox_says_so() {
    let store = Fixture::empty();
    std::fs::write(
        store.path().with_file_name("semel.yaml"),
        "store: redis://127.0.0.1:1\n",
    )
    .unwrap();
    assert_snapshot!(store.semel("inbox list").shown(), @r#"
    stderr:
    error: the inbox needs SQLite or PostgreSQL, and the store is redis://127.0.0.1:1
    hint: name the store with --store sqlite:PATH or --store postgres://…

    exit: 78
    "#);
}
