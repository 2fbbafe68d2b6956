//! A broker that asks who we are.

use semel_core::Kind;
use semel_inbox::Source;
use semel_inbox::intents::{Outlet, Sent};
use semel_kafka::{KafkaOutlet, KafkaSource};
use semel_testkit::server::Server;
use semel_testkit::sources::taking::outgoing;
use tokio::task::spawn_blocking;

const SETTINGS: [&str; 4] = [
    "listener.security.protocol.map=PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms=PLAIN",
    "sasl.mechanism.inter.broker.protocol=PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
     username=\"broker\" password=\"b\" user_broker=\"b\" user_semel=\"right:1\";",
];

#[tokio::test(flavor = "multi_thread")]
async fn a_password_opens_the_broker_and_a_wrong_one_does_not_pass_by_itself() {
    let server = spawn_blocking(|| Server::start("kafka", &SETTINGS));
    let server = server.await.unwrap();
    let url = |password: &str| format!("kafka://semel:{password}@{}/t?sasl=plain", server.url());
    let right = KafkaSource::from_url(&url("right%3A1"), "c").unwrap();
    let error = right.open(Vec::new()).await.unwrap_err().to_string();
    assert!(error.contains("does not exist"), "it was let in: {error}");
    let wrong = KafkaSource::from_url(&url("wr0ng"), "c").unwrap();
    let error = wrong.open(Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid, "{error}");
    assert!(!format!("{error} {error:?} {wrong:?}").contains("wr0ng"));
    let outlet = KafkaOutlet::from_url(&url("wr0ng")).unwrap();
    let sent = outlet.send(vec![outgoing("a")]).await;
    assert!(matches!(sent[0], Sent::NotSent(_)), "{sent:?}");
    drop((right, wrong, outlet));
    spawn_blocking(move || drop(server)).await.unwrap();
}
