use super::*;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{Method, Request, StatusCode};

fn request(target: &str, fields: &[(&str, &str)]) -> Request<()> {
    let mut builder = Request::builder().method(Method::POST).uri(target);
    for (name, value) in fields {
        builder = builder.header(*name, *value);
    }
    builder.body(()).unwrap()
}

fn sent(target: &str, fields: &[(&str, &str)], host: Host, trust_forwarded: bool) -> HeaderMap {
    let mut request = request(target, fields);
    let protocol = upgrade(&request);
    disarm(request.headers_mut(), &Relied::default());
    let (mut parts, ()) = request.into_parts();
    let manners = Manners {
        host,
        trust_forwarded,
    };
    let upstream = Target::parse(&"http://up:9".parse().unwrap()).unwrap();
    let origin = Origin::new(Some([10, 0, 0, 1].into()), false);
    outbound(&mut parts, &origin, &manners, &upstream, protocol);
    parts.headers
}

fn values(headers: &HeaderMap, name: &str) -> Vec<String> {
    let values = headers.get_all(name).iter();
    values
        .map(|value| value.to_str().unwrap().to_owned())
        .collect()
}

#[test]
fn what_is_for_one_connection_does_not_cross() {
    let headers = sent(
        "/",
        &[
            ("host", "a"),
            ("connection", "close, X-Absent , keep-alive"),
            ("connection", "te, upgrade, http2-settings"),
            ("keep-alive", "timeout=5"),
            ("proxy-connection", "keep-alive"),
            ("proxy-authorization", "x"),
            ("te", "gzip, Trailers;q=0.5"),
            ("transfer-encoding", "chunked"),
            ("trailer", "x-sum"),
            ("expect", "100-continue"),
            ("upgrade", "h2c"),
            ("http2-settings", "abc"),
            ("content-type", "text/plain"),
            ("x-mine", "1"),
        ],
        Host::Preserve,
        false,
    );
    let mut names: Vec<_> = headers.keys().map(|name| name.as_str()).collect();
    names.sort_unstable();
    let forwarded = [
        "forwarded",
        "x-forwarded-for",
        "x-forwarded-host",
        "x-forwarded-proto",
    ];
    let mut expected = vec!["content-type", "host", "te", "trailer", "x-mine"];
    expected.extend(forwarded);
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(headers[TE], "trailers");
}

#[test]
fn the_upstream_learns_who_asked_and_not_what_the_client_says() {
    let lies = [
        ("host", "shop.example:8443"),
        ("x-forwarded-for", "6.6.6.6"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "evil"),
        ("x-forwarded-port", "1"),
        ("x-real-ip", "6.6.6.6"),
        ("forwarded", "for=6.6.6.6"),
    ];
    let headers = sent("/", &lies, Host::Preserve, false);
    assert_eq!(values(&headers, "x-forwarded-for"), ["10.0.0.1"]);
    assert_eq!(values(&headers, "x-forwarded-proto"), ["http"]);
    assert_eq!(values(&headers, "x-forwarded-host"), ["shop.example:8443"]);
    assert_eq!(
        values(&headers, "forwarded"),
        ["for=10.0.0.1;proto=http;host=\"shop.example:8443\""]
    );
    assert!(!headers.contains_key("x-forwarded-port") && !headers.contains_key("x-real-ip"));
    assert_eq!(headers[HOST], "shop.example:8443");
}

#[test]
fn a_trusted_proxy_is_added_to() {
    let told = [
        ("host", "a"),
        ("x-forwarded-for", "1.1.1.1"),
        ("x-forwarded-for", "2.2.2.2"),
        ("x-forwarded-proto", "https"),
        ("x-forwarded-host", "shop"),
        ("forwarded", "for=1.1.1.1"),
    ];
    let headers = sent("/", &told, Host::Upstream, true);
    assert_eq!(
        values(&headers, "x-forwarded-for"),
        ["1.1.1.1, 2.2.2.2, 10.0.0.1"]
    );
    assert_eq!(values(&headers, "x-forwarded-proto"), ["https"]);
    assert_eq!(values(&headers, "x-forwarded-host"), ["shop"]);
    assert_eq!(
        values(&headers, "forwarded"),
        ["for=1.1.1.1, for=10.0.0.1;proto=http;host=\"a\""]
    );
    assert_eq!(headers[HOST], "up:9");
}

