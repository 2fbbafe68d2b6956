//! `semel inbox send`.

use std::io::Write;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::fixture::{Fixture, Ran};

#[test]
fn a_message_is_received_once() {
    let store = Fixture::with_messages();
    let file = store.path().with_file_name("body.json");
    std::fs::write(&file, r#"{"to":"ada"}"#).unwrap();
    let line = "inbox send mailer --id new-1 --type order.paid --header x-trace:7 body.json";
    assert_snapshot!(store.semel(line).shown(), @r#"
    stderr:
    public/mailer@1/new-1: RECEIVED

    exit: 0
    "#);
    assert_snapshot!(store.semel(line).shown(), @r#"
    stderr:
    public/mailer@1/new-1 was there already, and is RECEIVED; nothing was stored

    exit: 0
    "#);
    let shown = store
        .semel("inbox show mailer new-1 --json --payload")
        .json();
    assert_eq!(shown["arrived"]["payload"]["text"], r#"{"to":"ada"}"#);
    assert_eq!(shown["arrived"]["headers"][0]["value"], "7");
    assert_eq!(shown["message"]["event_type"], "order.paid");
    assert_eq!(shown["message"]["duplicates"], 1);
}

#[test]
fn another_payload_under_the_same_id_is_a_conflict() {
    let store = Fixture::with_messages();
    assert_eq!(store.semel("inbox send mailer --id new-1").code, 0);
    let mut command = store.command(&["inbox", "send", "mailer", "--id", "new-1", "-"]);
    let command = command.stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"other").unwrap();
    let ran = Ran::of(child.wait_with_output().unwrap());
    assert_eq!(ran.code, 1);
    let said = ran.stderr;
    assert_snapshot!(said, @r#"
    error: public/mailer@1/new-1 was there already with another payload; this one is parked beside it
    hint: look at it: semel inbox show mailer@1 'new-1#conflict-5c0735ac63b3c4a3'
    "#);
    let (_, look) = said.split_once("look at it: semel ").unwrap();
    assert_eq!(store.semel(&look.replace('\'', "")).code, 0);
}

#[test]
fn a_version_finds_its_place_by_the_policy_of_the_file() {
    let store = Fixture::configured();
    let send = |sequence: u64| {
        let line = format!(
            "inbox send indexer --id order-2-v{sequence} --key order-2 --sequence {sequence} --json"
        );
        store.semel(&line).json()["state"].clone()
    };
    assert_eq!(send(1), "RECEIVED");
    assert_eq!(send(3), "PARKED");
    assert_eq!(
        store.semel("inbox send indexer --id x --sequence 1").code,
        2
    );
}

#[test]
fn lines_of_a_file_are_received_once_and_what_is_no_message_is_parked() {
    let store = Fixture::with_messages();
    let lines = [
        r#"{"id": "new-1", "type": "order.paid", "headers": {"x-trace": "7"}, "payload": {"to": "ada"}}"#,
        r#"{"id": "new-2", "payload_text": "plain"}"#,
        r#"{"id": "new-1", "payload": "another"}"#,
        r#"{"payload": "whose?"}"#,
        "this is no JSON",
    ];
    let file = store.path().with_file_name("events.jsonl");
    std::fs::write(&file, lines.join("\n")).unwrap();
    assert_snapshot!(store.semel("inbox import mailer events.jsonl").shown(), @r#"
    stored      4
    duplicates  0
    conflicts   1   another payload under a known id, parked
    unreadable  2   of these are no messages, parked: semel inbox list --cause unreadable

    stderr:
    line 4: the message has no id, and its consumer requires one
    line 5: it is no envelope ({"id", "type", "key", "sequence", "headers", "payload"}) from column 1 on

    exit: 0
    "#);
    let shown = store
        .semel("inbox show mailer new-1 --json --payload")
        .json();
    assert_eq!(shown["arrived"]["payload"]["text"], r#"{"to": "ada"}"#);
    assert_eq!(shown["arrived"]["headers"][0]["value"], "7");
    let parked = store.semel("inbox list --cause unreadable --json").json();
    assert_eq!(parked["messages"].as_array().map(Vec::len), Some(2));
    let again = store
        .semel("inbox import mailer events.jsonl --json")
        .json();
    assert_eq!(
        (&again["stored"], &again["duplicates"]),
        (&0.into(), &4.into())
    );
    assert_snapshot!(store.semel("inbox import mailer nowhere.jsonl").shown(), @r#"
    stderr:
    error: file:nowhere.jsonl cannot be read: No such file or directory (os error 2)

    exit: 74
    "#);
}
