//! The one way in which customers, producers and the operator of the demo speak HTTP.

use std::net::SocketAddr;
use std::time::Duration;

use semel_core::{Error, Kind, Result};
use semel_inbox::HttpClient;
use serde_json::Value;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Speaks to one address.
#[derive(Debug, Clone)]
pub(super) struct Http {
    client: HttpClient,
    base: String,
    token: Option<String>,
}

impl Http {
    pub(super) fn to(address: SocketAddr, token: Option<String>) -> Result<Self> {
        let client = semel_inbox::client_builder().timeout(PATIENCE).build();
        let client =
            client.map_err(|e| Error::new(Kind::Internal, "cannot speak HTTP").caused_by(e))?;
        Ok(Self {
            client,
            base: format!("http://{address}"),
            token,
        })
    }

    /// The status and the body as JSON; nothing if there was no answer, which the demo expects now and then.
    pub(super) async fn post(
        &self,
        path: &str,
        headers: &[(&str, &str)],
        body: String,
    ) -> Option<(u16, Value)> {
        let mut request = self.client.post(format!("{}{path}", self.base)).body(body);
        request = request.header("content-type", "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.ok()?;
        let status = answer.status().as_u16();
        let body = answer.bytes().await.ok()?;
        Some((status, serde_json::from_slice(&body).unwrap_or_default()))
    }

    /// What is at `path`, as JSON.
    pub(super) async fn get(&self, path: &str) -> Option<Value> {
        let mut request = self.client.get(format!("{}{path}", self.base));
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.ok()?;
        let body = answer.bytes().await.ok()?;
        serde_json::from_slice(&body).ok()
    }
}