#[test]
fn an_ipv6_client_is_quoted_and_a_mapped_one_is_ipv4() {
    let element = |ip: &str| {
        let origin = Origin::new(Some(ip.parse().unwrap()), true);
        let mut headers = HeaderMap::new();
        forwarded::tell(&mut headers, &origin, None, false);
        (
            values(&headers, "x-forwarded-for"),
            values(&headers, "forwarded"),
        )
    };
    let told = |ip: &str, element: &str| (vec![ip.to_owned()], vec![element.to_owned()]);
    assert_eq!(element("::1"), told("::1", "for=\"[::1]\";proto=https"));
    assert_eq!(
        element("::ffff:1.2.3.4"),
        told("1.2.3.4", "for=1.2.3.4;proto=https")
    );
}

#[test]
fn a_client_of_a_unix_socket_is_unknown() {
    let origin = Origin::new(None, false);
    for (trusted, expected) in [
        (false, "for=unknown;proto=http"),
        (true, "for=1.1.1.1, for=unknown;proto=http"),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert("forwarded", "for=1.1.1.1".parse().unwrap());
        forwarded::tell(&mut headers, &origin, None, trusted);
        assert_eq!(values(&headers, "forwarded"), [expected]);
        assert!(values(&headers, "x-forwarded-for").is_empty());
    }
}

#[test]
fn only_protocols_other_than_http_become_tunnels() {
    let asks = |fields: &[(&str, &str)]| upgrade(&request("/", fields)).is_some();
    assert!(asks(&[
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "websocket")
    ]));
    assert!(!asks(&[("upgrade", "websocket")]));
    assert!(!asks(&[("connection", "upgrade")]));
    for protocol in ["h2c", "H2C", "HTTP/2.0", "TLS/1.0", "websocket, h2c"] {
        assert!(
            !asks(&[("connection", "upgrade"), ("upgrade", protocol)]),
            "{protocol}"
        );
    }
}

#[test]
fn what_two_parties_could_read_differently_is_refused() {
    let (length, encoding) = (CONTENT_LENGTH.as_str(), TRANSFER_ENCODING.as_str());
    for (target, fields) in [
        (
            "/",
            &[("host", "a"), (length, "1"), (encoding, "chunked")][..],
        ),
        ("/", &[("host", "a"), (length, "1"), (length, "1")]),
        ("/", &[("host", "a"), (encoding, "gzip, chunked")]),
        (
            "/",
            &[("host", "a"), (encoding, "chunked"), (encoding, "chunked")],
        ),
        ("/", &[]),
        ("/", &[("host", "a"), ("host", "a")]),
        ("/", &[("host", "a@b")]),
        ("/", &[("host", "a b")]),
        ("/", &[("host", "a/b")]),
        ("http://b/", &[("host", "a")]),
        ("http://u@a/", &[]),
        ("/a/../b", &[("host", "a")]),
        ("/%2e%2e/b", &[("host", "a")]),
        ("*", &[("host", "a")]),
        (
            "/",
            &[
                ("host", "a"),
                ("connection", "close, X-Tenant"),
                ("x-tenant", "t"),
            ],
        ),
        ("/", &[("host", "a"), ("connection", "host")]),
    ] {
        let problem = screen(&request(target, fields)).unwrap_err();
        assert_eq!(problem.kind().name(), "bad-request", "{target} {fields:?}");
    }
    for (target, fields) in [
        ("/", &[("host", "a")][..]),
        ("/", &[("host", "[::1]:80"), (encoding, "Chunked")]),
        ("http://a:80/x", &[("host", "A:80")]),
        ("https://a/x", &[]),
    ] {
        assert!(
            screen(&request(target, fields)).is_ok(),
            "{target} {fields:?}"
        );
    }
}

#[test]
fn a_forward_proxy_it_is_not() {
    let mut request = request("a:443", &[("host", "a:443")]);
    *request.method_mut() = Method::CONNECT;
    let response = screen(&request).unwrap_err().into_response();
    assert_eq!(response.status(), StatusCode::NOT_IMPLEMENTED);
}

#[test]
fn what_is_not_replayed_because_of_its_connection_does_not_cross_either() {
    // Two lists, because this one is asked for every header of every request and is matched by text; trailers are
    // announced end to end here.
    let not_replayed = semel_http::replay::HOP_BY_HOP;
    for name in not_replayed
        .iter()
        .filter(|name| **name != http::header::TRAILER)
    {
        assert!(super::hop::is_hop_by_hop(name), "{name}");
    }
}
