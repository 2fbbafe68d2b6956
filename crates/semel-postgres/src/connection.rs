//! Connections: a pool, settings where the server takes them, one way to send a statement.

use std::fmt;
use std::time::Duration;

use deadpool_postgres::{
    Manager, ManagerConfig, Object, Pool, PoolError, QueueMode, RecyclingMethod, Runtime, Timeouts,
};
use semel_core::{Error, Kind, Result};
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use crate::config::Config;
use crate::error::from_postgres;
use crate::session::Driver;
use crate::value::{Row, Value};

/// How long a statement may wait for another transaction.
pub(crate) const LOCK_WAIT: Duration = Duration::from_millis(250);

/// The same for one that others wait for: `sql.rs` says it in the statements. Longer than a commit takes.
pub(crate) const LOCK_WAIT_BRIEF_MS: u32 = 30;

/// How long to wait for records that another transaction holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// As briefly as can be: others wait for this round trip.
    Briefly,
    /// For [`LOCK_WAIT`].
    Patiently,
}

/// Plans are made once per connection, and often while the tables are still small: a plan that reads a whole
/// table would stay in use when it no longer is. All verbs go by index, and no statement is worth being compiled: the
/// prices of what is turned off would let the server think so.
const PLANS: &str = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off \
    -c enable_hashjoin=off -c enable_mergejoin=off -c jit=off";

/// The connections of a store.
#[derive(Clone)]
pub(crate) struct Links {
    pool: Pool,
    prepare: bool,
    timeout: Duration,
}

impl fmt::Debug for Links {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Links({:?})", self.pool.status())
    }
}

impl Links {
    /// Connections for the store's own statements.
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let mut server = config.server.clone();
        // A pooler in transaction mode takes no settings with the connection.
        if config.prepare {
            let (statement, lock) = (config.timeout.as_millis(), LOCK_WAIT.as_millis());
            // Of two settings of one name the server takes the later one: the user's.
            let theirs = server.get_options().unwrap_or_default();
            let options =
                format!("-c statement_timeout={statement} -c lock_timeout={lock} {PLANS} {theirs}");
            server.options(options);
        }
        Self::to(server, config)
    }

    /// Whether the settings that come with a connection reach the server. A pooler in transaction mode refuses
    /// or swallows them, and keeps no prepared statements either.
    pub(crate) async fn reaches_server(&self) -> Result<bool> {
        let object = match self.pool.get().await {
            Err(PoolError::Backend(error))
                if error.code() == Some(&SqlState::PROTOCOL_VIOLATION) =>
            {
                return Ok(false);
            }
            object => object.map_err(|error| self.unconnected(error))?,
        };
        let ask = "SELECT current_setting('plan_cache_mode') = 'force_generic_plan'";
        let asked = timeout(self.timeout, object.query_typed(ask, &[])).await;
        let rows = match asked {
            Ok(rows) => rows.map_err(|e| from_postgres("connecting", e))?,
            Err(_elapsed) => return Err(no_answer(self.timeout)),
        };
        let taken = rows.first().map(|row| row.try_get(0)).transpose();
        Ok(taken.map_err(|e| from_postgres("connecting", e))? == Some(true))
    }

    /// Connections for statements of the user's, without settings of ours.
    pub(crate) fn plain(config: &Config) -> Result<Self> {
        Self::to(config.server.clone(), config)
    }

    fn to(mut server: tokio_postgres::Config, config: &Config) -> Result<Self> {
        server.connect_timeout(config.timeout);
        server.keepalives_idle(Duration::from_secs(15));
        if server.get_application_name().is_none() {
            server.application_name("semel");
        }
        let recycling_method = RecyclingMethod::Fast;
        let manager = Manager::from_config(
            server,
            config.tls.connector()?,
            ManagerConfig { recycling_method },
        );
        let pool = Pool::builder(manager)
            .max_size(config.connections)
            .runtime(Runtime::Tokio1)
            // The server's process that was used last is the one whose caches are warm.
            .queue_mode(QueueMode::Lifo)
            .timeouts(Timeouts {
                wait: Some(config.timeout),
                create: Some(config.timeout),
                recycle: Some(config.timeout),
            })
            .build()
            .map_err(|e| Error::new(Kind::Internal, "making a pool").caused_by(e))?;
        Ok(Self {
            pool,
            prepare: config.prepare,
            timeout: config.timeout,
        })
    }

    /// A connection of one's own for a while.
    pub(crate) async fn get(&self) -> Result<Link> {
        Ok(Link {
            object: Some(self.object().await?),
            prepare: self.prepare,
            timeout: self.timeout,
            in_transaction: false,
        })
    }

    /// The same for whoever deals with the driver directly.
    pub(crate) async fn object(&self) -> Result<Object> {
        let object = self.pool.get().await;
        object.map_err(|error| self.unconnected(error))
    }

    fn unconnected(&self, error: PoolError) -> Error {
        match error {
            PoolError::Backend(error) => from_postgres("connecting", error),
            PoolError::Timeout(kind) => {
                let seconds = self.timeout.as_secs_f64();
                let message = format!("postgres, no connection within {seconds} s ({kind:?})");
                Error::new(Kind::Unavailable, message)
            }
            other => Error::new(Kind::Unavailable, "postgres, connecting").caused_by(other),
        }
    }

    /// Forgets connections that nobody uses: the server that they lead to may be gone or no longer the right one.
    pub(crate) fn forget_idle(&self) {
        self.pool.retain(|_, _| false);
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }
}

