//! What the tests share: a stream of its own for each, and short ways to read and answer.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use redis::Value;
use redis::aio::MultiplexedConnection;
use semel_inbox::Source;
use semel_inbox::source::Delivery;
use semel_redis_streams::RedisStreamsSource;
use semel_testkit::sources::taking::fresh_name;

const VARIABLE: &str = "SEMEL_TEST_REDIS_URL";

/// A stream that no other test uses; it is deleted at the end.
pub(crate) struct Stream {
    pub(crate) name: String,
    server: String,
    pub(crate) redis: MultiplexedConnection,
}

async fn connect(server: &str) -> MultiplexedConnection {
    let client = redis::Client::open(server).unwrap();
    client.get_multiplexed_async_connection().await.unwrap()
}

impl Stream {
    pub(crate) async fn new() -> Self {
        let server = std::env::var(VARIABLE).unwrap_or_else(|_| {
            panic!("{VARIABLE} is not set; start it with `cargo xtask services up redis` and export what it prints")
        });
        Self::at(&server).await
    }

    /// A stream of this server.
    pub(crate) async fn at(server: &str) -> Self {
        let redis = connect(server).await;
        let server = server
            .trim_start_matches("redis://")
            .split('?')
            .next()
            .unwrap();
        let stream = Self {
            name: fresh_name(),
            server: server.trim_end_matches('/').to_owned(),
            redis,
        };
        stream.ask("DEL", &[&stream.name]).await;
        stream
    }

    /// The same stream, after its server was away.
    pub(crate) async fn again(&mut self, server: &str) {
        self.redis = connect(server).await;
    }

    /// Its URL with these options.
    pub(crate) fn url(&self, options: &str) -> String {
        format!("redis-streams://{}/{}?{options}", self.server, self.name)
    }

    /// The same through another address.
    pub(crate) fn url_at(&self, address: &str, options: &str) -> String {
        self.url(options).replace(self.server(), address)
    }

    /// Host and port of the server.
    pub(crate) fn server(&self) -> &str {
        let server = self.server.rsplit('@').next().unwrap();
        server.split('/').next().unwrap()
    }

    /// A source that is open.
    pub(crate) async fn source(&self, options: &str) -> RedisStreamsSource {
        let url = self.url(&format!("create=true&{options}"));
        let source = RedisStreamsSource::from_url(&url, "billing").unwrap();
        source.open(Vec::new()).await.unwrap();
        source
    }

    pub(crate) async fn ask(&self, command: &str, args: &[&str]) -> Value {
        let mut redis = self.redis.clone();
        redis::cmd(command)
            .arg(args)
            .query_async(&mut redis)
            .await
            .unwrap()
    }

    /// Appends entries with the payloads 0, 1, 2, …
    pub(crate) async fn add(&self, count: usize) {
        self.add_all(0..count).await;
    }

    /// Appends entries with these numbers as payloads.
    pub(crate) async fn add_all(&self, numbers: std::ops::Range<usize>) {
        for number in numbers {
            let number = number.to_string();
            self.ask(
                "XADD",
                &[
                    &self.name,
                    "*",
                    "message-id",
                    &format!("m-{number}"),
                    "payload",
                    &number,
                ],
            )
            .await;
        }
    }

    /// How many entries are pending in the group `billing`.
    pub(crate) async fn pending(&self) -> i64 {
        match self.ask("XPENDING", &[&self.name, "billing"]).await {
            Value::Array(parts) => match parts[0] {
                Value::Int(count) => count,
                ref other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn delete(&self) {
        self.ask("DEL", &[&self.name]).await;
    }
}

pub(crate) fn payloads(deliveries: &[Delivery]) -> Vec<String> {
    let payload = |delivery: &Delivery| {
        let payload = delivery.raw.payload.clone().unwrap();
        String::from_utf8(payload.to_vec()).unwrap()
    };
    deliveries.iter().map(payload).collect()
}

pub(crate) fn coordinates(deliveries: &[Delivery]) -> Vec<String> {
    let coordinates = |delivery: &Delivery| delivery.raw.coordinates.clone().unwrap();
    deliveries.iter().map(coordinates).collect()
}
