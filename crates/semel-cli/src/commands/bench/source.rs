//! `semel bench source`: how fast messages of brokers are received and dealt with, as ratios against bare consumers in the same run.

use std::path::PathBuf;
use std::sync::Arc;

use semel_bench::SourceOptions;
use semel_bench::progress::Bar;
use semel_bench::sources::Broker;
use semel_inbox::Source;
use semel_policy::value::{SourceUrl, StoreUrl, Text as _};

use super::inbox::{Schemas, open_sqlite};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::{output, serving};

/// Which brokers, and with how much.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Where Kafka listens
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "SEMEL_TEST_KAFKA",
        hide_env_values = true
    )]
    kafka: Option<String>,

    /// Where RabbitMQ is: amqp://…
    #[arg(
        long,
        value_name = "URL",
        env = "SEMEL_TEST_RABBITMQ",
        hide_env_values = true
    )]
    rabbitmq: Option<String>,

    /// Where a NATS server with JetStream is: nats://…
    #[arg(
        long,
        value_name = "URL",
        env = "SEMEL_TEST_NATS",
        hide_env_values = true
    )]
    nats: Option<String>,

    /// Where a server is that speaks as SQS does and asks for no credentials: http://…
    #[arg(
        long,
        value_name = "URL",
        env = "SEMEL_TEST_SQS",
        hide_env_values = true
    )]
    sqs: Option<String>,

    /// Where Redis is: redis://…
    #[arg(
        long,
        value_name = "URL",
        env = "SEMEL_TEST_REDIS_URL",
        hide_env_values = true
    )]
    redis: Option<String>,

    /// How many messages a turn has; five times as many for Kafka, whose client reads far ahead, a tenth for SQS, whose calls carry ten
    #[arg(long, default_value_t = 20_000)]
    messages: usize,

    /// How many rounds; in each, ours and the bare consumer take turns
    #[arg(long, default_value_t = 3)]
    rounds: usize,

    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

impl std::fmt::Debug for Args {
    /// Without addresses: they may hold passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Args").finish_non_exhaustive()
    }
}

impl Args {
    /// The brokers that are named; says which are left out.
    fn brokers(&self) -> Result<Vec<(Broker, String)>> {
        let all = [
            (Broker::Kafka, "--kafka", &self.kafka),
            (Broker::RabbitMq, "--rabbitmq", &self.rabbitmq),
            (Broker::Nats, "--nats", &self.nats),
            (Broker::Sqs, "--sqs", &self.sqs),
            (Broker::RedisStreams, "--redis", &self.redis),
        ];
        let (mut named, mut left_out) = (Vec::new(), Vec::new());
        for (broker, flag, address) in all {
            match address.as_ref().filter(|address| !address.is_empty()) {
                Some(address) => named.push((broker, address.clone())),
                None => left_out.push(format!("{broker} is left out: {flag} does not name it")),
            }
        }
        if named.is_empty() {
            return Err(Error::new(
                Exit::Usage,
                "no broker is named by --kafka, --rabbitmq, --nats, --sqs or --redis; \
                 `cargo xtask services up kafka rabbitmq nats sqs redis` starts all of them and prints variables that name them",
            ));
        }
        left_out.iter().for_each(|line| output::note(line));
        Ok(named)
    }
}

/// Measures and prints.
pub(super) async fn run(args: Args, url: &StoreUrl, dir: PathBuf) -> Result<()> {
    let (brokers, schemas) = (args.brokers()?, Schemas::of(url)?);
    let open = schemas.as_ref().map_or_else(open_sqlite, Schemas::opening);
    let mut options = SourceOptions::new(dir, open, Box::new(open_source));
    options.brokers = brokers;
    options.messages = args.messages;
    options.rounds = args.rounds;
    options.progress = Box::new(Bar::new());
    let report = semel_bench::sources::run(options).await;
    if let Some(schemas) = &schemas {
        schemas.clean().await?;
    }
    let report = report?;
    match args.json {
        true => output::data(&report.json().to_string()),
        false => output::data(&report.table()),
    }
}

/// A source as `semel serve` makes it.
fn open_source(url: &str, consumer: &str) -> semel_core::Result<Arc<dyn Source>> {
    let refused = |why: String| semel_core::Error::invalid(why);
    match SourceUrl::parse(url) {
        Ok(SourceUrl::Broker(url)) => serving::broker_source(&consumer.parse()?, consumer, &url)
            .map_err(|error| refused(error.message().to_owned())),
        // The URL may hold a password, so it is not repeated.
        Ok(_) | Err(_) => Err(refused("expected the address of a broker".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(kafka: Option<&str>, nats: Option<&str>) -> Args {
        Args {
            kafka: kafka.map(str::to_owned),
            rabbitmq: None,
            nats: nats.map(str::to_owned),
            sqs: None,
            redis: None,
            messages: 1,
            rounds: 1,
            json: false,
        }
    }

    #[test]
    fn brokers_that_are_named_are_measured_and_without_any_it_says_how_to_start_them() {
        let named = args(Some("h:1"), Some("nats://h")).brokers().unwrap();
        let expected = [(Broker::Kafka, "h:1"), (Broker::Nats, "nats://h")];
        assert_eq!(named, expected.map(|(broker, at)| (broker, at.to_owned())));
        let error = args(Some(""), None).brokers().unwrap_err();
        let error = error.message();
        assert!(error.contains("cargo xtask services up kafka"), "{error}");
    }
}
