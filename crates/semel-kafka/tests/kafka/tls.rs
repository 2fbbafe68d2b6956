//! A broker whose certificate only a private authority vouches for, with and without a password. Only builds with the feature `tls` can.

#[allow(unreachable_pub, reason = "another crate's tests share it")]
#[path = "../../../semel-postgres/tests/support/authority.rs"]
mod authority;

use authority::Authority;
use semel_core::Kind;
use semel_inbox::Source;
use semel_inbox::intents::{Outlet, Sent};
use semel_inbox::source::{Settle, Settled};
use semel_kafka::{KafkaOutlet, KafkaSource};
use semel_testkit::server::{Server, free_port};
use semel_testkit::sources::taking::{outgoing, settle, take};
use tokio::task::spawn_blocking;

use crate::support::{Topic, ids};

/// The user of every broker of the tests, who is there before it starts.
const USER: &str = "semel:semel-test";

fn settings(authority: &Authority, [tls, sasl]: [u16; 2]) -> Vec<String> {
    let [certificate, key] = authority.certify("localhost", "root");
    // In a file of properties these two characters end a line of a value.
    let text = |file| std::fs::read_to_string(file).unwrap().replace('\n', "\\n");
    let listeners = "PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port2}";
    vec![
        format!("listeners={listeners},SSL://localhost:{tls},SASL_SSL://localhost:{sasl}"),
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL".to_owned(),
        "ssl.keystore.type=PEM".to_owned(),
        format!("ssl.keystore.certificate.chain={}", text(certificate)),
        format!("ssl.keystore.key={}", text(key)),
        "sasl.enabled.mechanisms=SCRAM-SHA-256".to_owned(),
        "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;"
            .to_owned(),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_is_trusted_by_its_certificate_and_trusts_whoever_knows_the_password() {
    let (ours, other) = (Authority::new(), Authority::new());
    let ports = [free_port(), free_port()];
    let settings = settings(&ours, ports);
    let start = move || {
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        Server::start("kafka", &settings)
    };
    let server = spawn_blocking(start).await.unwrap();
    let topic = Topic::at(server.url(), 1, &[]).await;
    let [tls, sasl] = ports;
    let scram = |user: &str| format!("{user}@localhost:{sasl}");
    let url = |at: &str, ca: &Authority, options: &str| {
        let (topic, ca) = (&topic.name, ca.file());
        format!("kafka://{at}/{topic}?tls=true&ca={ca}{options}")
    };
    let expected = topic.publish_ids(0..3);
    for (at, options) in [
        (format!("localhost:{tls}"), ""),
        (scram(USER), "&sasl=scram-sha-256"),
    ] {
        let url = url(&at, &ours, options);
        // A group for each way, so that both read everything.
        let source = KafkaSource::from_url(&url, &format!("g{}", options.len())).unwrap();
        source.open(Vec::new()).await.unwrap();
        let found = take(&source, 3).await;
        assert_eq!(ids(&found), expected, "{at}");
        let settled = settle(&source, &found, Settle::Ack).await;
        assert_eq!(settled, [Settled::Done; 3]);
        source.close().await.unwrap();
        let outlet = KafkaOutlet::from_url(&url).unwrap();
        let sent = outlet.send(vec![outgoing("sent")]).await;
        assert!(matches!(sent[0], Sent::Done(_)), "{at}: {sent:?}");
    }
    for (at, ca, options) in [
        (format!("localhost:{tls}"), &other, ""),
        (scram("semel:wr0ng"), &ours, "&sasl=scram-sha-256"),
    ] {
        let source = KafkaSource::from_url(&url(&at, ca, options), "c").unwrap();
        let error = source.open(Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid, "{at}: {error}");
        assert!(!format!("{error} {error:?} {source:?}").contains("wr0ng"));
    }
    drop(topic);
    spawn_blocking(move || drop(server)).await.unwrap();
}
