//! A store that is open.

use std::sync::Arc;

use semel_core::clock::Doubt;
use semel_core::inbox::Inbox;
use semel_core::{Clock, Identity, Record, Store, StoreExt, Timestamp};
use semel_postgres::PostgresStore;
use semel_redis::RedisStore;
use semel_seal::{Kek, Keyring, Sealed, SealedInbox};
use semel_sqlite::SqliteStore;

use super::Part;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// An open store, and the clock that it judges by.
pub(crate) struct Opened {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Its inbox; only SQLite and PostgreSQL have one.
    pub(crate) inbox: Option<Arc<dyn Inbox>>,
    pub(super) servers: Vec<Server>,
    /// The file that is the store or a part of it.
    pub(super) file: Option<Arc<SqliteStore>>,
    /// The keys that contents are sealed with, once the store is behind the seal.
    pub(super) keys: Option<Keyring>,
}

/// A server behind the store; it can tell how durable it is.
pub(super) enum Server {
    Postgres(Arc<PostgresStore>),
    Redis(Arc<RedisStore>),
}

/// The time of a store whose server tells it.
#[derive(Debug)]
pub(super) struct ServersTime(pub(super) Arc<dyn Store>);

impl Clock for ServersTime {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

impl Opened {
    /// A store for tests, with the machine's time.
    #[cfg(test)]
    pub(crate) fn new(store: impl Store) -> Self {
        Self {
            store: Arc::new(store),
            clock: Arc::new(semel_core::SystemClock::new()),
            inbox: None,
            servers: Vec::new(),
            file: None,
            keys: None,
        }
    }

    /// The same behind the seal. Without keys it writes plain, and says of sealed contents that it cannot read them.
    pub(super) fn sealed(mut self, keks: Vec<Kek>) -> Result<Self> {
        let keys = Keyring::new(self.store.clone(), keks)?;
        self.store = Arc::new(Sealed::new(self.store, keys.clone()));
        let inbox = self.inbox.take();
        self.inbox = inbox.map(|inbox| {
            let sealed = SealedInbox::new(inbox, keys.clone());
            Arc::new(sealed) as Arc<dyn Inbox>
        });
        self.keys = Some(keys);
        Ok(self)
    }

    /// The keys that contents are sealed with.
    pub(crate) fn keys(&self) -> Keyring {
        self.keys
            .clone()
            .expect("a store that was opened is behind the seal")
    }

    /// Refuses a store with data keys where the file has none to unwrap them: what would be written would be plain.
    pub(crate) async fn must_have_keys(&self) -> Result<()> {
        let keys = self.keys();
        if keys.keks().is_empty() {
            return must_not_be_sealed(&keys).await;
        }
        Ok(())
    }

    /// The jump of this machine's clock that a store in a file doubts.
    pub(crate) fn clock_doubt(&self) -> Option<Doubt> {
        self.file.as_ref()?.clock_doubt()
    }

    /// The present instant, by the store's clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The record as it stands now.
    pub(crate) async fn look_up(&self, identity: &Identity) -> Result<Option<Arc<Record>>> {
        Ok(self.store.look_up_one(identity.clone()).await?)
    }

    /// Whether there is a server behind the store.
    pub(crate) fn is_served(&self) -> bool {
        !self.servers.is_empty()
    }

    /// What time it is at the servers, by the servers' names.
    pub(crate) fn server_times(&self) -> Vec<(&'static str, Timestamp)> {
        let time = |server: &Server| match server {
            Server::Postgres(store) => ("PostgreSQL", store.now()),
            Server::Redis(store) => ("Redis", store.now()),
        };
        self.servers.iter().map(time).collect()
    }

    /// What is worth knowing about the servers, in sentences. A server that cannot serve is an error.
    pub(crate) async fn notes(&self) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        for server in &self.servers {
            match server {
                Server::Postgres(store) => notes.extend(store.notes().await?),
                Server::Redis(store) => notes.extend(store.notes()),
            }
        }
        Ok(notes)
    }
}

/// Refuses to work without keys on a store that has data keys.
pub(crate) async fn must_not_be_sealed(keys: &Keyring) -> Result<()> {
    match keys.holds_keys().await? {
        false => Ok(()),
        true => {
            let message = "the store has data keys, and there is no encryption.keys: what would be written would be plain";
            let hint = "name the configuration file that has the keys, with --config, or put its encryption section back";
            Err(Error::new(Exit::Configuration, message).hint(hint))
        }
    }
}

impl From<Part<SqliteStore>> for Opened {
    fn from(part: Part<SqliteStore>) -> Self {
        Self {
            store: part.store.clone(),
            clock: part.clock,
            inbox: Some(part.store.clone()),
            servers: Vec::new(),
            file: Some(part.store),
            keys: None,
        }
    }
}

impl From<Part<PostgresStore>> for Opened {
    fn from(part: Part<PostgresStore>) -> Self {
        Self {
            store: part.store.clone(),
            clock: part.clock,
            inbox: Some(part.store.clone()),
            servers: vec![Server::Postgres(part.store)],
            file: None,
            keys: None,
        }
    }
}

impl From<Part<RedisStore>> for Opened {
    fn from(part: Part<RedisStore>) -> Self {
        Self {
            store: part.store.clone(),
            clock: part.clock,
            inbox: None,
            servers: vec![Server::Redis(part.store)],
            file: None,
            keys: None,
        }
    }
}
