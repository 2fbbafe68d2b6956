//! What `semel check` says about the brokers of a file.

use serde_json::{Value, json};

use super::{client, fresh, kafka, nats, nowhere, place, rabbit, sqs};

/// What is said about a broker, by its level, and the exit code.
fn checked(source: &str, more: &str) -> (Option<i32>, Vec<(String, String)>) {
    let deliver = "deliver: \"http://127.0.0.1:9/mail\"";
    let file = format!("  mailer: {{ source: \"{source}\", {deliver}, {more} }}");
    let place = place(&file);
    let ran = place.semel(&["check", "--config", "semel.yaml", "--json"]);
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["ok"], ran.code == Some(0), "{report}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let checks = report["checks"].as_array().unwrap().iter();
    let brokers = checks.filter(|check| check["name"] == "broker");
    let found = brokers.map(|check| (text(&check["level"]), text(&check["found"])));
    (ran.code, found.collect())
}

/// Sources that the brokers have, each with what is said about it.
#[test]
fn a_broker_is_judged_by_what_it_keeps_and_how_often_it_delivers() {
    const DAYS_30: &str = "2592000000";
    let name = |what: &str| fresh(what).replace('_', "-");
    let [long, compacted, stream, endless, queue, standard] = [
        "long",
        "compacted",
        "stream",
        "endless",
        "queue",
        "standard",
    ]
    .map(name);
    client(
        "kafka_topic",
        &json!([long, 1, { "retention.ms": DAYS_30 }]),
    );
    client(
        "kafka_topic",
        &json!([compacted, 1, { "cleanup.policy": "compact" }]),
    );
    client("nats_stream", &json!([stream, { "max_age": 3600 }]));
    client("nats_consumer", &json!([stream, "limited", 5]));
    client("nats_stream", &json!([endless, {}]));
    client("rabbit_dead", &json!([queue, []]));
    client("sqs_queue", &json!([standard]));
    let limited = format!("{}?durable=limited", nats(&stream));
    let weak = "dedup: { retentionDays: 7 }";
    let after = "ack: { timing: after-effect }";
    let table = [
        (
            kafka(&long),
            "dedup: { retentionDays: 30 }",
            0,
            "good",
            "30d",
        ),
        (
            kafka(&long),
            weak,
            78,
            "failed",
            "keeps messages for 30d, but ids are remembered for 7d",
        ),
        (kafka(&compacted), weak, 0, "warning", "is compacted"),
        (nats(&stream), weak, 0, "good", "keeps messages for 1h"),
        (limited.clone(), weak, 0, "good", "keeps messages for 1h"),
        (limited, after, 78, "failed", "after 5 deliveries"),
        (
            nats(&endless),
            weak,
            0,
            "warning",
            "keeps messages for ever, but ids are remembered for 7d",
        ),
        (sqs(&standard), weak, 0, "good", "0 messages wait"),
        (rabbit(&queue), after, 0, "good", "0 messages wait"),
    ];
    for (source, more, code, level, said) in table {
        let (found, checks) = checked(&source, more);
        assert_eq!(found, Some(code), "{source} {more}: {checks:?}");
        let is_said = |(known, found): &(String, String)| known == level && found.contains(said);
        assert!(checks.iter().any(is_said), "{source} {more}: {checks:?}");
    }
}

#[test]
fn ids_that_look_made_for_each_delivery_are_warned_about() {
    let place = place("  mailer: { source: http, deliver: \"http://127.0.0.1:9/mail\" }");
    let warning = |what: &str| {
        let ran = place.semel(&["check", "--config", "semel.yaml", "--json"]);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let mut checks = report["checks"].as_array().unwrap().iter();
        let is_said = |check: &&Value| {
            check["name"] == "ids" && check["found"].as_str().unwrap().contains(what)
        };
        checks
            .find(is_said)
            .is_some_and(|check| check["level"] == "warning")
    };
    let send = |id: &str| {
        std::fs::write(place.dir().join(id), id).unwrap();
        let words = ["inbox", "send", "mailer", "--id", id, id];
        place.semel(&words).done();
    };
    ["order-1", "1731750000123"].iter().for_each(|id| send(id));
    assert!(!warning("look made"), "one is chance");
    ["1731750000124", "1731750000125"]
        .iter()
        .for_each(|id| send(id));
    assert!(warning(
        "mailer@1: the ids of 3 of its latest messages look made for each delivery"
    ));
}

#[test]
fn what_is_missing_at_a_broker_is_refused_and_a_broker_that_is_away_is_waited_for() {
    let missing = fresh("missing").replace('_', "-");
    let away = nowhere();
    let table = [
        (kafka(&missing), 78, "failed", missing.as_str()),
        (rabbit(&missing), 78, "failed", missing.as_str()),
        (nats(&missing), 78, "failed", missing.as_str()),
        (format!("kafka://{away}/t"), 0, "warning", "does not answer"),
        (
            format!("amqp://{away}?queue=q&timeout=2s"),
            0,
            "warning",
            "does not answer",
        ),
        (
            format!("nats://{away}/S?timeout=2s"),
            0,
            "warning",
            "does not answer",
        ),
    ];
    for (source, code, level, said) in table {
        let (found, checks) = checked(&source, "paused: false");
        assert_eq!(found, Some(code), "{source}: {checks:?}");
        let is_said = |(known, found): &(String, String)| known == level && found.contains(said);
        assert!(checks.iter().any(is_said), "{source}: {checks:?}");
    }
}
