//! A connection that all calls share, and that is made again when it is given up.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use redis::{AsyncConnectionConfig, RedisResult};
use tokio::sync::Mutex;
use tokio::time::Instant;

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
        let old_enough = |(_, made): &(C, Instant)| made.elapsed() >= age_min;
        if current.number == number && current.connection.as_ref().is_some_and(old_enough) {
            current.connection = None;
        }
    }
}

impl Held<MultiplexedConnection> {
    /// The connection to a single server, made if there is none.
    pub(crate) async fn single(
        &self,
        client: &redis::Client,
        settings: &AsyncConnectionConfig,
    ) -> RedisResult<(u64, MultiplexedConnection)> {
        self.get(client.get_multiplexed_async_connection_with_config(settings))
            .await
    }
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
