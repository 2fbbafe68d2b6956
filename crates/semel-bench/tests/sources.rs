//! A run over a few messages at real brokers has the shape of a real one; its figures mean nothing.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as the tests do")]

use std::sync::Arc;

use semel_amqp::AmqpSource;
use semel_bench::inbox::OpenInbox;
use semel_bench::sources::{Broker, OpenSource, SourceOptions, run};
use semel_core::inbox::Inbox;
use semel_inbox::Source;
use semel_kafka::KafkaSource;
use semel_nats::NatsSource;
use semel_redis_streams::RedisStreamsSource;
use semel_sqlite::Config;
use semel_sqs::SqsSource;

/// More than the engine asks for at once, and more than it keeps open.
const MESSAGES: usize = 1_200;

fn options(dir: &std::path::Path, brokers: Vec<(Broker, String)>) -> SourceOptions {
    let open: OpenInbox = Box::new(|place| {
        let store = Config::new(place.dir.join("semel.db")).open();
        Box::pin(async move { Ok(Arc::new(store?) as Arc<dyn Inbox>) })
    });
    let open_source: OpenSource = Box::new(|url, consumer| {
        Ok(match url.split_once("://").unwrap().0 {
            "kafka" => Arc::new(KafkaSource::from_url(url, consumer)?) as Arc<dyn Source>,
            "amqp" => Arc::new(AmqpSource::from_url(url, consumer)?),
            "nats" => Arc::new(NatsSource::from_url(url, consumer)?),
            "sqs" => Arc::new(SqsSource::from_url(url, consumer)?),
            "redis-streams" => Arc::new(RedisStreamsSource::from_url(url, consumer)?),
            other => panic!("no broker has the scheme {other}"),
        })
    });
    let mut options = SourceOptions::new(dir, open, open_source);
    options.brokers = brokers;
    options.messages = MESSAGES;
    options.rounds = 1;
    options
}

async fn measure(broker: Broker, variable: &str, service: &str) {
    let address = std::env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set; start it with `cargo xtask services up {service}`")
    });
    let dir = tempfile::tempdir().unwrap();
    let report = run(options(dir.path(), vec![(broker, address)]))
        .await
        .unwrap();

    let goals: Vec<_> = report.results.iter().map(|r| r.goal).collect();
    assert_eq!(goals, ["G12", "G12b"]);
    for result in &report.results {
        assert!(result.ours > 0.0 && result.baseline > 0.0, "{result:?}");
        assert_eq!(result.ratio, result.ours / result.baseline, "{result:?}");
        assert_eq!(
            (result.ratio_min, result.ratio_max),
            (result.ratio, result.ratio)
        );
        assert_eq!(result.p50_us.is_some(), result.goal == "G12");
        assert!(
            result.name.starts_with(&format!("{broker}: ")),
            "{result:?}"
        );
        assert!(report.table().contains(&result.name));
    }
    assert_eq!(report.json()["results"][1]["goal"], "G12b");
    let left = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(left, 0, "the benchmark removes its files");
}

macro_rules! measured {
    ($($test:ident: $broker:expr, $variable:literal, $service:literal;)+) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $test() {
            measure($broker, $variable, $service).await;
        }
    )+};
}

measured! {
    kafka_is_measured_beside_a_bare_consumer: Broker::Kafka, "SEMEL_TEST_KAFKA", "kafka";
    rabbitmq_is_measured_beside_a_bare_consumer: Broker::RabbitMq, "SEMEL_TEST_RABBITMQ", "rabbitmq";
    nats_is_measured_beside_a_bare_consumer: Broker::Nats, "SEMEL_TEST_NATS", "nats";
    sqs_is_measured_beside_a_bare_consumer: Broker::Sqs, "SEMEL_TEST_SQS", "sqs";
    redis_streams_are_measured_beside_a_bare_consumer: Broker::RedisStreams, "SEMEL_TEST_REDIS_URL", "redis";
}

#[tokio::test]
async fn options_of_sources_out_of_bounds_are_refused() {
    let refused = |change: fn(&mut SourceOptions)| async move {
        let mut options = options(
            std::path::Path::new("/tmp"),
            vec![(Broker::Kafka, "127.0.0.1:1".to_owned())],
        );
        change(&mut options);
        run(options).await.is_err()
    };
    assert!(refused(|options| options.rounds = 0).await);
    assert!(refused(|options| options.messages = 0).await);
    assert!(refused(|options| options.brokers.clear()).await);
}
