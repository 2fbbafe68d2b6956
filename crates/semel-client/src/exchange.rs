//! One try: send the request, read the answer up to the limit.
//!
//! It judges nothing and reads no clock; whoever calls it bounds its time.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode};

use crate::client::Client;
use crate::key::Key;
use crate::request::Parts;

/// What came back over the wire.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The whole body, or nothing if it passed the limit.
    pub(crate) body: Option<Bytes>,
}

/// Sends the request once, under `key`.
pub(crate) async fn exchange(
    client: &Client,
    parts: &Parts,
    key: &Key,
) -> Result<Answer, reqwest::Error> {
    let request = client
        .http
        .request(parts.method.clone(), parts.url.clone())
        .headers(parts.headers.clone())
        .header(&client.key_header, key.to_header(client.quote_keys))
        .body(parts.body.clone());
    let mut response = request.send().await?;
    Ok(Answer {
        status: response.status(),
        body: read(&mut response, client.body_bytes_max).await?,
        headers: std::mem::take(response.headers_mut()),
    })
}

/// The body, or nothing as soon as it is known to pass the limit.
async fn read(
    response: &mut reqwest::Response,
    bytes_max: usize,
) -> Result<Option<Bytes>, reqwest::Error> {
    let announced = response.content_length().unwrap_or_default();
    if announced > bytes_max as u64 {
        return Ok(None);
    }
    // What is announced is not trusted with memory before it arrives.
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await? {
        if chunk.len() > bytes_max - body.len() {
            return Ok(None);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Some(body.freeze()))
}
