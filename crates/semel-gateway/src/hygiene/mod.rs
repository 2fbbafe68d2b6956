//! What may cross the gateway, in either direction.
//!
//! - `screen` refuses requests that two parties could read differently.
//! - `reserved` removes what clients must not say, in any spelling.
//! - `hop` removes what is meant for one connection only (RFC 9110 §7.6.1).
//! - `forwarded` tells the upstream who asked, and keeps clients from telling it.

mod forwarded;
mod hop;
mod reserved;
mod screen;

pub(crate) use forwarded::Origin;
pub(crate) use reserved::{Relied, disarm, request_trailers, response_trailers};
pub(crate) use screen::screen;

use http::header::{CONNECTION, EXPECT, HOST, HeaderMap, TE, UPGRADE};
use http::{HeaderValue, Request, request, response};

use crate::config::Host;
use crate::target::Target;

/// How requests are rewritten.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manners {
    pub(crate) host: Host,
    pub(crate) trust_forwarded: bool,
}

/// Makes a client's request one of ours. `upgrade` is the protocol it asks to change to, if that is allowed.
pub(crate) fn outbound(
    parts: &mut request::Parts,
    origin: &Origin,
    manners: &Manners,
    target: &Target,
    upgrade: Option<HeaderValue>,
) {
    let host = host(parts);
    let headers = &mut parts.headers;
    let takes_trailers = hop::takes_trailers(headers);
    hop::strip(headers);
    // The client's 100 is ours to give; the upstream gets the body with the request.
    headers.remove(EXPECT);
    if takes_trailers {
        headers.insert(TE, HeaderValue::from_static("trailers"));
    }
    if let Some(protocol) = upgrade {
        headers.insert(CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(UPGRADE, protocol);
    }
    forwarded::tell(headers, origin, host.as_ref(), manners.trust_forwarded);
    let host = match manners.host {
        Host::Preserve => host.unwrap_or_else(|| target.host_header().clone()),
        Host::Upstream => target.host_header().clone(),
    };
    headers.insert(HOST, host);
}

/// Makes the upstream's response one of ours.
pub(crate) fn inbound(parts: &mut response::Parts) {
    hop::strip(&mut parts.headers);
    parts.version = http::Version::HTTP_11;
}

/// Removes what is between the service and the guard from a response that no guard has seen.
pub(crate) fn unguarded(headers: &mut HeaderMap) {
    semel_http::reserved::strip(headers, &semel_http::reserved::RESPONSE);
}

/// The protocol that a request asks to change its connection to, if it may become a tunnel.
pub(crate) fn upgrade<B>(request: &Request<B>) -> Option<HeaderValue> {
    let protocol = request.headers().get(UPGRADE)?;
    let asks = hop::names(request.headers(), CONNECTION).any(|name| name == "upgrade");
    // Another version of HTTP inside a tunnel would pass by every rule of this gateway.
    let is_http = |name: &str| {
        let name = name.trim().to_ascii_lowercase();
        name.starts_with("h2c") || name.starts_with("http/") || name.starts_with("tls/")
    };
    let allowed = protocol
        .to_str()
        .is_ok_and(|names| !names.split(',').any(is_http));
    let once = request.headers().get_all(UPGRADE).iter().count() == 1;
    let is_h1 = request.version() == http::Version::HTTP_11;
    (asks && allowed && once && is_h1).then(|| protocol.clone())
}

/// The host that the client means.
fn host(parts: &request::Parts) -> Option<HeaderValue> {
    match parts.uri.authority() {
        Some(authority) => HeaderValue::from_str(authority.as_str()).ok(),
        None => parts.headers.get(HOST).cloned(),
    }
}

#[cfg(test)]
mod tests;
