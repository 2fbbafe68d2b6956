//! The way to the server: sends calls, and sends them again when that is safe and may help.
//!
//! Every script may be sent twice: a claim knows its own grant by its nonce, a change of a record by
//! its token, and the rest changes nothing the second time. So a lost connection, a server that is loading or a
//! slot that moves costs time and nothing else, until the call's time is over.

use std::time::Duration;

use futures_util::future::join_all;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::{ClusterClient, ClusterClientBuilder};
use redis::cluster_async::ClusterConnection;
use redis::cluster_routing::{
    MultipleNodeRoutingInfo, Route, RoutingInfo, SingleNodeRoutingInfo, SlotAddr,
};
use redis::{AsyncConnectionConfig, Cmd, ErrorKind, Pipeline, RedisError, RedisResult, Value};
use semel_core::store::remote::Pauses;
use semel_core::{Error, Result};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::batch::Batch;
use crate::config::Config;
use crate::error::{from_redis, is_passing, is_readonly, timed_out};
use crate::held::Held;
use crate::script::{Again, Call};

/// The pauses before a call is sent again.
pub(crate) const PAUSES: Pauses = Pauses::new(Duration::from_millis(5), Duration::from_millis(250));

/// A younger connection to a cluster is not given up: it may just be finding its way.
const CLUSTER_AGE_MIN: Duration = Duration::from_secs(1);

/// How often another connection is made to a server that takes no writes, in the hope of another server.
const ELSEWHERE_EVERY: Duration = Duration::from_millis(50);

/// The way to one server or to a cluster.
pub(crate) struct Link {
    wire: Wire,
    timeout: Duration,
    wait_replicas: u32,
}

enum Wire {
    Single(
        redis::Client,
        AsyncConnectionConfig,
        Held<MultiplexedConnection>,
    ),
    Cluster(ClusterClient, Held<ClusterConnection>),
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let wire = if self.is_cluster() {
            "cluster"
        } else {
            "single"
        };
        write!(f, "Link({wire})")
    }
}

impl Link {
    /// Connects. A server that cannot be reached within the timeout is an error.
    pub(crate) async fn connect(config: &Config) -> Result<Self> {
        if config.address.tls {
            // Only the first provider of a process counts; any will do.
            let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        }
        let failed = |e| from_redis(&format!("connecting to {:?}", config.address), e);
        let infos = config.address.infos()?;
        let certificates = config.certificates()?;
        let wire = if config.address.cluster {
            let builder = ClusterClientBuilder::new(infos);
            let builder = match certificates {
                Some(certificates) => builder.certs(certificates),
                None => builder,
            };
            let client = builder
                .connection_timeout(config.timeout / 4)
                .response_timeout(config.timeout / 4)
                .overall_response_timeout(Some(config.timeout / 2))
                .build()
                .map_err(failed)?;
            Wire::Cluster(client, Held::default())
        } else {
            let info = infos.into_iter().next();
            let info = info.ok_or_else(|| Error::invalid("the Redis URL names no server"))?;
            let settings = AsyncConnectionConfig::new()
                .set_connection_timeout(Some(config.timeout / 2))
                .set_response_timeout(Some(config.timeout / 2));
            let client = match certificates {
                Some(certificates) => redis::Client::build_with_tls(info, certificates),
                None => redis::Client::open(info),
            };
            Wire::Single(client.map_err(failed)?, settings, Held::default())
        };
        let link = Self {
            wire,
            timeout: config.timeout,
            wait_replicas: config.wait_replicas,
        };
        // Not PING, which a server that cannot write to its disk refuses although it can be read.
        let echo = redis::cmd("ECHO").arg("semel").take();
        let answered = timeout_at(link.deadline(), link.ask(echo)).await;
        answered
            .map_err(|_| timed_out("connecting", None))?
            .map_err(failed)?;
        Ok(link)
    }

    /// The answer to a command; a server that loads its data is waited for.
    pub(crate) async fn ask_when_loaded(&self, cmd: Cmd) -> RedisResult<Value> {
        let deadline = self.deadline();
        let mut pauses = PAUSES;
        loop {
            let answered = self.ask(cmd.clone()).await;
            let again = Instant::now() + pauses.take();
            match answered {
                Err(error) if is_loading(&error) && again < deadline => sleep_until(again).await,
                answered => return answered,
            }
        }
    }

    /// Whether calls of several buckets must go apart.
    pub(crate) const fn is_cluster(&self) -> bool {
        matches!(self.wire, Wire::Cluster(..))
    }

    /// Whether claims wait for replicas.
    pub(crate) const fn waits(&self) -> bool {
        self.wait_replicas > 0
    }

    /// When a call that begins now must have its answer.
    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// How long a call may take.
    pub(crate) const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Sends one call.
    pub(crate) async fn call(&self, call: Call, deadline: Instant) -> Result<Value> {
        let mut answers = self.call_all(vec![call], deadline).await;
        answers
            .pop()
            .unwrap_or_else(|| Err(timed_out("calling", None)))
    }

