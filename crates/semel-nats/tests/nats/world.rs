//! A stream of its own for every test.

use std::net::SocketAddr;

use async_nats::jetstream::{self, Context, stream};
use async_nats::{Client, HeaderMap};
use semel_inbox::Source;
use semel_nats::NatsSource;
use semel_testkit::sources::taking::fresh_name;

/// A stream at a server.
pub(crate) struct World {
    pub(crate) addr: String,
    pub(crate) context: Context,
    pub(crate) stream: String,
}

impl World {
    /// A stream of the shared server.
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// The same with other settings.
    pub(crate) async fn with(change: impl FnOnce(&mut stream::Config)) -> Self {
        let url = std::env::var("SEMEL_TEST_NATS");
        let url =
            url.expect("SEMEL_TEST_NATS is not set; start it with `cargo xtask services up nats`");
        Self::at(&url, change).await
    }

    /// A stream of this server.
    pub(crate) async fn at(url: &str, change: impl FnOnce(&mut stream::Config)) -> Self {
        let client = async_nats::connect(url).await.expect("the server answers");
        let addr = url.trim_start_matches("nats://").trim_end_matches('/');
        Self::of(client, addr, change).await
    }

    /// A stream of the server that this client is connected to.
    pub(crate) async fn of(
        client: Client,
        addr: &str,
        change: impl FnOnce(&mut stream::Config),
    ) -> Self {
        let world = Self {
            addr: addr.to_owned(),
            context: jetstream::new(client),
            stream: fresh_name(),
        };
        world.create(change).await;
        world
    }

    pub(crate) async fn create(&self, change: impl FnOnce(&mut stream::Config)) {
        let mut config = stream::Config {
            name: self.stream.clone(),
            subjects: vec![format!("{}.>", self.stream)],
            ..stream::Config::default()
        };
        change(&mut config);
        self.context.create_stream(config).await.unwrap();
    }

    pub(crate) async fn delete(&self) {
        self.context.delete_stream(&self.stream).await.unwrap();
    }

    pub(crate) fn subject(&self, name: &str) -> String {
        format!("{}.{name}", self.stream)
    }

    /// The address of the stream with options such as `ack_wait=2s`.
    pub(crate) fn url(&self, options: &str) -> String {
        format!("nats://{}/{}?{options}", self.addr, self.stream)
    }

    pub(crate) fn source(&self, options: &str) -> NatsSource {
        NatsSource::from_url(&self.url(options), "reader").unwrap()
    }

    /// An open source.
    pub(crate) async fn open(&self, options: &str) -> NatsSource {
        let source = self.source(options);
        source.open(Vec::new()).await.unwrap();
        source
    }

    pub(crate) async fn publish(&self, ids: &[&str]) {
        for id in ids {
            let mut headers = HeaderMap::new();
            headers.insert("Nats-Msg-Id", *id);
            let subject = self.subject("a");
            let sent = self
                .context
                .publish_with_headers(subject, headers, (*id).to_owned().into());
            sent.await.unwrap().await.unwrap();
        }
    }

    pub(crate) fn socket(&self) -> SocketAddr {
        self.addr.parse().expect("an address of loopback")
    }

    /// Removes the stream at the end of a test.
    pub(crate) async fn end(self) {
        let _ = self.context.delete_stream(&self.stream).await;
    }
}
