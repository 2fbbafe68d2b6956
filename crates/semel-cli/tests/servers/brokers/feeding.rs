//! Other people's producers feed `semel serve`, and other people's consumers read what its handlers publish.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{client, fresh, kafka, message, nats, rabbit, sqs};
use crate::handler::{Delivery, Handler};
use crate::support::Semel;
use crate::test_store::TestStore;

/// By the names that `clients.py` has for them; confluent-kafka, pika, nats-py and boto3 speak to them.
const BROKERS: [&str; 4] = ["kafka", "rabbit", "nats", "sqs"];
const ORDERS: [&str; 3] = ["o-1", "o-2", "o-3"];

/// Two places at one broker.
struct Flow {
    broker: &'static str,
    incoming: String,
    outgoing: String,
}

impl Flow {
    fn new(broker: &'static str) -> Self {
        let place = |what: &str| fresh(&format!("{broker}-{what}")).replace('_', "-");
        let flow = Self {
            broker,
            incoming: place("in"),
            outgoing: place("out"),
        };
        client("make", &json!([broker, flow.incoming]));
        client("make", &json!([broker, flow.outgoing]));
        flow
    }

    fn url(&self, place: &str) -> String {
        match self.broker {
            "kafka" => kafka(place),
            "rabbit" => rabbit(place),
            "nats" => nats(place),
            _ => sqs(place),
        }
    }

    /// One half of the consumers acknowledges after the effect.
    fn consumer(&self, handler: &Handler) -> String {
        let timing = match self.broker {
            "kafka" | "nats" => "after-effect",
            _ => "after-receive",
        };
        format!(
            "  {name}:\n    source: \"{source}\"\n    deliver: http://{to}/{name}\n    ack: {{ timing: {timing} }}\n    dedup: {{ retentionDays: 30 }}\n",
            name = self.incoming,
            source = self.url(&self.incoming),
            to = handler.addr,
        )
    }

    fn target(&self) -> String {
        // The option of a source's long polls is none of an outlet.
        let url = self.url(&self.outgoing).replace("&wait=1s", "");
        format!("  out-{}: {{ url: \"{url}\" }}\n", self.broker)
    }

    /// Each order twice, and an event in two modes.
    fn feed(&self) {
        let orders = ORDERS.iter().chain(&ORDERS);
        let orders: Vec<Value> = orders.map(|id| message(id, id)).collect();
        client("send", &json!([self.broker, self.incoming, orders]));
        client("send_event", &json!([self.broker, self.incoming, "e-1"]));
    }

    /// What handlers have published: once for each message.
    fn is_published(&self) {
        let ids = ORDERS.into_iter().chain([EVENT]);
        let found = client("published", &json!([self.broker, self.outgoing, 4]));
        let payloads = found.as_array().unwrap().iter();
        let mut payloads: Vec<&str> = payloads.map(|one| one[1].as_str().unwrap()).collect();
        payloads.sort_unstable();
        let mut expected: Vec<String> = ids.map(|id| json!({ "about": id }).to_string()).collect();
        expected.sort_unstable();
        assert_eq!(payloads, expected, "{}: {found}", self.broker);
    }
}

/// The id of the event.
const EVENT: &str = "/sdk#e-1";

/// Publishes something about the message.
fn publish(delivery: Delivery) -> (String, String) {
    let about = delivery.header("semel-message-id").to_owned();
    let consumer = delivery.header("semel-consumer").to_owned();
    let broker = consumer.split('-').next().unwrap();
    let intent = json!({ "name": "said", "target": format!("out-{broker}"), "key": "one", "body": { "about": about } });
    let kind = "application/vnd.semel.intents+json";
    delivery.answer_with((200, kind, json!({ "intents": [intent] }).to_string()));
    (consumer, about)
}

#[test]
fn what_other_clients_send_takes_effect_once_and_they_read_what_handlers_publish() {
    let (place, handler) = (TestStore::at("sqlite:semel.db"), Handler::open());
    let flows = BROKERS.map(Flow::new);
    let consumers: String = flows.iter().map(|flow| flow.consumer(&handler)).collect();
    let targets: String = flows.iter().map(Flow::target).collect();
    let file = format!(
        "store: sqlite:semel.db\nadmin: {{ listen: 127.0.0.1:0 }}\nconsumers:\n{consumers}intents:\n{targets}"
    );
    std::fs::write(place.dir().join("semel.yaml"), file).unwrap();
    let _server = Semel::serve(place.dir(), &[]);
    flows.iter().for_each(Flow::feed);

    let mut effects: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for _ in 0..BROKERS.len() * (ORDERS.len() + 1) {
        let (consumer, id) = publish(handler.next());
        effects.entry(consumer).or_default().push(id);
    }
    let mut expected = ORDERS.to_vec();
    expected.push(EVENT);
    expected.sort_unstable();
    assert_eq!(effects.len(), BROKERS.len());
    for (consumer, mut ids) in effects {
        ids.sort_unstable();
        assert_eq!(ids, expected, "{consumer}");
    }
    flows.iter().for_each(Flow::is_published);
    assert!(handler.is_quiet(), "a duplicate was delivered");
}
