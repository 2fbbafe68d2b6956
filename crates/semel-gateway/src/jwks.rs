//! Loads the public keys of an issuer of tokens from a URL.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, HOST};
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, StatusCode, Uri};
use http_body_util::BodyExt;
use semel_http::tenant::jwks::{BYTES_MAX, Load, Loading};

use crate::pool::{Need, Outgoing, Pool};

/// How long an issuer may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A URL of a key set, and the connections to it.
pub(crate) struct JwksUrl {
    path: PathAndQuery,
    pool: Arc<Pool>,
}

impl JwksUrl {
    /// The document at `url`, over the connections of `pool`.
    pub(crate) fn new(url: &Uri, pool: Arc<Pool>) -> Self {
        let path = url.path_and_query().cloned();
        let path = path.unwrap_or_else(|| PathAndQuery::from_static("/"));
        Self { path, pool }
    }

    async fn document(&self) -> Result<Bytes, String> {
        let mut request = Request::new(Outgoing::Whole(semel_http::Body::empty()));
        let headers = request.headers_mut();
        headers.insert(HOST, self.pool.target().host_header().clone());
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let sent = self.pool.clone();
        let response = sent.send(request, self.path.clone(), Need::Any).await;
        let response = response.map_err(|failure| failure.to_string())?;
        match response.status() {
            StatusCode::OK => {}
            // A redirect could lead to another issuer; its URL belongs into the configuration.
            status => return Err(format!("expected 200, found {status}")),
        }
        let (mut body, mut bytes) = (response.into_body(), BytesMut::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| error.to_string())?;
            if let Ok(data) = frame.into_data() {
                bytes.extend_from_slice(&data);
            }
            if bytes.len() > BYTES_MAX {
                return Err(format!("expected at most {BYTES_MAX} bytes"));
            }
        }
        Ok(bytes.freeze())
    }
}

impl Load for JwksUrl {
    fn load(&self) -> Loading<'_> {
        Box::pin(async move {
            let loaded = tokio::time::timeout(TIMEOUT, self.document()).await;
            loaded.unwrap_or_else(|_| Err(format!("no answer within {TIMEOUT:?}")))
        })
    }
}
