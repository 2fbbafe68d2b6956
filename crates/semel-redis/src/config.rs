//! How to connect to a store.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use redis::TlsCertificates;
use semel_core::store::StoreObserver;
use semel_core::{Error, Result, duration};

use crate::store::RedisStore;
use crate::url::{self, Address};

/// The longest prefix of keys, in bytes.
const PREFIX_BYTES_MAX: usize = 64;
/// How long events are kept, unless the URL says otherwise. They are in the server's memory.
const HISTORY_KEEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// The most replicas that can be waited for.
const REPLICAS_MAX: u32 = 16;

/// Where the server is and how the store behaves; the defaults suit most users.
#[derive(Debug, Clone)]
pub struct Config {
    pub(crate) address: Address,
    pub(crate) cacert: Option<PathBuf>,
    pub(crate) prefix: String,
    pub(crate) timeout: Duration,
    pub(crate) sweep_every: Option<Duration>,
    pub(crate) history_keep: Duration,
    pub(crate) wait_replicas: u32,
    pub(crate) accepts_eviction: bool,
    pub(crate) accepts_no_persistence: bool,
    pub(crate) watch: Option<Arc<dyn StoreObserver>>,
}

impl Config {
    /// The store that a URL names.
    ///
    /// `redis://[[user]:password@]host[:port][/db]` is one server, `rediss://…` the same over TLS;
    /// `redis-cluster://[[user]:password@]host[:port],host[:port]…` is a cluster, of which one host that answers
    /// is enough, `rediss-cluster://…` the same over TLS. Parameters follow after `?`: `prefix=…`,
    /// `accept=eviction,no-persistence`, `wait_replicas=N`, `timeout=5s`, `history_keep=7d`, `cacert=FILE`.
    ///
    /// ```
    /// let config = semel_redis::Config::from_url("redis://127.0.0.1:6379/0?prefix=shop&timeout=2s")?;
    /// # Ok::<(), semel_core::Error>(())
    /// ```
    pub fn from_url(url: &str) -> Result<Self> {
        let (address, parameters) = url::parse(url)?;
        let mut config = Self {
            address,
            cacert: None,
            prefix: "semel".to_owned(),
            timeout: Duration::from_secs(5),
            sweep_every: Some(Duration::from_secs(1)),
            history_keep: HISTORY_KEEP,
            wait_replicas: 0,
            accepts_eviction: false,
            accepts_no_persistence: false,
            watch: None,
        };
        for (name, value) in parameters {
            config = config.parameter(&name, &value)?;
        }
        config.check()
    }

    fn parameter(self, name: &str, value: &str) -> Result<Self> {
        match name {
            "prefix" => Ok(self.prefix(value)),
            "cacert" => Ok(self.cacert(value)),
            "timeout" => Ok(self.timeout(duration::parse(value)?)),
            "history_keep" => Ok(self.history_keep(duration::parse(value)?)),
            "accept" => value.split(',').try_fold(self, Self::accept),
            "wait_replicas" => {
                let count = value.parse().ok().filter(|count| *count <= REPLICAS_MAX);
                let count = count.ok_or_else(|| {
                    Error::invalid(format!(
                        "wait_replicas is a number up to {REPLICAS_MAX}, found {value:?}"
                    ))
                })?;
                Ok(self.wait_replicas(count))
            }
            name => Err(Error::invalid(format!(
                "a Redis URL has the parameters prefix, accept, history_keep, wait_replicas, timeout and cacert, found {name:?}"
            ))),
        }
    }

    fn accept(self, what: &str) -> Result<Self> {
        match what {
            "eviction" => Ok(self.accept_eviction()),
            "no-persistence" => Ok(self.accept_no_persistence()),
            other => Err(Error::invalid(format!(
                "accept is a list of eviction and no-persistence, found {other:?}"
            ))),
        }
    }

    /// How all keys begin: 1 to 64 letters, digits and `.`, `_`, `:`, `-`. Two prefixes are two stores.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// A file of certificate authorities in PEM that vouch for the server's certificate; the system's if none is named.
    #[must_use]
    pub fn cacert(mut self, file: impl Into<PathBuf>) -> Self {
        self.cacert = Some(file.into());
        self
    }

