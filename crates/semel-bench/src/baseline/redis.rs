//! Plain Redis: a claim and a settle are two commands, each waited for, each caller on a connection of its own.

use std::sync::{Mutex, MutexGuard, PoisonError};

use redis::aio::MultiplexedConnection;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use semel_core::{Error, Kind, Result};
use tokio::sync::Semaphore;

use super::{Baseline, Done};
use crate::sample::Sample;

/// How long the baseline's results live; as long as ours.
const KEEP_MS: u64 = 24 * 60 * 60 * 1_000;
/// How many keys one step of a clean-up looks at.
const STEP: usize = 1_000;

/// As many connections as there are callers.
pub struct RawRedis {
    prefix: String,
    /// A std mutex, not an async one: it is held for a push or a pop.
    idle: Mutex<Vec<Connection>>,
    permits: Semaphore,
}

enum Connection {
    One(MultiplexedConnection),
    Cluster(Box<ClusterConnection>),
}

impl std::fmt::Debug for RawRedis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RawRedis({})", self.prefix)
    }
}

/// Where a Redis is: one server, or the nodes of a cluster, each as a URL that the driver understands.
#[derive(Clone)]
pub enum Servers {
    /// One server.
    One(String),
    /// A cluster.
    Cluster(Vec<String>),
}

impl std::fmt::Debug for Servers {
    /// Without URLs: they may hold passwords.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::One(_) => "One",
            Self::Cluster(_) => "Cluster",
        })
    }
}

impl RawRedis {
    /// Makes `callers` connections; all keys begin with `prefix`.
    pub async fn connect(place: &Servers, prefix: &str, callers: usize) -> Result<Self> {
        let mut idle = Vec::with_capacity(callers);
        for _ in 0..callers {
            idle.push(match place {
                Servers::One(url) => Connection::One(one(url).await?),
                Servers::Cluster(nodes) => {
                    let client = ClusterClient::new(nodes.clone()).map_err(failed)?;
                    let connection = client.get_async_connection().await.map_err(failed)?;
                    Connection::Cluster(Box::new(connection))
                }
            });
        }
        Ok(Self {
            prefix: prefix.to_owned(),
            idle: Mutex::new(idle),
            permits: Semaphore::new(callers),
        })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        // A push or a pop cannot be half-done, so a poisoned lock protects nothing.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn one(url: &str) -> Result<MultiplexedConnection> {
    let client = redis::Client::open(url).map_err(failed)?;
    client
        .get_multiplexed_async_connection()
        .await
        .map_err(failed)
}

/// Removes every key that begins with `prefix` from every node.
pub async fn clean(place: &Servers, prefix: &str) -> Result<()> {
    let nodes = match place {
        Servers::One(url) => std::slice::from_ref(url),
        Servers::Cluster(nodes) => nodes.as_slice(),
    };
    for node in nodes {
        let mut connection = one(node).await?;
        let mut cursor = 0_u64;
        loop {
            let mut scan = redis::cmd("SCAN");
            scan.arg(cursor)
                .arg("MATCH")
                .arg(format!("{prefix}*"))
                .arg("COUNT")
                .arg(STEP);
            let (next, keys): (u64, Vec<String>) =
                scan.query_async(&mut connection).await.map_err(failed)?;
            for key in keys {
                // A replica refuses, and its master is asked as well.
                let unlinked: redis::RedisResult<()> = redis::cmd("UNLINK")
                    .arg(key)
                    .query_async(&mut connection)
                    .await;
                drop(unlinked);
            }
            cursor = next;
            if cursor == 0 {
                break;
            }
        }
    }
    Ok(())
}

impl Connection {
    async fn run(&mut self, command: &redis::Cmd) -> Result<()> {
        let done: redis::RedisResult<redis::Value> = match self {
            Self::One(connection) => command.query_async(connection).await,
            Self::Cluster(connection) => command.query_async(connection.as_mut()).await,
        };
        done.map(drop).map_err(failed)
    }
}

impl Baseline for RawRedis {
    fn name(&self) -> &str {
        "two plain commands"
    }

    fn pair<'a>(&'a self, sample: &'a Sample) -> Done<'a> {
        Box::pin(async move {
            let closed = |_| Error::new(Kind::Internal, "the baseline was closed");
            let _permit = self.permits.acquire().await.map_err(closed)?;
            let connection = self.idle().pop();
            let mut connection =
                connection.ok_or_else(|| Error::new(Kind::Internal, "a permit is a connection"))?;
            let claim = sample.claim_bytes();
            let (key, meta) = claim.split_at(crate::sample::IDENTITY_BYTES);
            let key = [self.prefix.as_bytes(), b":raw:", key].concat();
            connection
                .run(redis::cmd("SET").arg(&key).arg(meta).arg("NX"))
                .await?;
            let outcome = sample.outcome_bytes();
            let mut settle = redis::cmd("SET");
            settle
                .arg(&key)
                .arg(outcome.as_slice())
                .arg("XX")
                .arg("PX")
                .arg(KEEP_MS);
            connection.run(&settle).await?;
            self.idle().push(connection);
            Ok(())
        })
    }
}

fn failed(error: redis::RedisError) -> Error {
    Error::new(Kind::Unavailable, "the raw baseline on Redis").caused_by(error)
}
