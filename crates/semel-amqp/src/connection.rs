//! The connection, made when it is first needed, and made again when it is found broken. The client library's own recovery is off: it
//! would bring back channels whose loss was reported already.

use std::sync::Arc;
use std::time::Duration;

use lapin::tcp::OwnedTLSConfig;
use lapin::{Channel, ConnectionBuilder, ConnectionProperties, DefaultConnectionBuilder};
use semel_core::{Error, Result};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::error;
use crate::url::Address;

/// The broker's code for an ordinary end.
const OK: u16 = 200;

/// How long one attempt to connect may take before another one is made. The client library cannot end one: its thread and socket stay until the
/// other side speaks or goes.
const ATTEMPT_MAX: Duration = Duration::from_secs(300);

/// A connection that is made on first use.
pub(crate) struct Connection {
    address: Address,
    name: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    current: Option<Arc<lapin::Connection>>,
    /// An attempt that is under way, on a task of its own: a call that gives up waiting leaves it to the next one.
    attempt: Option<Attempt>,
}

struct Attempt {
    task: JoinHandle<lapin::Result<lapin::Connection>>,
    until: Instant,
}

impl Connection {
    /// A connection that is not made yet; `name` is what the broker's operators see.
    pub(crate) fn new(address: Address, name: &str) -> Self {
        Self {
            address,
            name: name.to_owned(),
            state: Mutex::default(),
        }
    }

    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    /// A new channel, on a new connection if there is no other.
    pub(crate) async fn channel(&self) -> Result<Channel> {
        let connection = self.connected().await?;
        let channel = timeout(self.address.timeout, connection.create_channel()).await;
        let what = "RabbitMQ gives no channel";
        match channel {
            Ok(Ok(channel)) => Ok(channel),
            Ok(Err(error)) => Err(error::of(what, &error)),
            Err(_) if connection.status().blocked() => Err(blocked()),
            Err(_) => {
                // A connection that does not answer is not asked again.
                self.state.lock().await.current.take();
                Err(error::away(what, "no answer in time"))
            }
        }
    }

    /// Whether the broker takes nothing in on this connection at this moment.
    pub(crate) async fn is_blocked(&self) -> bool {
        let state = self.state.lock().await;
        let current = state.current.as_ref();
        current.is_some_and(|current| current.status().blocked())
    }

    /// Ends the connection well, with everything that was sent before.
    pub(crate) async fn close(&self) {
        let State { current, attempt } = std::mem::take(&mut *self.state.lock().await);
        if let Some(attempt) = attempt {
            attempt.task.abort();
        }
        if let Some(connection) = current {
            // A broker that is away has queued everything again that was not acknowledged.
            let _ = timeout(self.address.timeout, connection.close(OK, "closed".into())).await;
        }
    }

    async fn connected(&self) -> Result<Arc<lapin::Connection>> {
        let mut state = self.state.lock().await;
        if let Some(known) = state
            .current
            .as_ref()
            .filter(|known| known.status().connected())
        {
            // It is kept: what was published on it goes out when it is free again, and another one would be blocked too.
            return match known.status().blocked() {
                true => Err(blocked()),
                false => Ok(known.clone()),
            };
        }
        state.current = None;
        let made = Arc::new(self.attempt(&mut state.attempt).await?);
        tracing::debug!(source = self.name, "connected to RabbitMQ");
        state.current = Some(made.clone());
        Ok(made)
    }

    /// Waits for the attempt that is under way, or for a new one.
    async fn attempt(&self, attempt: &mut Option<Attempt>) -> Result<lapin::Connection> {
        let begun = match attempt {
            Some(begun) => begun,
            None => {
                let builder = self.builder()?;
                attempt.insert(Attempt {
                    task: tokio::spawn(async move { builder.connect().await }),
                    until: Instant::now() + ATTEMPT_MAX,
                })
            }
        };
        let what = "RabbitMQ cannot be reached";
        let Ok(made) = timeout(self.address.timeout, &mut begun.task).await else {
            if Instant::now() >= begun.until {
                begun.task.abort();
                *attempt = None;
            }
            return Err(error::away(what, "no answer in time"));
        };
        *attempt = None;
        let made = made.map_err(|error| error::away(what, error))?;
        made.map_err(|error| error::of(what, &error))
    }

    fn builder(&self) -> Result<DefaultConnectionBuilder> {
        let properties =
            ConnectionProperties::default().with_connection_name(self.name.as_str().into());
        let builder = ConnectionBuilder::new();
        let builder = builder.map_err(|error| error::of("no runtime", &error))?;
        let builder = builder
            .with_uri(self.address.uri.clone())
            .with_properties(properties);
        let Some(ca) = &self.address.ca else {
            return Ok(builder);
        };
        let chain = std::fs::read_to_string(ca)
            .map_err(|error| Error::invalid(format!("the option ca: {error}")))?;
        Ok(builder.with_tls_config(OwnedTLSConfig {
            identity: None,
            cert_chain: Some(chain),
        }))
    }
}

/// The broker has raised an alarm, and does not say how long it lasts.
pub(crate) fn blocked() -> Error {
    error::away(
        "RabbitMQ takes nothing in",
        "it is short of memory or disk and has blocked the connection",
    )
}

/// Ends a channel: the broker queues again what it has delivered on it and was not acknowledged.
pub(crate) async fn close(channel: &Channel) {
    // One that is closed already has nothing to end.
    let _ = channel.close(OK, "closed".into()).await;
}
