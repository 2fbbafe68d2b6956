//! Headers that a client cannot say, cannot take away and must not see.

use semel_gateway::Config;
use semel_http::rules::Mode;
use semel_http::tenant;

use crate::support::message::Message;
use crate::support::{OK, Upstream, config, guarding, reply, start};

const FORGED: &str = "Semel-Fence: 9\r\nSemel_Fence: 9\r\nsemel_attempt: 9\r\nSEMEL_OUTCOME: final\r\n\
                      Semel-Tenant: t\r\nIdempotent_Replayed: true\r\nX_Forwarded_For: 6.6.6.6\r\n\
                      Idempotency_Key: other\r\nX_Tenant: other\r\nX_Real_Ip: 6.6.6.6\r\n";

fn tenanted(upstream: &Upstream) -> Config {
    guarding(upstream.url(), |rules| {
        rules.tenant = tenant::Source::Header("x-tenant".parse().unwrap());
    })
}

/// The names of what arrived, as a service behind WSGI or CGI has them.
fn folded(message: &Message) -> Vec<(String, String)> {
    let fold = |name: &str| name.to_ascii_lowercase().replace('_', "-");
    let headers = message.headers.iter();
    headers
        .map(|(name, value)| (fold(name), value.clone()))
        .collect()
}

fn all(message: &Message, name: &str) -> Vec<String> {
    let named = folded(message)
        .into_iter()
        .filter(|(found, _)| found == name);
    named.map(|(_, value)| value).collect()
}

#[tokio::test]
async fn a_guarded_request_speaks_for_semel_in_no_spelling() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(tenanted(&upstream));
    let response = gateway
        .call(format!(
            "POST /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nX-Tenant: t\r\n{FORGED}Content-Length: 0\r\n\r\n"
        ))
        .await;
    assert_eq!(response.status(), 200);
    let seen = upstream.only();
    for (name, expected) in [
        ("idempotency-key", vec!["k"]),
        ("x-tenant", vec!["t"]),
        ("x-forwarded-for", vec!["127.0.0.1"]),
        ("semel-attempt", vec!["1"]),
        ("semel-outcome", vec![]),
        ("semel-tenant", vec![]),
        ("idempotent-replayed", vec![]),
        ("x-real-ip", vec![]),
    ] {
        assert_eq!(all(&seen, name), expected, "{name}");
    }
    let fences = all(&seen, "semel-fence");
    assert!(fences.len() == 1 && fences[0] != "9", "{fences:?}");
}

#[tokio::test]
async fn neither_does_one_that_passes_or_becomes_a_tunnel() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(tenanted(&upstream));
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\n";
    for extra in ["", upgrade] {
        let request = format!("GET /x HTTP/1.1\r\nHost: a\r\nX_Color: red\r\n{extra}{FORGED}\r\n");
        assert_eq!(gateway.call(request).await.status(), 200);
    }
    for seen in upstream.seen() {
        for (name, _) in folded(&seen) {
            let forged = name.starts_with("semel-") || name == "idempotent-replayed";
            assert!(!forged, "{name} in {seen:?}");
        }
        for name in ["x-tenant", "idempotency-key", "x-real-ip"] {
            assert!(all(&seen, name).is_empty(), "{name} in {seen:?}");
        }
        assert_eq!(all(&seen, "x-forwarded-for"), ["127.0.0.1"]);
        // A header that means nothing to the gateway is the service's business.
        assert_eq!(all(&seen, "x-color"), ["red"]);
    }
}

#[tokio::test]
async fn trailers_do_not_speak_for_semel_either() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, Semel-Outcome\r\n\r\n\
                  2\r\nok\r\n0\r\nX-Sum: 7\r\nSemel-Outcome: final\r\n\r\n";
    let upstream = Upstream::answering(answer).await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    for (line, key) in [
        ("PUT /x", ""),
        ("POST /pay", "Idempotency-Key: k\r\n"),
        ("POST /pay", "Idempotency-Key: k\r\n"),
    ] {
        let response = gateway
            .call(format!(
                "{line} HTTP/1.1\r\nHost: a\r\n{key}TE: trailers\r\n\
                 Trailer: X-Up, Semel-Fence, Semel_Attempt, X-Forwarded-For, Authorization\r\n\
                 Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Up: 1\r\nSemel-Fence: 9\r\n\
                 Semel_Attempt: 9\r\nX-Forwarded-For: 6.6.6.6\r\nAuthorization: x\r\n\r\n"
            ))
            .await;
        assert_eq!(response.trailers, [("x-sum".to_owned(), "7".to_owned())]);
    }
    let seen = upstream.seen();
    assert_eq!(seen.len(), 2);
    for request in seen {
        assert_eq!(request.trailers, [("x-up".to_owned(), "1".to_owned())]);
    }
}

#[tokio::test]
async fn connection_does_not_take_away_what_the_gateway_acted_on() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(tenanted(&upstream));
    for (named, header) in [
        ("X-Tenant", ""),
        ("close, Idempotency-Key", ""),
        ("content-length", ""),
        ("Host", ""),
        ("Cookie", "Cookie: a=1\r\n"),
        ("Authorization", "Authorization: Bearer x\r\n"),
        ("X-Anything", "X-Anything: 1\r\n"),
    ] {
        for path in ["/pay", "/unguarded"] {
            let response = gateway
                .call(format!(
                    "POST {path} HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nX-Tenant: t\r\n{header}\
                     Connection: {named}\r\nContent-Length: 0\r\n\r\n"
                ))
                .await;
            assert_eq!(
                response.problem(),
                (400, "bad-request".to_owned()),
                "{named}"
            );
        }
    }
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test]
async fn clients_do_not_see_what_the_service_tells_the_guard() {
    let outcome = "Semel-Outcome: final\r\n";
    let upstream = Upstream::answering(reply("200 OK", outcome, "ok")).await;
    let mut observed = config(upstream.url());
    observed.routes = semel_gateway::Route::catch_all();
    for route in &mut observed.routes {
        route.rules.mode = Mode::Observe;
    }
    for config in [observed, guarding(upstream.url(), |_| {})] {
        let gateway = start(config);
        for path in ["/pay", "/x"] {
            let response = gateway.post(path, "k", "{}").await;
            assert_eq!(
                (response.status(), response.header("semel-outcome")),
                (200, None)
            );
        }
    }
    let hinting = format!("HTTP/1.1 103 Early Hints\r\n{outcome}\r\n{OK}");
    let upstream = Upstream::answering(hinting).await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    peer.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(peer.head().await.unwrap().header("semel-outcome"), None);

    let switching = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: echo\r\n{outcome}\r\n"
    );
    let upstream = Upstream::answering(switching).await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    peer.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: echo\r\n\r\n")
        .await;
    let head = peer.head().await.unwrap();
    assert_eq!((head.status(), head.header("semel-outcome")), (101, None));
}
