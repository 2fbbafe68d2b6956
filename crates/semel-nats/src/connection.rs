//! The connection, made when it is first needed. The client library keeps it: it reconnects by itself for ever, and this module only
//! counts how often, because a server forgets open pull requests with the connection they came on.

use std::time::Duration;

use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions, Event, ServerAddr};
use semel_core::{Error, Result};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

use crate::error;
use crate::url::{Address, Credentials};

/// The longest pause between two tries to connect again.
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// A connection that is made on first use.
pub(crate) struct Connection {
    address: Address,
    name: String,
    client: Mutex<Option<Client>>,
    connected: watch::Sender<u64>,
}

impl Connection {
    /// A connection that is not made yet; `name` is what the server's operators see.
    pub(crate) fn new(address: Address, name: &str) -> Self {
        Self {
            address,
            name: name.to_owned(),
            client: Mutex::new(None),
            connected: watch::Sender::new(0),
        }
    }

    pub(crate) const fn address(&self) -> &Address {
        &self.address
    }

    /// How often it was made so far; changes with every new one.
    pub(crate) fn connected(&self) -> watch::Receiver<u64> {
        self.connected.subscribe()
    }

    /// The client, which may be reconnecting at this moment.
    pub(crate) async fn client(&self) -> Result<Client> {
        let mut client = self.client.lock().await;
        if let Some(client) = &*client {
            return Ok(client.clone());
        }
        let made = timeout(self.address.timeout, self.connect()).await;
        let made =
            made.map_err(|_| error::away("NATS cannot be reached", "no answer in time"))??;
        *client = Some(made.clone());
        Ok(made)
    }

    /// JetStream over this connection.
    pub(crate) async fn jetstream(&self) -> Result<Context> {
        let mut context = jetstream::new(self.client().await?);
        context.set_timeout(self.address.timeout);
        Ok(context)
    }

    /// Lets what was sent reach the server, and ends.
    pub(crate) async fn close(&self) {
        let client = self.client.lock().await.take();
        if let Some(client) = client {
            // A server that is away has nothing to hear; what was not confirmed comes again.
            let _ = timeout(self.address.timeout, client.flush()).await;
        }
    }

    async fn connect(&self) -> Result<Client> {
        let servers = self.address.servers.iter();
        let servers: std::io::Result<Vec<ServerAddr>> =
            servers.map(|server| server.parse()).collect();
        let servers =
            servers.map_err(|error| Error::invalid(format!("a server's address: {error}")))?;
        let options = self.options().await?;
        // The client takes the process's provider, and panics if a program has several to choose from and none is chosen; one that is chosen stays.
        let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
        let client = options.connect(servers).await;
        client.map_err(|error| error::connect(&error))
    }

    async fn options(&self) -> Result<ConnectOptions> {
        let address = &self.address;
        let options = ConnectOptions::new();
        let options = match &address.credentials {
            Credentials::None => options,
            Credentials::Token(token) => options.token(token.clone()),
            Credentials::User(user, password) => {
                options.user_and_password(user.clone(), password.clone())
            }
            Credentials::File(file) => {
                let read = options.credentials_file(file).await;
                read.map_err(|error| Error::invalid(format!("the credentials file: {error}")))?
            }
        };
        let (connected, name) = (self.connected.clone(), self.name.clone());
        let mut options = options
            .name(&self.name)
            .require_tls(address.tls)
            .request_timeout(Some(address.timeout))
            .connection_timeout(address.timeout)
            .reconnect_delay_callback(|tries| {
                let tries = u32::try_from(tries).unwrap_or(u32::MAX);
                Duration::from_millis(50)
                    .saturating_mul(tries)
                    .min(PAUSE_MAX)
            })
            .event_callback(move |event| {
                if matches!(event, Event::Connected) {
                    connected.send_modify(|count| *count += 1);
                }
                tracing::debug!(source = name, %event, "NATS connection");
                async {}
            });
        if let Some(ca) = &address.ca {
            options = options.add_root_certificates(ca.clone());
        }
        if let Some((certificate, key)) = &address.certificate {
            options = options.add_client_certificate(certificate.clone(), key.clone());
        }
        Ok(options)
    }
}