    /// The certificate authorities that the driver gets, if it gets any.
    pub(crate) fn certificates(&self) -> Result<Option<TlsCertificates>> {
        let Some(file) = &self.cacert else {
            return Ok(None);
        };
        let root_cert = std::fs::read(file).map_err(|e| {
            let expected = "cacert must be a readable file of certificates in PEM";
            Error::invalid(format!("{expected}, found {}", file.display())).caused_by(e)
        })?;
        Ok(Some(TlsCertificates {
            client_tls: None,
            root_cert: Some(root_cert),
        }))
    }

    /// Refuses a prefix that would break the hash tags of keys.
    pub(crate) fn check(self) -> Result<Self> {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
        let prefix = &self.prefix;
        if prefix.is_empty() || prefix.len() > PREFIX_BYTES_MAX || !prefix.chars().all(fits) {
            return Err(Error::invalid(format!(
                "a prefix has 1 to {PREFIX_BYTES_MAX} letters, digits and . _ : -, found {prefix:?}"
            )));
        }
        Ok(self)
    }

    /// How long a call may take, reconnecting included, before it fails as unavailable; at least 10 ms.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout.clamp(Duration::from_millis(10), Duration::from_secs(60));
        self
    }

    /// How often the background sweep runs, by all processes together; `None` leaves it to others, or to the caller.
    #[must_use]
    pub const fn sweep_every(mut self, interval: Option<Duration>) -> Self {
        self.sweep_every = interval;
        self
    }

    /// How long events are kept for the audit: in the server's memory, so seven days unless this says otherwise. The
    /// process that happens to sweep decides, so all processes of a store should say the same.
    #[must_use]
    pub const fn history_keep(mut self, keep: Duration) -> Self {
        self.history_keep = keep;
        self
    }

    /// How many replicas must have a claim before it is granted; see the crate's documentation.
    #[must_use]
    pub const fn wait_replicas(mut self, count: u32) -> Self {
        self.wait_replicas = count;
        self
    }

    /// Accepts a server that may evict keys when its memory is full: records can then be lost, and what
    /// they stood for can run again.
    #[must_use]
    pub const fn accept_eviction(mut self) -> Self {
        self.accepts_eviction = true;
        self
    }

    /// Accepts a server that keeps nothing on disk: a restart of it forgets everything, and all can run again.
    #[must_use]
    pub const fn accept_no_persistence(mut self) -> Self {
        self.accepts_no_persistence = true;
        self
    }

    /// Who is told how many calls each round trip carries, which leases ended, and what the sweep does.
    #[must_use]
    pub fn watch(mut self, watch: Arc<dyn StoreObserver>) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Connects, and refuses a server that would lose records.
    pub async fn connect(self) -> Result<RedisStore> {
        RedisStore::connect(self.check()?).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_set_what_they_name() {
        let url = "redis://h?prefix=a:b&accept=eviction,no-persistence&wait_replicas=2&timeout=250ms&history_keep=2h";
        let config = Config::from_url(url).unwrap();
        assert_eq!(config.prefix, "a:b");
        assert!(config.accepts_eviction && config.accepts_no_persistence);
        assert_eq!(config.wait_replicas, 2);
        assert_eq!(config.timeout, Duration::from_millis(250));
        assert_eq!(config.history_keep, Duration::from_secs(7_200));
    }

    #[test]
    fn parameters_that_are_not_known_are_named() {
        for (url, named) in [
            ("redis://h?sslmode=off", "sslmode"),
            ("redis://h?accept=loss", "loss"),
            ("redis://h?wait_replicas=all", "all"),
            ("redis://h?timeout=soon", "soon"),
            ("redis://h?history_keep=long", "long"),
            ("redis://h?prefix=%7Bx%7D", "{x}"),
        ] {
            let error = Config::from_url(url).unwrap_err().to_string();
            assert!(error.contains(named), "{url}: {error}");
        }
    }
}
