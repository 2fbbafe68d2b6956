//! A connection that all calls share, and that is made again when it is given up.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{AsyncConnectionConfig, ConnectionAddr, RedisError, RedisResult};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::error::FULL;

/// How long a server that says something by itself takes for it.
const SAID_WITHIN: Duration = Duration::from_millis(100);

/// The connection of the moment, if there is one.
pub(crate) struct Held<C> {
    /// An async mutex on purpose: who needs the connection waits for the one attempt to make it.
    current: Mutex<Current<C>>,
}

struct Current<C> {
    /// Tells a connection from those before it.
    number: u64,
    connection: Option<(C, Instant)>,
}

impl<C> Default for Held<C> {
    fn default() -> Self {
        let current = Current {
            number: 0,
            connection: None,
        };
        Self {
            current: Mutex::new(current),
        }
    }
}

impl<C> Current<C> {
    fn leave(&mut self, age_min: Duration) {
        let old_enough = |(_, made): &(C, Instant)| made.elapsed() >= age_min;
        if self.connection.as_ref().is_some_and(old_enough) {
            self.connection = None;
        }
    }
}

impl<C: Clone> Held<C> {
    async fn get(&self, connecting: impl Future<Output = RedisResult<C>>) -> RedisResult<(u64, C)> {
        let mut current = self.current.lock().await;
        if let Some((connection, _)) = &current.connection {
            return Ok((current.number, connection.clone()));
        }
        let connection = connecting.await?;
        current.number += 1;
        current.connection = Some((connection.clone(), Instant::now()));
        Ok((current.number, connection))
    }

    /// Lets the next call make another connection, unless one has been made already or this one
    /// is younger than `age_min`.
    pub(crate) async fn give_up(&self, number: u64, age_min: Duration) {
        let mut current = self.current.lock().await;
        if current.number == number {
            current.leave(age_min);
        }
    }

    /// The same, whichever connection it is.
    pub(crate) async fn give_up_any(&self, age_min: Duration) {
        self.current.lock().await.leave(age_min);
    }
}

impl Held<MultiplexedConnection> {
    /// The connection to a single server, made if there is none.
    pub(crate) async fn single(
        &self,
        client: &redis::Client,
        settings: &AsyncConnectionConfig,
    ) -> RedisResult<(u64, MultiplexedConnection)> {
        let connecting = client.get_multiplexed_async_connection_with_config(settings);
        match self.get(connecting).await {
            Err(error) if error.is_connection_dropped() => {
                let addr = client.get_connection_info().addr();
                Err(is_full(addr).await.unwrap_or(error))
            }
            connected => connected,
        }
    }
}

/// What a server that has no connection left says to those who come, before it closes theirs; the driver does not look.
async fn is_full(addr: &ConnectionAddr) -> Option<RedisError> {
    let ConnectionAddr::Tcp(host, port) = addr else {
        return None;
    };
    let mut said = [0; 128];
    let listening = async {
        let mut stream = TcpStream::connect((host.as_str(), *port)).await?;
        stream.read(&mut said).await
    };
    let len = timeout(SAID_WITHIN, listening).await.ok()?.ok()?;
    let said = std::str::from_utf8(&said[..len]).ok()?;
    let said = said.strip_prefix("-ERR ")?.trim_end();
    let full = || redis::make_extension_error("ERR".to_owned(), Some(said.to_owned()));
    said.contains(FULL).then(full)
}

impl Held<ClusterConnection> {
    /// The connection to a cluster, made if there is none.
    pub(crate) async fn cluster(
        &self,
        client: &ClusterClient,
    ) -> RedisResult<(u64, ClusterConnection)> {
        self.get(client.get_async_connection()).await
    }
}