/// Why a statement has no answer.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server refused it; nothing was done.
    Refused(tokio_postgres::Error),
    /// The connection broke or the server was silent: it may or may not have been done.
    Lost(Error),
    /// There was no connection, or what came back makes no sense. Nothing was done.
    Failed(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Failure {
    /// What a caller is told.
    pub(crate) fn into_error(self, doing: &str) -> Error {
        match self {
            Self::Refused(error) => from_postgres(doing, error),
            Self::Lost(error) | Self::Failed(error) => error,
        }
    }
}

/// A connection in use; it goes back to the pool when dropped.
pub(crate) struct Link {
    object: Option<Object>,
    prepare: bool,
    timeout: Duration,
    /// Whether a transaction is open: whoever is cancelled now must not give it to the next one.
    in_transaction: bool,
}

impl Drop for Link {
    fn drop(&mut self) {
        if self.in_transaction {
            self.discard();
        }
    }
}

impl Link {
    fn client(&self) -> &deadpool_postgres::ClientWrapper {
        self.object
            .as_ref()
            .expect("a link that was discarded is not used")
    }

    /// Sends one statement and waits for all of its rows.
    pub(crate) async fn ask(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Failure> {
        let asked = timeout(self.patience(), self.send(sql, params)).await;
        self.heard(asked)
    }

    /// The same for a statement that is a transaction of its own and may meet locks.
    pub(crate) async fn ask_alone(
        &mut self,
        sql: &str,
        params: &[Value],
    ) -> Result<Vec<Row>, Failure> {
        if self.prepare {
            return self.ask(sql, params).await;
        }
        // Without settings of the connection the limits go along. All of it is one round trip.
        let begin = self.begin_text();
        self.in_transaction = true;
        let client = self.client();
        let all = async {
            let (begun, rows, committed) = tokio::join!(
                client.batch_execute(&begin),
                self.send(sql, params),
                client.batch_execute("COMMIT"),
            );
            begun.and(rows).and_then(|rows| committed.map(|()| rows))
        };
        let asked = timeout(self.patience(), all).await;
        self.in_transaction = false;
        self.heard(asked)
    }

    /// Opens a transaction.
    pub(crate) async fn begin(&mut self) -> Result<(), Failure> {
        let begin = self.begin_text();
        self.in_transaction = true;
        self.run(&begin).await
    }

    /// Opens a transaction that waits for others' as `wait` says.
    pub(crate) async fn begin_for(&mut self, wait: Wait) -> Result<(), Failure> {
        if wait == Wait::Patiently {
            return self.begin().await;
        }
        let begin = self.begin_text();
        self.in_transaction = true;
        let brief = format!("{begin}; SET LOCAL lock_timeout = {LOCK_WAIT_BRIEF_MS}");
        self.run(&brief).await
    }

    /// Opens a transaction of one caller, who waits for others as long as half of the time that there is.
    pub(crate) async fn begin_patiently(&mut self) -> Result<(), Failure> {
        let (begin, lock) = (self.begin_text(), self.timeout.as_millis() / 2);
        self.in_transaction = true;
        self.run(&format!("{begin}; SET LOCAL lock_timeout = {lock}"))
            .await
    }

    fn begin_text(&self) -> String {
        let begin = "BEGIN ISOLATION LEVEL READ COMMITTED";
        if self.prepare {
            return begin.to_owned();
        }
        let (statement, lock) = (self.timeout.as_millis(), LOCK_WAIT.as_millis());
        format!(
            "{begin}; SET LOCAL statement_timeout = {statement}; SET LOCAL lock_timeout = {lock}"
        )
    }

    /// Commits what `done` came of, or rolls it back.
    pub(crate) async fn end<T>(&mut self, done: Result<T, Failure>) -> Result<T, Failure> {
        let ended = self.end_with(done).await;
        self.in_transaction = false;
        ended
    }

    /// Takes back what was done in the open transaction.
    pub(crate) async fn roll_back(&mut self) -> Result<(), Failure> {
        let undone = self.run("ROLLBACK").await;
        self.in_transaction = undone.is_err();
        undone
    }

    async fn end_with<T>(&mut self, done: Result<T, Failure>) -> Result<T, Failure> {
        match done {
            Ok(done) => self.run("COMMIT").await.map(|()| done),
            Err(Failure::Lost(error)) => Err(Failure::Lost(error)),
            Err(failure) => {
                if self.run("ROLLBACK").await.is_err() {
                    self.discard();
                }
                Err(failure)
            }
        }
    }

    /// A little more than the server's own limit, which should be heard first.
    fn patience(&self) -> Duration {
        self.timeout + Duration::from_secs(1)
    }

    /// Sends statements without parameters, such as `BEGIN`.
    pub(crate) async fn run(&mut self, sql: &str) -> Result<(), Failure> {
        let ran = timeout(self.patience(), self.client().batch_execute(sql)).await;
        self.heard(ran)
    }

    /// The same for statements that may take `limit`, the server's own limit being off.
    pub(crate) async fn run_for(&mut self, limit: Duration, sql: &str) -> Result<(), Failure> {
        let ran = timeout(limit, self.client().batch_execute(sql)).await;
        self.heard(ran)
    }

    async fn send(&self, sql: &str, params: &[Value]) -> Result<Vec<Row>, tokio_postgres::Error> {
        let client = self.client();
        let rows = if self.prepare {
            let types: Vec<_> = params.iter().map(Value::type_).collect();
            let statement = client.prepare_typed_cached(sql, &types).await?;
            let params: Vec<_> = params.iter().map(|p| p as &(dyn ToSql + Sync)).collect();
            client.query(&statement, &params).await?
        } else {
            let params: Vec<_> = params
                .iter()
                .map(|p| (p as &(dyn ToSql + Sync), p.type_()))
                .collect();
            client.query_typed(sql, &params).await?
        };
        rows.iter().map(read).collect()
    }

    fn heard<T>(
        &mut self,
        answer: Result<Result<T, tokio_postgres::Error>, tokio::time::error::Elapsed>,
    ) -> Result<T, Failure> {
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) if crate::error::is_lost(&error) => {
                self.discard();
                Err(Failure::Lost(from_postgres("the connection broke", error)))
            }
            Ok(Err(error)) => Err(Failure::Refused(error)),
            Err(_elapsed) => {
                self.discard();
                Err(Failure::Lost(no_answer(self.timeout)))
            }
        }
    }

    /// Closes the connection instead of giving it back: nobody knows what it is doing.
    pub(crate) fn discard(&mut self) {
        if let Some(object) = self.object.take() {
            drop(Object::take(object));
        }
    }
}

fn no_answer(timeout: Duration) -> Error {
    let message = format!("postgres, no answer within {} s", timeout.as_secs_f64());
    Error::new(Kind::Unavailable, message)
}

impl Driver for Link {
    type Error = Failure;

    async fn rows(&mut self, sql: &str, params: Vec<Value>) -> Result<Vec<Row>, Failure> {
        self.ask(sql, &params).await
    }
}

/// Reads a row of tokio-postgres.
pub(crate) fn read(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    let columns = (0..row.len()).map(|at| row.try_get(at));
    columns.collect::<Result<_, _>>().map(Row::new)
}
