//! Where the server is and how the store behaves.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use semel_core::store::StoreObserver;
use semel_core::{Error, Result, duration};

use crate::error::with_sources;
use crate::store::PostgresStore;
use crate::tls::Tls;

/// The schema that is used when none is named.
pub(crate) const DEFAULT_SCHEMA: &str = "semel";
/// The most connections of one store.
const CONNECTIONS_MAX: usize = 100;
/// The most bytes of a schema's name that PostgreSQL keeps.
const SCHEMA_BYTES_MAX: usize = 63;

/// How to reach a database; the defaults suit most users.
#[derive(Clone)]
pub struct Config {
    pub(crate) server: tokio_postgres::Config,
    pub(crate) tls: Tls,
    pub(crate) schema: String,
    pub(crate) connections: usize,
    pub(crate) lanes: usize,
    pub(crate) prepare: bool,
    pub(crate) timeout: Duration,
    pub(crate) sweep_every: Option<Duration>,
    pub(crate) history_keep: Duration,
    pub(crate) create: bool,
    pub(crate) watch: Option<Arc<dyn StoreObserver>>,
}

impl Config {
    /// The database that a URL such as `postgres://user:password@host:5432/name` names.
    ///
    /// Besides what PostgreSQL's own tools know (`sslmode`, `sslrootcert`, `target_session_attrs`, `options`, several
    /// hosts, …) the URL may say `schema=semel`, `connections=8`, `lanes=2`, `timeout=5s` and `prepare=off`.
    ///
    /// A certificate is checked whenever TLS is used: `sslmode` is `disable`, `prefer` (TLS if the server has it),
    /// `require` or `verify-full`, which are the same here, or `verify-ca`, which allows a certificate of another host.
    pub fn from_url(url: &str) -> Result<Self> {
        let mut tls = Tls::default();
        let (address, ours) = split(url, &mut tls)?;
        let server = address.parse().map_err(|e: tokio_postgres::Error| {
            // The driver names what it does not understand, never the password.
            let said = with_sources(&e);
            Error::invalid(format!(
                "a PostgreSQL store is written postgres://USER:PASSWORD@HOST:PORT/DATABASE: {said}"
            ))
        })?;
        let mut config = Self::new(server);
        config.tls = tls;
        for (name, value) in ours {
            config = config.set(&name, &value)?;
        }
        Ok(config)
    }

    /// The database that a driver's configuration names.
    pub fn new(server: tokio_postgres::Config) -> Self {
        Self {
            server,
            tls: Tls::default(),
            schema: DEFAULT_SCHEMA.to_owned(),
            connections: 8,
            lanes: 2,
            prepare: true,
            timeout: Duration::from_secs(5),
            sweep_every: Some(Duration::from_secs(1)),
            history_keep: Duration::from_secs(90 * 24 * 60 * 60),
            create: true,
            watch: None,
        }
    }

    /// What the driver is told about the server, for connections of one's own.
    pub const fn server(&self) -> &tokio_postgres::Config {
        &self.server
    }

    fn set(self, name: &str, value: &str) -> Result<Self> {
        let expected =
            |what: &str| Error::invalid(format!("{name} must be {what}, found {value:?}"));
        match name {
            "schema" => self.schema(value),
            "connections" => match value.parse() {
                Ok(count) if (1..=CONNECTIONS_MAX).contains(&count) => Ok(self.connections(count)),
                _ => Err(expected(&format!("1 to {CONNECTIONS_MAX}"))),
            },
            "lanes" => match value.parse() {
                Ok(lanes) if (1..=CONNECTIONS_MAX).contains(&lanes) => Ok(Self { lanes, ..self }),
                _ => Err(expected(&format!("1 to {CONNECTIONS_MAX}"))),
            },
            "timeout" => Ok(self.timeout(duration::parse(value)?)),
            "prepare" => match value {
                "on" => Ok(self.prepare(true)),
                "off" => Ok(self.prepare(false)),
                _ => Err(expected("on or off")),
            },
            _ => unreachable!("only our own parameters are split off"),
        }
    }

