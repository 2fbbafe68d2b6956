//! Tells the upstream who asked.

use std::net::IpAddr;

use bytes::{BufMut, Bytes, BytesMut};
use http::HeaderValue;
use http::header::{FORWARDED, HeaderMap, HeaderName};

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const FORWARDED_HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Where a request came from: the same for all requests of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    /// The peer's address as text; `None` if it came over a unix socket, which has none.
    ip: Option<HeaderValue>,
    /// The value of `Forwarded` up to the host.
    element: Bytes,
    proto: HeaderValue,
}

impl Origin {
    pub(crate) fn new(ip: Option<IpAddr>, is_tls: bool) -> Self {
        let proto = if is_tls { "https" } else { "http" };
        // An IPv4 client on an IPv6 socket is still an IPv4 client.
        let ip = ip.map(|ip| ip.to_canonical());
        let node = match ip {
            Some(IpAddr::V4(ip)) => ip.to_string(),
            Some(IpAddr::V6(ip)) => format!("\"[{ip}]\""),
            // The word of RFC 7239 for it.
            None => "unknown".to_owned(),
        };
        let text = |ip: IpAddr| {
            HeaderValue::try_from(ip.to_string()).expect("an address is a header value")
        };
        Self {
            ip: ip.map(text),
            element: Bytes::from(format!("for={node};proto={proto}")),
            proto: HeaderValue::from_static(proto),
        }
    }
}

/// Writes `X-Forwarded-*` and `Forwarded`: after what is there if that is `trusted`, instead of it otherwise.
pub(super) fn tell(
    headers: &mut HeaderMap,
    origin: &Origin,
    host: Option<&HeaderValue>,
    trusted: bool,
) {
    if trusted {
        if let Some(ip) = &origin.ip {
            let ip = appended(headers, &FOR, ip.as_bytes());
            insert(headers, FOR, ip);
        }
        let element = appended(headers, &FORWARDED, &element(origin, host));
        insert(headers, FORWARDED, element);
        headers.entry(PROTO).or_insert_with(|| origin.proto.clone());
        if let Some(host) = host {
            headers
                .entry(FORWARDED_HOST)
                .or_insert_with(|| host.clone());
        }
        return;
    }
    forget(headers);
    if let Some(ip) = &origin.ip {
        headers.insert(FOR, ip.clone());
    }
    headers.insert(PROTO, origin.proto.clone());
    let element = element(origin, host);
    insert(headers, FORWARDED, element);
    if let Some(host) = host {
        headers.insert(FORWARDED_HOST, host.clone());
    }
}

/// Removes everything of its kind, also what we do not set: a service may believe it.
fn forget(headers: &mut HeaderMap) {
    let is_claim = |name: &HeaderName| {
        name == FORWARDED
            || name.as_str().starts_with("x-forwarded-")
            || ["x-real-ip", "x-original-url", "x-rewrite-url"].contains(&name.as_str())
    };
    if headers.keys().any(is_claim) {
        let names: Vec<_> = headers
            .keys()
            .filter(|name| is_claim(name))
            .cloned()
            .collect();
        for name in names {
            headers.remove(name);
        }
    }
}

fn insert(headers: &mut HeaderMap, name: HeaderName, value: Bytes) {
    // Made of parts of header values, so it is one.
    if let Ok(value) = HeaderValue::from_maybe_shared(value) {
        headers.insert(name, value);
    }
}

/// `for=…;proto=…;host="…"`.
fn element(origin: &Origin, host: Option<&HeaderValue>) -> Bytes {
    let Some(host) = host else {
        return origin.element.clone();
    };
    let mut element = BytesMut::with_capacity(origin.element.len() + host.len() + 8);
    element.put_slice(&origin.element);
    element.put_slice(b";host=\"");
    for byte in host.as_bytes() {
        if matches!(byte, b'"' | b'\\') {
            element.put_u8(b'\\');
        }
        element.put_u8(*byte);
    }
    element.put_u8(b'"');
    element.freeze()
}

/// All values of `name` and one more, as one list.
fn appended(headers: &HeaderMap, name: &HeaderName, last: &[u8]) -> Bytes {
    let mut list = BytesMut::new();
    for value in headers.get_all(name) {
        list.put_slice(value.as_bytes());
        list.put_slice(b", ");
    }
    list.put_slice(last);
    list.freeze()
}
