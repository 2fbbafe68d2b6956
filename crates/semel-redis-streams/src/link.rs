//! A connection that all calls share, and that is made again after it broke.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, Client, Cmd, ConnectionAddr, IntoConnectionInfo, RedisConnectionInfo,
    RedisError, RedisResult, TlsCertificates, Value,
};
use semel_core::{Error, Result};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::error::{from_redis, is_connections};
use crate::url::Address;

/// A connection that was silent for longer is tried before something is sent that must not be sent twice.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// A script: its text, and the digest by which the server knows it once it has seen it.
pub(crate) struct Script {
    text: &'static str,
    digest: OnceLock<String>,
}

impl Script {
    pub(crate) const fn new(text: &'static str) -> Self {
        Self {
            text,
            digest: OnceLock::new(),
        }
    }

    fn digest(&self) -> &str {
        let digest = || redis::Script::new(self.text).get_hash().to_owned();
        self.digest.get_or_init(digest)
    }

    fn command(&self, is_known: bool, key: &str, args: &[Vec<u8>]) -> Cmd {
        let mut command = match is_known {
            true => redis::cmd("EVALSHA").arg(self.digest()).take(),
            false => redis::cmd("EVAL").arg(self.text).take(),
        };
        command.arg(1).arg(key).arg(args).take()
    }
}

/// The way to the server.
pub(crate) struct Link {
    address: Arc<Address>,
    /// How long an answer may take.
    timeout: Duration,
    /// An async mutex on purpose: calls wait for the one attempt to connect.
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    client: Option<Client>,
    /// Tells a connection from those before it.
    number: u64,
    connection: Option<MultiplexedConnection>,
    used: Option<Instant>,
}

impl Link {
    /// No IO yet. An answer may take this much longer than usual.
    pub(crate) fn new(address: Arc<Address>, longer: Duration) -> Self {
        let timeout = address.timeout + longer;
        Self {
            address,
            timeout,
            held: Mutex::default(),
        }
    }

    /// The answer to a command.
    pub(crate) async fn ask(&self, doing: &str, command: Cmd) -> Result<Value> {
        self.try_ask(doing, &command)
            .await?
            .map_err(|error| from_redis(doing, error))
    }

    /// The same, but what the server said is left to the caller.
    pub(crate) async fn try_ask(&self, doing: &str, command: &Cmd) -> Result<RedisResult<Value>> {
        let (number, connection) = self.connected(doing, None).await?;
        Ok(self.send(number, connection, command).await)
    }

    /// The answer of a script about the stream.
    pub(crate) async fn run(
        &self,
        doing: &str,
        script: &Script,
        args: &[Vec<u8>],
    ) -> Result<Value> {
        let (number, connection) = self.connected(doing, None).await?;
        let answer = self.eval(number, connection, script, args).await;
        answer.map_err(|error| from_redis(doing, error))
    }

    /// The same for a script that must not run twice: an error before anything was sent is the outer one.
    pub(crate) async fn run_once(
        &self,
        doing: &str,
        script: &Script,
        args: &[Vec<u8>],
    ) -> Result<RedisResult<Value>> {
        let (number, connection) = self.connected(doing, Some(SILENCE_MAX)).await?;
        Ok(self.eval(number, connection, script, args).await)
    }

    async fn eval(
        &self,
        number: u64,
        connection: MultiplexedConnection,
        script: &Script,
        args: &[Vec<u8>],
    ) -> RedisResult<Value> {
        let stream = &self.address.stream;
        let known = script.command(true, stream, args);
        match self.send(number, connection.clone(), &known).await {
            Err(error) if error.code() == Some("NOSCRIPT") => {
                let whole = script.command(false, stream, args);
                self.send(number, connection, &whole).await
            }
            answer => answer,
        }
    }

    async fn send(
        &self,
        number: u64,
        mut connection: MultiplexedConnection,
        command: &Cmd,
    ) -> RedisResult<Value> {
        let answer = connection.req_packed_command(command).await;
        let answer = answer.and_then(Value::extract_error);
        let broke = answer.as_ref().is_err_and(is_connections);
        let mut held = self.held.lock().await;
        if held.number == number {
            held.used = Some(Instant::now());
            if broke {
                held.connection = None;
            }
        }
        answer
    }

    /// The connection, made if there is none, and tried first if it was silent for long.
    async fn connected(
        &self,
        doing: &str,
        silence_max: Option<Duration>,
    ) -> Result<(u64, MultiplexedConnection)> {
        let mut held = self.held.lock().await;
        let is_stale = |used: Instant| silence_max.is_some_and(|max| used.elapsed() > max);
        if held.used.is_some_and(is_stale)
            && let Some(connection) = &mut held.connection
            && connection
                .req_packed_command(&redis::cmd("ECHO").arg("semel").take())
                .await
                .is_err()
        {
            held.connection = None;
        }
        if held.connection.is_none() {
            let connecting = format!("connecting to {:?} for {doing}", self.address);
            let connection = self.connect(&mut held.client).await;
            let connection = connection.map_err(|failed| match failed {
                Failed::Settings(error) => error,
                Failed::Driver(error) => from_redis(&connecting, error),
            })?;
            held.number += 1;
            held.connection = Some(connection);
        }
        held.used = Some(Instant::now());
        let connection = held.connection.clone();
        Ok((
            held.number,
            connection.expect("a connection was made if there was none"),
        ))
    }

    async fn connect(&self, client: &mut Option<Client>) -> Result<MultiplexedConnection, Failed> {
        let client = match client {
            Some(client) => client,
            none => none.insert(self.client()?),
        };
        let settings = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.address.timeout))
            .set_response_timeout(Some(self.timeout));
        let connection = client.get_multiplexed_async_connection_with_config(&settings);
        connection.await.map_err(Failed::Driver)
    }

    fn client(&self) -> Result<Client, Failed> {
        let address = &self.address;
        if address.tls {
            // Only the first provider of a process counts; any will do.
            let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        }
        let (host, port) = (address.host.clone(), address.port);
        let place = match address.tls {
            false => ConnectionAddr::Tcp(host, port),
            true => ConnectionAddr::TcpTls {
                host,
                port,
                insecure: false,
                tls_params: None,
            },
        };
        let mut who = RedisConnectionInfo::default().set_db(i64::from(address.db));
        if let Some(user) = &address.user {
            who = who.set_username(user);
        }
        if let Some(password) = &address.password {
            who = who.set_password(password);
        }
        let info = place.into_connection_info().map_err(Failed::Driver)?;
        let info = info.set_redis_settings(who);
        let client = match &address.cacert {
            None => Client::open(info),
            Some(file) => {
                let root_cert = std::fs::read(file).map_err(|error| {
                    let expected = "cacert must be a readable file of certificates in PEM";
                    let found = format!("{expected}, found {}", file.display());
                    Failed::Settings(Error::invalid(found).caused_by(error))
                })?;
                let certificates = TlsCertificates {
                    client_tls: None,
                    root_cert: Some(root_cert),
                };
                Client::build_with_tls(info, certificates)
            }
        };
        client.map_err(Failed::Driver)
    }
}

enum Failed {
    Settings(Error),
    Driver(RedisError),
}

/// An argument of a script.
pub(crate) fn arg(value: impl ToString) -> Vec<u8> {
    value.to_string().into_bytes()
}