    /// The schema that holds the tables; it is created if it does not exist. `semel` unless said otherwise.
    pub fn schema(mut self, name: &str) -> Result<Self> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let digit_first = name.starts_with(|c: char| c.is_ascii_digit());
        if name.is_empty()
            || name.len() > SCHEMA_BYTES_MAX
            || digit_first
            || !name.chars().all(plain)
        {
            return Err(Error::invalid(format!(
                "a schema's name has 1 to {SCHEMA_BYTES_MAX} lowercase letters, digits and underscores, found {name:?}"
            )));
        }
        name.clone_into(&mut self.schema);
        Ok(self)
    }

    /// The most connections that this store opens.
    #[must_use]
    pub fn connections(mut self, count: usize) -> Self {
        self.connections = count.clamp(1, CONNECTIONS_MAX);
        self
    }

    /// Whether statements are prepared once per connection, and settings sent with it. Behind a pooler in transaction
    /// mode neither is possible: the store finds that out when it connects, if it is not told here.
    #[must_use]
    pub const fn prepare(mut self, prepare: bool) -> Self {
        self.prepare = prepare;
        self
    }

    /// How long a call may take, the connection included.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// How often the background sweep runs; `None` leaves it to the caller.
    #[must_use]
    pub const fn sweep_every(mut self, interval: Option<Duration>) -> Self {
        self.sweep_every = interval;
        self
    }

    /// How long events are kept for the audit.
    #[must_use]
    pub const fn history_keep(mut self, keep: Duration) -> Self {
        self.history_keep = keep;
        self
    }

    /// Fails instead of creating tables that do not exist; for tools that only look.
    #[must_use]
    pub const fn must_exist(mut self) -> Self {
        self.create = false;
        self
    }

    /// Who is told how many calls each round trip carries, which leases ended, and what the sweep does.
    #[must_use]
    pub fn watch(mut self, watch: Arc<dyn StoreObserver>) -> Self {
        self.watch = Some(watch);
        self
    }

    /// Connects, and brings the tables up to date.
    pub async fn connect(self) -> Result<PostgresStore> {
        PostgresStore::connect(self).await
    }
}

impl fmt::Debug for Config {
    /// Without the server: it may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("schema", &self.schema)
            .field("connections", &self.connections)
            .field("prepare", &self.prepare)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

type Parameters = Vec<(String, String)>;

/// Splits the parameters that are ours from those that the driver knows. It knows little of TLS.
fn split(url: &str, tls: &mut Tls) -> Result<(String, Parameters)> {
    const OURS: [&str; 5] = ["schema", "connections", "lanes", "timeout", "prepare"];
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(Error::invalid(
            "a PostgreSQL store is written postgres://USER:PASSWORD@HOST:PORT/DATABASE",
        ));
    }
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some((name, value)) if OURS.contains(&name) => {
                ours.push((name.to_owned(), value.to_owned()));
            }
            Some(("sslmode", value)) => theirs.push(format!("sslmode={}", tls.mode(value))),
            Some(("sslrootcert", file)) => {
                let file = percent_decode_str(file).decode_utf8();
                let file = file.map_err(|_| Error::invalid("sslrootcert must be UTF-8 text"))?;
                tls.root_certificates(&file);
            }
            _ => theirs.push(pair.to_owned()),
        }
    }
    let address = match theirs.is_empty() {
        true => address.to_owned(),
        false => format!("{address}?{}", theirs.join("&")),
    };
    Ok((address, ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_parameters_are_read_and_the_rest_is_the_drivers() {
        let url = "postgres://u:p@h:1/d?schema=other&sslmode=disable&timeout=2s&prepare=off&connections=3";
        let config = Config::from_url(url).unwrap();
        assert_eq!(config.schema, "other");
        assert_eq!(config.timeout, Duration::from_secs(2));
        assert_eq!((config.prepare, config.connections), (false, 3));
        assert_eq!(config.server.get_dbname(), Some("d"));
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for (url, part) in [
            ("mysql://u:secret@h/d", "postgres://USER"),
            (
                "postgres://u:secret@h/d?schema=Bad-Name",
                "lowercase letters",
            ),
            ("postgres://u:secret@h/d?prepare=maybe", "on or off"),
            ("postgres://u:secret@h/d?connections=0", "1 to 100"),
            ("postgres://u:secret@h/d?unheard=of", "unheard"),
            ("postgres://u:secret@h:port/d", "postgres://USER"),
        ] {
            let error = Config::from_url(url).unwrap_err().to_string();
            assert!(error.contains(part), "{url}: {error}");
            assert!(!error.contains("secret"), "{error}");
        }
        let config = Config::from_url("postgres://u:secret@h/d").unwrap();
        assert!(!format!("{config:?}").contains("secret"));
    }
}
