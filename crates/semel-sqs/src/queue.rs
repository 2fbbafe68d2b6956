//! The queue at the service: one client, made on first use.

use std::time::Duration;

use aws_config::{BehaviorVersion, Region};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::{Builder, Credentials, StalledStreamProtectionConfig};
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use semel_core::Result;
use tokio::sync::OnceCell;

use crate::error::{Failed, failed};
use crate::url::Address;

/// A queue, and the way to it.
pub(crate) struct Queue {
    pub(crate) address: Address,
    connected: OnceCell<Connected>,
}

/// The client, and the queue's own URL.
pub(crate) struct Connected {
    pub(crate) client: Client,
    pub(crate) url: String,
}

impl Queue {
    pub(crate) fn new(address: Address) -> Self {
        Self {
            address,
            connected: OnceCell::new(),
        }
    }

    /// The client; the service is asked for the queue once.
    pub(crate) async fn connected(&self) -> Result<&Connected> {
        let connected = self.try_connected().await;
        connected.map_err(|failed| failed.error)
    }

    /// The same, with what the failure means.
    pub(crate) async fn try_connected(&self) -> Result<&Connected, Failed> {
        self.connected.get_or_try_init(|| self.connect()).await
    }

    async fn connect(&self) -> Result<Connected, Failed> {
        let address = &self.address;
        // The SDK has none of its own, so that the whole binary has one kind of TLS.
        let http = aws_smithy_http_client::Builder::new()
            .tls_provider(Provider::rustls(CryptoMode::Ring))
            .build_https();
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .http_client(http)
            // The pump and the pollers try again by themselves; a hidden retry would make an unknown outcome look known.
            .retry_config(RetryConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .timeout_config(timeouts(address.timeout));
        if let Some(region) = &address.region {
            loader = loader.region(Region::new(region.clone()));
        }
        if address.is_anonymous {
            loader =
                loader.credentials_provider(Credentials::new("none", "none", None, None, "url"));
        }
        let mut config = Builder::from(&loader.load().await);
        if let Some(endpoint) = &address.endpoint {
            config = config.endpoint_url(endpoint);
        }
        let client = Client::from_conf(config.build());
        let found = client
            .get_queue_url()
            .queue_name(&address.queue)
            .set_queue_owner_aws_account_id(address.owner.clone())
            .send()
            .await
            .map_err(|error| failed("finding the queue", error))?;
        let url = found.queue_url.unwrap_or_default();
        Ok(Connected { client, url })
    }
}

/// An attempt that gets no answer ends: the SDK alone would wait for ever.
pub(crate) fn timeouts(attempt: Duration) -> TimeoutConfig {
    TimeoutConfig::builder()
        .connect_timeout(attempt.min(Duration::from_secs(5)))
        .operation_attempt_timeout(attempt)
        .build()
}
