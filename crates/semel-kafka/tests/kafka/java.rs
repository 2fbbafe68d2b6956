//! Messages of Java's own client feed an engine: transactions, all codecs, headers without a value, keys and tombstones.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_core::Retention;
use semel_core::inbox::Message;
use semel_inbox::source::Notes;
use semel_inbox::{Consumer, Done, Engine, Handler, Rule, handler_fn};
use tokio::process::Command;

use crate::conformance::inbox;
use crate::support::{Topic, broker, until};

/// One transaction per codec is aborted, then one is committed: 20 messages, the first of them twice, and a tombstone.
const PRODUCER: &str = r#"
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class Producer {
    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static void send(KafkaProducer<byte[], byte[]> producer, String topic, String id, String key, byte[] value) {
        var message = new ProducerRecord<>(topic, null, bytes(key), value);
        message.headers().add("message-id", bytes(id)).add("n", null).add("n", new byte[] {(byte) 0xff});
        producer.send(message);
    }

    public static void main(String[] args) {
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            Map<String, Object> settings = Map.of(
                "bootstrap.servers", args[0], "transactional.id", args[1] + codec, "compression.type", codec, "linger.ms", 50);
            try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
                producer.initTransactions();
                producer.beginTransaction();
                send(producer, args[1], codec + "-aborted", "k", bytes("x"));
                producer.flush();
                producer.abortTransaction();
                producer.beginTransaction();
                for (int n = 0; n < 21; n++) {
                    send(producer, args[1], codec + "-" + n % 20, "k-" + n % 20, bytes("x".repeat(500)));
                }
                send(producer, args[1], codec + "-gone", "k", null);
                producer.commitTransaction();
            }
        }
    }
}
"#;

async fn produce(topic: &Topic) {
    let tool = std::env::var("SEMEL_TEST_KAFKA_JAVA").expect(
        "SEMEL_TEST_KAFKA_JAVA is not set; get it with `cargo xtask services up kafka-java`",
    );
    let jars = Path::new(&tool).join("jars").join("*");
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("Producer.java");
    std::fs::write(&file, PRODUCER).unwrap();
    let mut java = Command::new("java");
    java.arg("-cp").arg(jars).arg(file);
    let produced = java.args([&broker(), &topic.name]).output().await;
    let produced = produced.expect("a Java that runs");
    let said = String::from_utf8_lossy(&produced.stderr);
    assert!(produced.status.success(), "{said}");
}

/// How often each message took effect.
type Effects = Arc<Mutex<BTreeMap<String, (u32, Message)>>>;

fn handler(effects: Effects) -> impl Handler {
    handler_fn(move |ctx| {
        let (effects, message) = (effects.clone(), ctx.message().clone());
        async move {
            let id = message.identity().key().as_str().to_owned();
            let mut effects = effects.lock().unwrap();
            effects.entry(id).or_insert((0, message)).0 += 1;
            Ok(Done::new())
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_of_javas_client_take_effect_once_and_aborted_ones_not_at_all() {
    let (topic, dir) = (Topic::new(3).await, tempfile::tempdir().unwrap());
    let (effects, mut consumer) = (Effects::default(), Consumer::new("java".parse().unwrap()));
    // Longer than the broker keeps anything.
    let keep = Duration::from_secs(60 * 24 * 60 * 60);
    consumer.plan.retention = Retention::delete_after(keep).unwrap();
    let name = consumer.name().clone();
    let running = Engine::builder(inbox(&dir.path().join("semel.db")))
        .consumer(consumer, handler(effects.clone()))
        .source(name, Arc::new(topic.source("")), Rule::broker())
        .build()
        .unwrap()
        .start();
    produce(&topic).await;
    until("all are acknowledged", || {
        running.sources()[0].acked == 5 * 22
    })
    .await;
    until("all take effect", || {
        effects.lock().unwrap().len() == 5 * 21
    })
    .await;
    running.shutdown().await;
    let effects = effects.lock().unwrap();
    assert!(
        effects.values().all(|(count, _)| *count == 1),
        "{effects:?}"
    );
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let (_, message) = &effects[&format!("{codec}-19")];
        assert_eq!(&message.payload()[..], &[b'x'; 500], "{codec}");
        assert_eq!(message.lane().map(|lane| lane.as_str()), Some("k-19"));
        let notes = Notes::of(message.headers());
        let own = notes.headers.iter().filter(|(name, _)| name == "n");
        let own: Vec<_> = own.map(|(_, value)| value.as_deref()).collect();
        assert_eq!(own, [None, Some(&[0xff][..])], "{codec}");
        let (_, tombstone) = &effects[&format!("{codec}-gone")];
        assert!(Notes::of(tombstone.headers()).is_tombstone, "{codec}");
    }
}
