//! The connection, made when it is first needed, and made again when it is found broken. The client library's own recovery is off: it
//! would bring back channels whose loss was reported already.

use std::sync::Arc;

use lapin::tcp::OwnedTLSConfig;
use lapin::{Channel, ConnectionBuilder, ConnectionProperties, DefaultConnectionBuilder};
use semel_core::{Error, Result};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::error;
use crate::url::Address;

/// The broker's code for an ordinary end.
const OK: u16 = 200;

/// A connection that is made on first use.
pub(crate) struct Connection {
    address: Address,
    name: String,
    current: Mutex<Option<Arc<lapin::Connection>>>,
}

impl Connection {
    /// A connection that is not made yet; `name` is what the broker's operators see.
    pub(crate) fn new(address: Address, name: &str) -> Self {
        Self {
            address,
            name: name.to_owned(),
            current: Mutex::new(None),
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
            Err(_) => {
                // A connection that does not answer is not asked again.
                self.current.lock().await.take();
                Err(error::away(what, "no answer in time"))
            }
        }
    }

    /// Ends the connection well, with everything that was sent before.
    pub(crate) async fn close(&self) {
        let current = self.current.lock().await.take();
        if let Some(connection) = current {
            // A broker that is away has queued everything again that was not acknowledged.
            let _ = timeout(self.address.timeout, connection.close(OK, "closed".into())).await;
        }
    }

    async fn connected(&self) -> Result<Arc<lapin::Connection>> {
        let mut current = self.current.lock().await;
        if let Some(connection) = current.as_ref().filter(|known| known.status().connected()) {
            return Ok(connection.clone());
        }
        *current = None;
        let builder = self.builder()?;
        let what = "RabbitMQ cannot be reached";
        let made = timeout(self.address.timeout, builder.connect()).await;
        let made = made.map_err(|_| error::away(what, "no answer in time"))?;
        let made = Arc::new(made.map_err(|error| error::of(what, &error))?);
        tracing::debug!(source = self.name, "connected to RabbitMQ");
        *current = Some(made.clone());
        Ok(made)
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

/// Ends a channel: the broker queues again what it has delivered on it and was not acknowledged.
pub(crate) async fn close(channel: &Channel) {
    // One that is closed already has nothing to end.
    let _ = channel.close(OK, "closed".into()).await;
}
