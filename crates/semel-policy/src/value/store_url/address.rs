//! The address of one store.

use std::fmt;

/// Which kind of store an address means. The binary decides which of them it can open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// A file.
    Sqlite,
    /// A PostgreSQL database.
    Postgres,
    /// A Redis server.
    Redis,
    /// A Redis Cluster.
    RedisCluster,
    /// A MySQL database.
    Mysql,
    /// Amazon's DynamoDB.
    DynamoDb,
}

const SCHEMES: [(&str, Engine); 9] = [
    ("sqlite", Engine::Sqlite),
    ("postgres", Engine::Postgres),
    ("postgresql", Engine::Postgres),
    ("redis", Engine::Redis),
    ("rediss", Engine::Redis),
    ("redis-cluster", Engine::RedisCluster),
    ("rediss-cluster", Engine::RedisCluster),
    ("mysql", Engine::Mysql),
    ("dynamodb", Engine::DynamoDb),
];

impl Engine {
    /// What `text` begins with, if it is the scheme of a store.
    pub(super) fn of(text: &str) -> Option<Self> {
        let (scheme, _) = text.split_once(':')?;
        let known = SCHEMES.iter().find(|(name, _)| *name == scheme);
        known.map(|(_, engine)| *engine)
    }

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
            Self::Redis => "Redis",
            Self::RedisCluster => "Redis Cluster",
            Self::Mysql => "MySQL",
            Self::DynamoDb => "DynamoDB",
        }
    }

    /// Whether it is fast enough for claims of a hybrid.
    pub(super) const fn takes_claims(self) -> bool {
        matches!(self, Self::Redis | Self::RedisCluster)
    }

    /// Whether it keeps the outcomes of a hybrid.
    pub(super) const fn takes_outcomes(self) -> bool {
        matches!(self, Self::Sqlite | Self::Postgres)
    }
}

/// The address of one store: a scheme, and what the store itself makes of the rest.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    engine: Engine,
    text: String,
}

impl Address {
    /// Reads an address. `None` if its scheme is not known or nothing follows it.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let engine = Engine::of(text)?;
        let (_, rest) = text.split_once(':')?;
        let named = match engine {
            Engine::Sqlite => rest,
            _ => rest.strip_prefix("//")?,
        };
        let text = text.to_owned();
        (!named.is_empty()).then_some(Self { engine, text })
    }

    /// The kind of store.
    pub const fn engine(&self) -> Engine {
        self.engine
    }

    /// What stands before the first colon.
    pub fn scheme(&self) -> &str {
        self.text.split(':').next().unwrap_or_default()
    }

    /// The whole address with its password, for whoever opens the store.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The file that an address of SQLite names.
    pub fn path(&self) -> Option<&str> {
        self.text.strip_prefix("sqlite:")
    }
}

impl fmt::Display for Address {
    /// Scheme, hosts and database. An address that puts an `@` where none belongs may have a password
    /// anywhere, so nothing of it is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((scheme, rest)) = self.text.split_once("://") else {
            return f.write_str(&self.text);
        };
        if self.engine == Engine::Sqlite {
            return f.write_str(&self.text);
        }
        let (authority, path) = match rest.find(['/', '?', '#']) {
            Some(at) => rest.split_at(at),
            None => (rest, ""),
        };
        if path.contains('@') {
            return write!(f, "{scheme}://…");
        }
        let hosts = authority.rsplit('@').next().unwrap_or_default();
        let path = path.split(['?', '#']).next().unwrap_or_default();
        write!(f, "{scheme}://{hosts}{path}")
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