    /// Sends calls: in one pipeline to a single server, at the same time to the nodes of a cluster.
    pub(crate) async fn call_all(&self, calls: Vec<Call>, deadline: Instant) -> Vec<Result<Value>> {
        if !self.is_cluster() {
            return self.insist(calls, None, deadline).await;
        }
        let alone = calls.into_iter().map(|call| {
            let route = Route::with_key(call.first_key(), SlotAddr::Master);
            self.insist(vec![call], Some(route), deadline)
        });
        join_all(alone).await.into_iter().flatten().collect()
    }

    /// Sends what has no answer, until everything has one or the time is over.
    async fn insist(
        &self,
        calls: Vec<Call>,
        route: Option<Route>,
        deadline: Instant,
    ) -> Vec<Result<Value>> {
        let mut batch = Batch::new(calls);
        let mut pauses = PAUSES;
        while !batch.waiting.is_empty() {
            let (commands, waits) = batch.commands(self.wait_replicas, self.timeout / 4);
            let sent = timeout_at(deadline, self.send(commands, route)).await;
            let Ok(sent) = sent else { break };
            let wanted = waits.then_some(self.wait_replicas);
            if batch.take_in(sent, wanted) || batch.waiting.is_empty() {
                continue;
            }
            let again = Instant::now() + pauses.take();
            if again >= deadline {
                break;
            }
            sleep_until(again).await;
        }
        batch.into_answers()
    }

    async fn send(&self, commands: Vec<Cmd>, route: Option<Route>) -> RedisResult<Vec<Value>> {
        match &self.wire {
            Wire::Single(client, settings, held) => {
                let (number, mut connection) = held.single(client, settings).await?;
                let pipeline = pipeline_of(commands);
                let sent = connection
                    .req_packed_commands(&pipeline, 0, pipeline.len())
                    .await;
                let is_replicas =
                    |value: &Value| matches!(value, Value::ServerError(e) if is_readonly(e));
                if sent
                    .as_ref()
                    .map_or(true, |values| values.iter().any(is_replicas))
                {
                    // A server that fell silent, or that is a replica now: another connection may find better.
                    held.give_up(number, Duration::ZERO).await;
                }
                sent
            }
            Wire::Cluster(client, held) => {
                let (number, connection) = held.cluster(client).await?;
                let sent = send_to(connection, route, commands).await;
                if sent.as_ref().is_err_and(|e| {
                    e.is_io_error() || e.kind() == ErrorKind::ClusterConnectionNotFound
                }) {
                    // The driver finds its way around a node that is gone, but not back from all of them.
                    held.give_up(number, CLUSTER_AGE_MIN).await;
                }
                sent
            }
        }
    }

    /// Lets the next call look for another server behind the address, unless that was done just now.
    pub(crate) async fn look_elsewhere(&self) {
        // The driver of a cluster looks by itself.
        if let Wire::Single(_, _, held) = &self.wire {
            held.give_up_any(ELSEWHERE_EVERY).await;
        }
    }

    /// The answers of every primary to a command, for the checks at the start.
    pub(crate) async fn ask_primaries(&self, cmd: Cmd) -> RedisResult<Vec<Value>> {
        let Wire::Cluster(client, held) = &self.wire else {
            return Ok(vec![self.ask(cmd).await?]);
        };
        let (_, mut connection) = held.cluster(client).await?;
        let all = RoutingInfo::MultiNode((MultipleNodeRoutingInfo::AllMasters, None));
        match connection.route_command(cmd, all).await? {
            Value::Map(nodes) => Ok(nodes.into_iter().map(|(_, answer)| answer).collect()),
            Value::Array(answers) => Ok(answers),
            other => Ok(vec![other]),
        }
    }

    /// The answer to a command, for the checks at the start.
    pub(crate) async fn ask(&self, cmd: Cmd) -> RedisResult<Value> {
        let answer = match &self.wire {
            Wire::Single(client, settings, held) => {
                let (_, mut connection) = held.single(client, settings).await?;
                connection.req_packed_command(&cmd).await
            }
            Wire::Cluster(client, held) => {
                let (_, mut connection) = held.cluster(client).await?;
                connection.req_packed_command(&cmd).await
            }
        };
        answer?.extract_error()
    }
}

/// Whether the server is there, and will take commands soon.
fn is_loading(error: &RedisError) -> bool {
    matches!(error.kind(), ErrorKind::Server(_)) && is_passing(error, Again::Always)
}

fn pipeline_of(commands: Vec<Cmd>) -> Pipeline {
    let mut pipeline = Pipeline::with_capacity(commands.len());
    for command in commands {
        pipeline.add_command(command);
    }
    pipeline
}

/// Sends to the node that a route leads to. The wait for replicas must go the same way as what it waits
/// for, so the two go as one; the driver follows redirections of either.
async fn send_to(
    mut connection: ClusterConnection,
    route: Option<Route>,
    mut commands: Vec<Cmd>,
) -> RedisResult<Vec<Value>> {
    let node = route.map_or(
        SingleNodeRoutingInfo::RandomPrimary,
        SingleNodeRoutingInfo::SpecificNode,
    );
    if commands.len() > 1 {
        let count = commands.len();
        return connection
            .route_pipeline(pipeline_of(commands), 0, count, node)
            .await;
    }
    match commands.pop() {
        Some(command) => {
            let answer = connection
                .route_command(command, RoutingInfo::SingleNode(node))
                .await;
            Ok(vec![answer?])
        }
        None => Ok(Vec::new()),
    }
}
