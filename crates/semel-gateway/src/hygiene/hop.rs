//! Headers that are meant for one connection only.

use http::header::{CONNECTION, HeaderMap, HeaderName, TE, TRAILER};

/// The most names in `Connection` that are looked at; `screen` refuses a request with more.
pub(super) const NAMES_MAX: usize = 64;

/// Removes the headers of one connection, and those that `Connection` names. Of a client's request `screen` has made sure
/// that it names none but them.
pub(super) fn strip(headers: &mut HeaderMap) {
    if headers.contains_key(CONNECTION) {
        let named = names(headers, CONNECTION).filter_map(|name| name.parse::<HeaderName>().ok());
        for name in named.take(NAMES_MAX).collect::<Vec<_>>() {
            if !is_end_to_end(&name) {
                headers.remove(name);
            }
        }
        headers.remove(CONNECTION);
    }
    // One look at what is there is cheaper than a look for each that is rarely there.
    let found = headers.keys().any(is_hop_by_hop);
    if found {
        let names: Vec<_> = headers
            .keys()
            .filter(|name| is_hop_by_hop(name))
            .cloned()
            .collect();
        for name in names {
            headers.remove(name);
        }
    }
}

pub(super) fn is_hop_by_hop(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "proxy-connection"
            | "keep-alive"
            | "te"
            | "transfer-encoding"
            | "upgrade"
            | "http2-settings"
            | "proxy-authenticate"
            | "proxy-authorization"
    )
}

/// The first header that `Connection` names and that is there for others than the next hop.
///
/// To remove it, as RFC 9110 §7.6.1 asks, would let a client take away what the gateway has acted on or what the service
/// relies on: a tenant, a key, a cookie. To leave it would break the standard. No such message is to be sent at all.
pub(super) fn misnamed(headers: &HeaderMap) -> Option<HeaderName> {
    let named = names(headers, CONNECTION).filter_map(|name| name.parse::<HeaderName>().ok());
    let mut named = named.filter(|name| !is_hop_by_hop(name) && *name != TRAILER);
    named.find(|name| headers.contains_key(name))
}

/// What a service cannot remove from its response by naming it in `Connection`.
fn is_end_to_end(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("content-") || matches!(name, "set-cookie" | "location" | "semel-outcome")
}

/// Whether the peer takes trailers.
pub(super) fn takes_trailers(headers: &HeaderMap) -> bool {
    headers.contains_key(TE)
        && names(headers, TE).any(|name| name.split(';').next() == Some("trailers"))
}

/// The lowercase elements of a list header.
pub(super) fn names(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = String> {
    let values = headers
        .get_all(name)
        .iter()
        .filter_map(|value| value.to_str().ok());
    values
        .flat_map(|value| value.split(','))
        .map(|element| element.trim().to_ascii_lowercase())
}
