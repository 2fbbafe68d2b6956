//! A consumer of Kafka whose processed ids are in a topic: the store has no inbox, and none is needed.

use serde_json::json;

use super::{client, fresh, kafka, message};
use crate::handler::Handler;
use crate::support::Semel;
use crate::test_store::TestStore;

#[test]
fn a_consumer_with_a_log_needs_no_database_and_knows_duplicates_after_a_restart() {
    let (place, handler, topic) = (TestStore::redis(), Handler::open(), fresh("topic"));
    let (log, dead) = (format!("{topic}.processed"), format!("{topic}.dead"));
    for (name, config) in [
        (&topic, json!({})),
        (&log, json!({ "cleanup.policy": "compact" })),
        (&dead, json!({})),
    ] {
        client("kafka_topic", &json!([name, 1, config]));
    }
    let file = format!(
        "store: \"{}\"\nadmin: {{ listen: 127.0.0.1:0 }}\nconsumers:\n  notifier:\n    source: {}?group={topic}\n    \
         deliver: http://{}/notify\n    processed_log: {{ topic: {log}, dead_letters: {dead} }}\n",
        place.url,
        kafka(&topic),
        handler.addr
    );
    std::fs::write(place.dir().join("semel.yaml"), file).unwrap();
    let send = |ids: &[&str]| {
        let messages: Vec<_> = ids.iter().map(|id| message(id, id)).collect();
        client("kafka_send", &json!([topic, messages]));
    };
    let committed = |count: u64| {
        let args = json!([topic, 1, topic]);
        let is_so = (0..60).any(|_| client("kafka_offsets", &args).as_u64() == Some(count));
        assert!(is_so, "{count} are never committed");
    };
    let handled = |id: &str| {
        let delivery = handler.next();
        assert_eq!(delivery.header("semel-message-id"), id);
        assert_eq!(
            delivery.header("idempotency-key"),
            format!("notifier@1:{id}")
        );
        delivery.answer(200);
    };

    send(&["a", "a", "b"]);
    let mut server = Semel::serve(place.dir(), &[]);
    let mut first: Vec<String> = (0..2).map(|_| answered(&handler)).collect();
    first.sort_unstable();
    assert_eq!(first, ["a", "b"]);
    committed(3);
    server.signal("TERM");
    assert_eq!(server.wait(), Some(0), "{}", server.log());

    send(&["b", "a", "c"]);
    let _server = Semel::serve(place.dir(), &[]);
    handled("c");
    committed(6);
    assert!(handler.is_quiet(), "a duplicate was delivered");
}

/// The id of the next delivery, which is answered.
fn answered(handler: &Handler) -> String {
    let delivery = handler.next();
    let id = delivery.header("semel-message-id").to_owned();
    delivery.answer(200);
    id
}
