//! A store in a folder of its own, and ways to wait for what must become true.

pub(crate) mod hook;
pub(crate) mod server;
pub(crate) mod watch;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{Arrivals, Cause, Detail, Message, Plan, Query, Receipt, State};
use semel_core::{Clock, Identity, Inbox, LeaseTerm, ManualClock, Timestamp};
use semel_inbox::policy::retry::Backoff;
use semel_inbox::{Builder, Engine, Settings};
use semel_inbox::{Consumer, Retry};
use semel_sqlite::{Config, SqliteStore};
use tempfile::TempDir;

use watch::Seen;

/// How long something that must become true may take before the test fails.
const PATIENCE: Duration = Duration::from_secs(180);

/// A store and who watches.
pub(crate) struct Rig {
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) seen: Arc<Seen>,
    pub(crate) dir: TempDir,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::open(|config| config)
    }

    /// With a store whose time stands still until it is told to move.
    pub(crate) fn with_clock() -> (Self, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::at(Timestamp::from_millis(1_700_000_000_000)));
        let shared: Arc<dyn Clock> = clock.clone();
        (Self::open(|config| config.clock(shared)), clock)
    }

    fn open(change: impl FnOnce(Config) -> Config) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = Config::new(dir.path().join("semel.db"));
        Self {
            store: Arc::new(change(config).open().unwrap()),
            seen: Arc::default(),
            dir,
        }
    }

    /// An engine on this store that does not take its time.
    pub(crate) fn engine(&self) -> Builder {
        self.engine_on(self.store.clone())
    }

    pub(crate) fn engine_on(&self, inbox: Arc<dyn Inbox>) -> Builder {
        let settings = Settings {
            poll: Duration::from_millis(20),
            drain: PATIENCE,
            housekeeping: Duration::from_millis(20),
            alerts: Duration::from_millis(20),
            facts: Duration::from_millis(20),
        };
        Engine::builder(inbox)
            .settings(settings)
            .watch(self.seen.clone())
    }

    /// Stores messages of one consumer in one call.
    pub(crate) async fn receive_all(&self, messages: Vec<Message>) {
        let plan = Plan::new(messages[0].identity().scope().clone());
        let arrivals = Arrivals {
            plan,
            messages,
            positions: Vec::new(),
        };
        self.store.receive(arrivals).await.unwrap();
    }

    pub(crate) async fn receive(&self, message: Message) -> Receipt {
        let plan = Plan::new(message.identity().scope().clone());
        let arrivals = Arrivals {
            plan,
            messages: vec![message],
            positions: Vec::new(),
        };
        self.store.receive(arrivals).await.unwrap()[0]
    }

    /// What of a consumer is unreadable, the newest first.
    pub(crate) async fn unreadable(&self, consumer: &str) -> Vec<Detail> {
        let query = Query {
            consumer: Some(consumer.parse().unwrap()),
            cause: Some(Cause::Unreadable),
            ..Query::default()
        };
        let page = self.store.list_messages(query).await.unwrap();
        let mut all = Vec::new();
        for entry in page.entries {
            let detail = self.store.message(entry.identity).await.unwrap();
            all.push(detail.unwrap());
        }
        all
    }

    /// Waits until a message is in this state.
    pub(crate) async fn until(&self, message: &Identity, state: State) -> Detail {
        let look = async || {
            let detail = self.store.message(message.clone()).await.unwrap();
            detail.filter(|detail| detail.entry.state == state)
        };
        eventually(&format!("{message} in {}", state.name()), look).await
    }
}

/// Waits until something is there.
pub(crate) async fn eventually<T, Fut: Future<Output = Option<T>>>(
    what: &str,
    look: impl Fn() -> Fut,
) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, found).await;
    found.unwrap_or_else(|_| panic!("this did not happen: {what}"))
}

/// A consumer whose retries do not take their time, and whose leases and deadlines no slow machine reaches.
pub(crate) fn consumer(name: &str) -> Consumer {
    let mut consumer = Consumer::new(name.parse().unwrap());
    consumer.lease = LeaseTerm::new(2 * PATIENCE).unwrap();
    consumer.deadline = 2 * PATIENCE;
    consumer.retry = quick(5);
    consumer
}

/// So many attempts, a millisecond apart.
pub(crate) fn quick(attempts: u32) -> Retry {
    let millisecond = Duration::from_millis(1);
    let backoff = Backoff {
        first: millisecond,
        max: millisecond,
        ..Backoff::default()
    };
    Retry::new(attempts, backoff).unwrap()
}

pub(crate) fn identity(consumer: &str, id: &str) -> Identity {
    Identity::parse("public", consumer, id).unwrap()
}

pub(crate) fn message(consumer: &str, id: &str, payload: &str) -> Message {
    Message::new(identity(consumer, id), payload.to_owned()).unwrap()
}
